"""From the bytes of one file to a `Document`: prose passages under their headings. Pure and CPU-bound.

Anything a reader of the page would not see is dropped, and so is what is no prose: navigation, lists of links,
code, tables of data. Markdown is rendered first and then read as HTML, so one set of rules covers all formats.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from lxml import etree
from markdown_it import MarkdownIt

from research.blocks import Block, blocks_of, text_of
from research.cleaning import flags_of, one_line, visible
from research.domain import Document, Passage

HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
TEXT_SUFFIXES = frozenset({".txt"})
SUFFIXES = HTML_SUFFIXES | MARKDOWN_SUFFIXES | TEXT_SUFFIXES

PASSAGE_CHARACTERS = 700
MIN_WORDS = 6
MAX_TITLE = 200
# A "paragraph" longer than this is data or a page without markup; the full-text parser would choke on it.
MAX_PARAGRAPH = 20_000
# A page of items, each a line or two long, reports or enumerates; it does not explain.
LISTING_ITEMS = 8
LISTING_SHARE = 0.75
LISTING_QUALITY = 0.2
# Lists of options with a line on each are for looking up; explanations are the better source.
REFERENCE_DISCOUNT = 0.4

_TEXT_KINDS = frozenset({"paragraph", "item", "definition"})

_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"[.!?:…。！？][\"'”’)\]]*$")  # noqa: RUF001 - full-width marks end sentences as well
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))

_markdown = MarkdownIt("commonmark").enable("table")


class UnreadableFileError(ValueError):
    """The file cannot be used; the message says why in words for the operator."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a file says about itself, besides its prose."""

    title: str | None = None
    url: str | None = None
    licence: str | None = None
    published_on: date | None = None


def extract(path: str, content: bytes) -> Document:
    """Read one file; `path` (relative, POSIX) chooses the format.

    Raises:
        UnreadableFileError: binary content, an encoding that does not hold, or markup that cannot be parsed.
    """
    suffix = PurePosixPath(path).suffix.lower()
    text = _decode(content, declared_inside=suffix in HTML_SUFFIXES)
    facts = _Facts()
    if suffix in HTML_SUFFIXES:
        root = _parse(text)
        facts = _facts_of_page(root)
        blocks = list(blocks_of(root))
    elif suffix in MARKDOWN_SUFFIXES:
        facts, body = _front_matter(text)
        blocks = list(blocks_of(_parse(f"<html><body>{_markdown.render(body)}</body></html>")))
    else:
        blocks = list(_text_blocks(text))
    return _document(facts, blocks, fallback_title=PurePosixPath(path).stem)


def _document(facts: _Facts, blocks: list[Block], *, fallback_title: str) -> Document:
    first_heading = next((block.text for block in blocks if block.kind == "heading"), None)
    title = one_line(facts.title or first_heading or fallback_title)[:MAX_TITLE]
    return Document(
        title=title,
        passages=tuple(_passages(blocks, title)),
        url=facts.url,
        licence=facts.licence,
        published_on=facts.published_on,
        quality=_quality(blocks),
    )


def _passages(blocks: Iterable[Block], title: str) -> Iterator[Passage]:
    paragraphs: list[str] = []
    heading: str | None = None
    for block in blocks:
        prose = _is_prose(block)
        # A suspect paragraph stands alone, so that what is wrong with it does not stick to its neighbours.
        suspect = bool(flags_of(block.text)) or (bool(paragraphs) and bool(flags_of(paragraphs[-1])))
        full = sum(map(len, paragraphs)) >= PASSAGE_CHARACTERS
        if paragraphs and (not prose or full or suspect or block.heading != heading):
            yield _passage(heading, paragraphs, title)
            paragraphs = []
        if prose:
            heading = block.heading
            paragraphs.append(block.text)
    if paragraphs:
        yield _passage(heading, paragraphs, title)


def _passage(heading: str | None, paragraphs: list[str], title: str) -> Passage:
    text = "\n\n".join(paragraphs)
    shown = heading[:MAX_TITLE] if heading and heading != title else None
    return Passage(heading=shown, text=text, flags=flags_of(text))


def _is_prose(block: Block) -> bool:
    return (
        block.kind in _TEXT_KINDS
        and len(block.text) <= MAX_PARAGRAPH
        and len(block.text.split()) >= MIN_WORDS
        and block.linked * 2 < len(block.text)
        and bool(_SENTENCE_END.search(block.text))
        and _reads_as_sentences(block.text)
    )


def _reads_as_sentences(text: str) -> bool:
    """Names, titles and references are mostly capitalised words; sentences are not, in any language."""
    words = [word for word in text.split() if word[0].isalpha()]
    return sum(not word[0].isupper() for word in words) * 2 >= len(words)


def _quality(blocks: list[Block]) -> float:
    """1 for prose; falls with the share of text that is links, and sharply for pages that only enumerate."""
    text = [block for block in blocks if block.kind in _TEXT_KINDS or block.kind == "links"]
    total = sum(len(block.text) for block in text)
    if not total:
        return 0.0
    linked = sum(block.linked for block in text) / total
    items = [block for block in text if block.kind == "item"]
    listed = sum(len(block.text) for block in items) / total
    if len(items) >= LISTING_ITEMS and listed >= LISTING_SHARE:
        return LISTING_QUALITY
    defined = sum(len(block.text) for block in text if block.kind == "definition") / total
    return round(max(0.05, 1.0 - 1.2 * max(0.0, linked - 0.1) - REFERENCE_DISCOUNT * defined), 3)


def _decode(content: bytes, *, declared_inside: bool) -> str:
    encoding = next((name for bom, name in _BOMS if content.startswith(bom)), None)
    if encoding is None:
        if b"\0" in content:
            raise UnreadableFileError("it is a binary file (it contains NUL bytes)")
        declared = _CHARSET.search(content[:2048]) if declared_inside else None
        encoding = declared[1].decode("ascii") if declared else "utf-8"
    try:
        text = content.decode(encoding)
    except LookupError as error:
        raise UnreadableFileError(f"it declares the unknown encoding {encoding!r}") from error
    except UnicodeError as error:
        raise UnreadableFileError(f"it is not valid {encoding}; save it as UTF-8") from error
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def _parse(text: str) -> etree._Element:
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableFileError(f"its markup cannot be parsed ({error})") from error
    if root is None:
        raise UnreadableFileError("it is empty")
    return root


def _facts_of_page(root: etree._Element) -> _Facts:
    meta: dict[str, str] = {}
    for element in root.iter("meta"):
        name = (element.get("name") or element.get("property") or "").lower()
        if name and element.get("content"):
            meta.setdefault(name, one_line(element.get("content") or ""))
    links: dict[str, str] = {}
    for element in root.iter("link", "a"):
        for relation in (element.get("rel") or "").lower().split():
            links.setdefault(relation, element.get("href") or "")
    title = root.find(".//title")
    return _Facts(
        title=one_line(text_of(title)) if title is not None else None,
        url=_web_address(links.get("canonical")) or _web_address(meta.get("og:url")),
        licence=meta.get("license")
        or meta.get("licence")
        or meta.get("dcterms.license")
        or links.get("license")
        or None,
        published_on=_date(
            meta.get("article:published_time") or meta.get("date") or meta.get("dcterms.date")
        ),
    )


def _front_matter(text: str) -> tuple[_Facts, str]:
    match = _FRONT_MATTER.match(text)
    if match is None:
        return _Facts(), text
    entries: dict[str, str] = {}
    for line in match[1].splitlines():
        key, colon, value = line.partition(":")
        if colon:
            entries[key.strip().lower()] = one_line(value.strip().strip("\"'"))
    facts = _Facts(
        title=entries.get("title") or None,
        url=_web_address(entries.get("url")),
        licence=entries.get("licence") or entries.get("license") or None,
        published_on=_date(entries.get("date")),
    )
    return facts, text[match.end() :]


def _text_blocks(text: str) -> Iterator[Block]:
    """Paragraphs are separated by blank lines; a first paragraph of one short line is the title."""
    paragraphs = [one_line(paragraph) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]
    if paragraphs and len(paragraphs[0]) <= MAX_TITLE // 2 and not _SENTENCE_END.search(paragraphs[0]):
        yield Block("heading", paragraphs.pop(0))
    for paragraph in paragraphs:
        yield Block("paragraph", paragraph)


def _web_address(value: str | None) -> str | None:
    """Only addresses a published page may link to: http or https, with a host."""
    if not value or len(value) > 2000 or any(character.isspace() for character in value.strip()):  # noqa: PLR2004
        return None
    try:
        parts = urlsplit(value.strip())
    except ValueError:
        return None
    return value.strip() if parts.scheme in {"http", "https"} and parts.hostname else None


def _date(value: str | None) -> date | None:
    try:
        return date.fromisoformat((value or "")[:10])
    except ValueError:
        return None
