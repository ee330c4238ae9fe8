"""Extracts an `ExtractedDocument` from the bytes of one file: prose passages under their headings. Pure and CPU-bound.

It drops what readers would not see, navigation and lists of links. Code and tables stay only after a sentence that ends in
a colon. Markdown is rendered to HTML first, so that one set of rules covers all formats.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from types import ModuleType

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from reading import asciidoc, boilerplate, restructured_text
from reading.blocks import TextBlock, blocks_of
from reading.cleaning import flags_of, one_line, remove_invisible
from reading.document import DocumentPassage, ExtractedDocument
from reading.facts import (
    DocumentFacts,
    facts_of_entries,
    facts_of_page,
    find_stated_date,
    licence_text,
    split_front_matter,
)
from reading.formats import (
    ASCIIDOC_SUFFIXES,
    HTML_SUFFIXES,
    MARKDOWN_SUFFIXES,
    PDF_SUFFIXES,
    RESTRUCTURED_SUFFIXES,
    UnreadableFileError,
)
from reading.html.page import read_page
from reading.ranking.definitions import NAME_LINE
from reading.section_builder import sections_of_flat

PASSAGE_CHARACTERS = 700
MIN_WORDS = 6
# Places in a text file that can only be one markup; a single one may be chance.
SIGNS_OF_MARKUP = 2
MAX_TITLE = 200
# Length of the opening words that replace a missing title.
OPENING_CHARACTERS = 80
# A longer "paragraph" is data or a page without markup; the full-text parser cannot handle it.
MAX_PARAGRAPH = 20_000
# A Markdown paragraph with more brackets than this lists links: a few, plus one per so many characters.
FEW_BRACKETS = 10
CHARACTERS_A_BRACKET = 40
# A page of short items reports or enumerates; it does not explain.
LISTING_ITEMS = 8
LISTING_SHARE = 0.75
LISTING_QUALITY = 0.2
# Lists of options with one line each are reference; explanations are better sources.
REFERENCE_DISCOUNT = 0.4

_TEXT_KINDS = frozenset({"paragraph", "item", "definition", "list"})
_STRUCTURES = frozenset({"list", "listing", "table"})

_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_UNDERLINED = re.compile(r"(?m)^\w.{2,78}\n([=\-~^])\1{2,}$")
_SENTENCE_END = re.compile(r"[.!?:…。！？][\"'”’)\]]*$")  # noqa: RUF001 - full-width marks end sentences as well
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))

# The encodings of the Encoding Standard, by Python's names. Some others of Python's take quadratic time to decode.
_ENCODINGS = frozenset(
    [
        "utf-8",
        "utf-8-sig",
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "ascii",
        "iso8859-1",
        "iso8859-2",
        "iso8859-3",
        "iso8859-4",
        "iso8859-5",
        "iso8859-6",
        "iso8859-7",
        "iso8859-8",
        "iso8859-9",
        "iso8859-10",
        "iso8859-13",
        "iso8859-14",
        "iso8859-15",
        "iso8859-16",
        "cp866",
        "koi8-r",
        "koi8-u",
        "mac-roman",
        "mac-cyrillic",
        "cp874",
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
        "gb18030",
        "big5",
        "big5hkscs",
        "euc_jp",
        "iso2022_jp",
        "shift_jis",
        "cp932",
        "euc_kr",
        "cp949",
    ]
)


_LATIN = frozenset({"iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"})


def _drop_long_paragraphs(state: StateCore) -> None:
    """Empty paragraphs that cannot be prose: parsing their links may take quadratic time in their brackets."""
    for token in state.tokens:
        size = len(token.content)
        if token.type == "inline" and (
            size > MAX_PARAGRAPH or token.content.count("[") > FEW_BRACKETS + size // CHARACTERS_A_BRACKET
        ):
            token.content = ""


_markdown = MarkdownIt("commonmark").enable("table")
_markdown.core.ruler.before("inline", "prose_alone", _drop_long_paragraphs)


def extract(path: str, content: bytes, charset: str | None = None) -> ExtractedDocument:
    """Read one file; the suffix of `path` (relative, POSIX) is the format.

    `charset` comes from the HTTP header of a page, and overrides the page's own declaration.

    Raises:
        UnreadableFileError: binary content, a wrong encoding, or markup that cannot be parsed.
    """
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in PDF_SUFFIXES:
        return _extract_pdf(content)
    text = _decode(content, declared_inside=suffix in HTML_SUFFIXES, told=charset)
    facts = DocumentFacts()
    if suffix in HTML_SUFFIXES:
        root = _parse(text)
        facts = facts_of_page(root)
        blocks = list(blocks_of(root))
        page = read_page(root, path, facts.title)
    elif suffix in MARKDOWN_SUFFIXES:
        facts, body = split_front_matter(text)
        root = _parse(f"<html><body>{_markdown.render(body)}</body></html>")
        blocks = list(blocks_of(root))
        page = read_page(root, path, facts.title)
    elif (markup := _markup(suffix, text)) is not None:
        html, fields = markup.to_html(text)
        facts = facts_of_entries(fields)
        root = _parse(html)
        blocks = list(blocks_of(root))
        page = read_page(root, path, facts.title)
    else:
        blocks = list(_text_blocks(text))
        page = None
    if facts.published_on is None and suffix not in HTML_SUFFIXES:
        facts = replace(facts, published_on=find_stated_date(text))
    document = _document(facts, blocks)
    if page is None:
        return replace(document, sections=sections_of_flat(blocks, document.title))
    return replace(document, sections=page.sections, toc=page.toc, index_terms=page.index_terms)


def _extract_pdf(content: bytes) -> ExtractedDocument:
    # Imported here, as it takes a third of a second to load.
    from reading import pdf  # noqa: PLC0415

    facts, lines = pdf.read_pdf(content)
    told = find_stated_date("\n".join(line.text for line in lines))
    # A date in the text goes first; the file's own may be that of a conversion.
    facts = replace(facts, title=facts.title or pdf.title_of(lines), published_on=told or facts.published_on)
    blocks = pdf.blocks_of(lines)
    document = _document(facts, blocks)
    return replace(document, sections=sections_of_flat(blocks, document.title))


def _markup(suffix: str, text: str) -> ModuleType | None:
    """Return the markup module of a text file that is neither HTML nor Markdown; None if it is plain."""
    if suffix in RESTRUCTURED_SUFFIXES:
        return restructured_text
    if suffix in ASCIIDOC_SUFFIXES:
        return asciidoc
    signs = {markup: markup.count_signs(text) for markup in (restructured_text, asciidoc)}
    likely = max(signs, key=lambda markup: signs[markup])
    # Both underline headings, as some plain texts do.
    found = signs[likely] + sum(1 for _ in _UNDERLINED.finditer(text))
    return likely if found >= SIGNS_OF_MARKUP else None


def _document(facts: DocumentFacts, blocks: list[TextBlock]) -> ExtractedDocument:
    first_heading = next((block.text for block in blocks if block.kind == "heading"), None)
    title = one_line(facts.title or first_heading or "")[:MAX_TITLE]
    passages = tuple(_passages(blocks, title))
    return ExtractedDocument(
        # Never the file's name: readers of an article see the title, and file names are the operator's own.
        title=title or _opening(passages),
        passages=passages,
        url=facts.url,
        licence=licence_text(facts.licence),
        published_on=facts.published_on,
        quality=_quality(blocks),
        author=facts.author,
        robots=facts.robots,
    )


def _opening(passages: Sequence[DocumentPassage]) -> str:
    """Return the first words of the text, as a substitute for a title."""
    text = passages[0].text if passages else ""
    line = text.partition("\n")[0]
    if len(line) <= OPENING_CHARACTERS:
        return line
    return line[:OPENING_CHARACTERS].rpartition(" ")[0].rstrip(" ,;:–—-") + " …"  # noqa: RUF001 - a dash to cut off


def _passages(blocks: Iterable[TextBlock], title: str) -> Iterator[DocumentPassage]:
    paragraphs: list[str] = []
    heading: str | None = None
    for block in blocks:
        introduced = _is_introduced(block, paragraphs) and block.heading == heading
        prose = introduced or _is_prose(block) or _is_name_line(block, title)
        # A suspect paragraph gets a passage of its own, so that its flag does not cover its neighbours.
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


def _is_introduced(block: TextBlock, paragraphs: Sequence[str]) -> bool:
    """Return whether the sentence before a structure announces it: "To install it:", then the commands."""
    return block.kind in _STRUCTURES and bool(paragraphs) and paragraphs[-1].endswith(":")


def _passage(heading: str | None, paragraphs: list[str], title: str) -> DocumentPassage:
    text = "\n\n".join(paragraphs)
    shown = heading[:MAX_TITLE] if heading and heading != title else None
    return DocumentPassage(heading=shown, text=text, flags=flags_of(text))


def _is_prose(block: TextBlock) -> bool:
    if block.kind == "list":
        return _is_list_of_sentences(block)
    return (
        block.kind in _TEXT_KINDS
        and len(block.text) <= MAX_PARAGRAPH
        and len(block.text.split()) >= MIN_WORDS
        and block.linked * 2 < len(block.text)
        and bool(_SENTENCE_END.search(block.text))
        and not boilerplate.is_notice(block.text)
        and _reads_as_sentences(block.text)
    )


def _is_name_line(block: TextBlock, title: str) -> bool:
    """Return whether the block is the name line of a manual page."""
    line = NAME_LINE.fullmatch(block.text) if block.kind == "paragraph" else None
    if line is None:
        return False
    return (block.heading or "").casefold() == "name" or line["names"].casefold() in title.casefold()


def _is_list_of_sentences(block: TextBlock) -> bool:
    items = [line.partition("\t")[2] for line in block.text.split("\n")]
    return (
        all(len(item.split()) >= MIN_WORDS and _SENTENCE_END.search(item) for item in items)
        and len(block.text) <= MAX_PARAGRAPH
        and block.linked * 2 < len(block.text)
        and _reads_as_sentences(" ".join(items))
    )


def _reads_as_sentences(text: str) -> bool:
    """Return whether less than half of the words are capitalised, unlike in names, titles and references."""
    letters = [word[0] for word in text.split() if word[0].isalpha()]
    return sum(map(str.isupper, letters)) * 2 <= len(letters)


def _quality(blocks: list[TextBlock]) -> float:
    """Return 1 for prose, less for a high share of links, and `LISTING_QUALITY` for pages that only enumerate."""
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


def _decode(content: bytes, *, declared_inside: bool, told: str | None = None) -> str:
    encoding = next((name for bom, name in _BOMS if content.startswith(bom)), None)
    if encoding is None:
        if b"\0" in content:
            raise UnreadableFileError("it is a binary file (it contains NUL bytes)")
        declared = _CHARSET.search(content[:2048]) if declared_inside else None
        encoding = told or (declared[1].decode("ascii") if declared else "utf-8")
        # By the Encoding Standard, the label Latin-1 means Windows-1252.
        encoding = "cp1252" if told and told.lower() in _LATIN else encoding
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
    return remove_invisible(text.replace("\r\n", "\n").replace("\r", "\n"))


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


def _text_blocks(text: str) -> Iterator[TextBlock]:
    """Split plain text into paragraphs at blank lines; a first paragraph of one short line is the title."""
    paragraphs = [one_line(paragraph) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]
    if paragraphs and len(paragraphs[0]) <= MAX_TITLE // 2 and not _SENTENCE_END.search(paragraphs[0]):
        yield TextBlock("heading", paragraphs.pop(0))
    for paragraph in paragraphs:
        yield TextBlock("paragraph", paragraph)
