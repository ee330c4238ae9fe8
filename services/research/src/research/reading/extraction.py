"""From the bytes of one file to a `Document`: prose passages under their headings. Pure and CPU-bound.

Anything a reader of the page would not see is dropped, and so is what is no prose: navigation, lists of links, and code
and tables of data unless a sentence that ends in a colon leads up to them. Markdown is rendered first and then read as HTML, so one set of rules covers all formats.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from research.domain import Document, Passage
from research.reading.blocks import Block, blocks_of, text_of
from research.reading.cleaning import flags_of, one_line, visible
from research.reading.formats import HTML_SUFFIXES, MARKDOWN_SUFFIXES, UnreadableFileError

PASSAGE_CHARACTERS = 700
MIN_WORDS = 6
MAX_TITLE = 200
MAX_LICENCE = 200
MAX_ADDRESS = 2000
# What a document without a title is called by: its first words, as many as fit.
OPENING_CHARACTERS = 80
# A "paragraph" longer than this is data or a page without markup; the full-text parser would choke on it.
MAX_PARAGRAPH = 20_000
# A Markdown paragraph with more brackets than a few and one in so many characters lists links.
FEW_BRACKETS = 10
CHARACTERS_A_BRACKET = 40
# A page of items, each a line or two long, reports or enumerates; it does not explain.
LISTING_ITEMS = 8
LISTING_SHARE = 0.75
LISTING_QUALITY = 0.2
# Lists of options with a line on each are for looking up; explanations are the better source.
REFERENCE_DISCOUNT = 0.4

_TEXT_KINDS = frozenset({"paragraph", "item", "definition", "list"})
_STRUCTURES = frozenset({"list", "listing", "table"})

_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"[.!?:…。！？][\"'”’)\]]*$")  # noqa: RUF001 - full-width marks end sentences as well
_CREDENTIALS = re.compile(r"//[^\s/?#]*@")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))

# What the Encoding Standard has for the web, by Python's names. Python knows more, some of which take the square of the
# text's length to decode.
_ENCODINGS = frozenset(
    {"utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "ascii", "iso8859-1", "iso8859-2", "iso8859-3"}
    | {
        "iso8859-4",
        "iso8859-5",
        "iso8859-6",
        "iso8859-7",
        "iso8859-8",
        "iso8859-9",
        "iso8859-10",
        "iso8859-13",
    }
    | {
        "iso8859-14",
        "iso8859-15",
        "iso8859-16",
        "cp866",
        "koi8-r",
        "koi8-u",
        "mac-roman",
        "mac-cyrillic",
        "cp874",
    }
    | {
        "cp1250",
        "cp1251",
        "cp1252",
        "cp1253",
        "cp1254",
        "cp1255",
        "cp1256",
        "cp1257",
        "cp1258",
        "gb2312",
        "gbk",
    }
    | {"gb18030", "big5", "big5hkscs", "euc_jp", "iso2022_jp", "shift_jis", "cp932", "euc_kr", "cp949"}
)


def _prose_alone(state: StateCore) -> None:
    """Empties paragraphs that are no prose anyway: looking for their links may take the square of their brackets."""
    for token in state.tokens:
        size = len(token.content)
        if token.type == "inline" and (
            size > MAX_PARAGRAPH or token.content.count("[") > FEW_BRACKETS + size // CHARACTERS_A_BRACKET
        ):
            token.content = ""


_markdown = MarkdownIt("commonmark").enable("table")
_markdown.core.ruler.before("inline", "prose_alone", _prose_alone)


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
    return _document(facts, blocks)


def _document(facts: _Facts, blocks: list[Block]) -> Document:
    first_heading = next((block.text for block in blocks if block.kind == "heading"), None)
    title = one_line(facts.title or first_heading or "")[:MAX_TITLE]
    passages = tuple(_passages(blocks, title))
    return Document(
        # Never the file's name: readers of an article see the title, and how the operator calls files is not theirs.
        title=title or _opening(passages),
        passages=passages,
        url=facts.url,
        licence=_licence(facts.licence),
        published_on=facts.published_on,
        quality=_quality(blocks),
    )


def _opening(passages: Sequence[Passage]) -> str:
    """The first words of the text, by which a reader would know it again."""
    text = passages[0].text if passages else ""
    line = text.partition("\n")[0]
    if len(line) <= OPENING_CHARACTERS:
        return line
    return line[:OPENING_CHARACTERS].rpartition(" ")[0].rstrip(" ,;:–—-") + " …"  # noqa: RUF001 - a dash to cut off


def _passages(blocks: Iterable[Block], title: str) -> Iterator[Passage]:
    paragraphs: list[str] = []
    heading: str | None = None
    for block in blocks:
        introduced = _is_introduced(block, paragraphs) and block.heading == heading
        prose = introduced or _is_prose(block)
        # A suspect paragraph stands alone, so that what is wrong with it does not stick to its neighbours.
        suspect = prose and any(flags_of(text) for text in (block.text, *paragraphs[-1:]))
        full = sum(map(len, paragraphs)) >= PASSAGE_CHARACTERS and not introduced
        if paragraphs and (not prose or full or suspect or block.heading != heading):
            yield _passage(heading, paragraphs, title)
            paragraphs = []
        if prose:
            heading = block.heading
            paragraphs.append(block.text)
    if paragraphs:
        yield _passage(heading, paragraphs, title)


def _is_introduced(block: Block, paragraphs: Sequence[str]) -> bool:
    """Whether it is what the sentence before it leads up to: "To install it:", and the commands."""
    return block.kind in _STRUCTURES and bool(paragraphs) and paragraphs[-1].endswith(":")


def _passage(heading: str | None, paragraphs: list[str], title: str) -> Passage:
    text = "\n\n".join(paragraphs)
    shown = heading[:MAX_TITLE] if heading and heading != title else None
    return Passage(heading=shown, text=text, flags=flags_of(text))


def _is_prose(block: Block) -> bool:
    if block.kind == "list":
        return _is_list_of_sentences(block)
    return (
        block.kind in _TEXT_KINDS
        and len(block.text) <= MAX_PARAGRAPH
        and len(block.text.split()) >= MIN_WORDS
        and block.linked * 2 < len(block.text)
        and bool(_SENTENCE_END.search(block.text))
        and _reads_as_sentences(block.text)
    )


def _is_list_of_sentences(block: Block) -> bool:
    items = [line.partition("\t")[2] for line in block.text.split("\n")]
    return (
        all(len(item.split()) >= MIN_WORDS and _SENTENCE_END.search(item) for item in items)
        and len(block.text) <= MAX_PARAGRAPH
        and block.linked * 2 < len(block.text)
        and _reads_as_sentences(" ".join(items))
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
    items = [block for block in text if block.kind in {"item", "list"}]
    listed = sum(len(block.text) for block in items) / total
    if sum(block.text.count("\n") + 1 for block in items) >= LISTING_ITEMS and listed >= LISTING_SHARE:
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
        known = codecs.lookup(encoding).name in _ENCODINGS
    except LookupError:
        known = False
    if not known:
        raise UnreadableFileError(f"it declares the unknown encoding {encoding[:40]!r}; save it as UTF-8")
    try:
        text = content.decode(encoding)
    except UnicodeError as error:
        raise UnreadableFileError(f"it is not valid {encoding}; save it as UTF-8") from error
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def _parse(text: str) -> etree._Element:
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
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
    """Only addresses a published page may link to: http or https, with a host; without a user's name and password."""
    address = (value or "").strip()
    if len(address) > MAX_ADDRESS or any(each.isspace() or each == "\\" for each in address):
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return None
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _licence(value: str | None) -> str | None:
    """Its name, or the address where it can be read."""
    return _CREDENTIALS.sub("//", (value or "")[:MAX_LICENCE]) or None


def _date(value: str | None) -> date | None:
    try:
        return date.fromisoformat((value or "")[:10])
    except ValueError:
        return None
