"""Extracts an `ExtractedDocument` from the bytes of one file: its sections, and passages of prose. Pure and CPU-bound.

It drops what readers would not see, navigation and lists of links. Markdown and the other markups are rendered to HTML
first, so that one set of rules covers all formats.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath
from types import ModuleType
from typing import Final

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from documents.blocks import Block, ItemList, ListItem, Paragraph
from reading import asciidoc, restructured_text
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
from reading.html.page import HtmlPage, read_page
from reading.passages import ends_sentence, passages_of, quality_of
from reading.section_builder import Heading, sections_of_flat

# Places in a text file that can only be one markup; a single one may be chance.
SIGNS_OF_MARKUP = 2
MAX_TITLE = 200
# Words of a heading in plain text.
_HEADING_WORDS = 8
_LISTED: Final = re.compile(r"\s{0,8}(?:[-*•]|(\d{1,3})[.)]) +(?=\S)")
# Length of the opening words that replace a missing title.
OPENING_CHARACTERS = 80
# A longer "paragraph" is data or a page without markup; the full-text parser cannot handle it.
MAX_PARAGRAPH = 20_000
# A Markdown paragraph with more brackets than this lists links: a few, plus one per so many characters.
FEW_BRACKETS = 10
CHARACTERS_A_BRACKET = 40

_CHARSET = re.compile(
    rb"""(?:charset|<\?xml[^>]{0,80}\bencoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE
)
_NO_SLUG = re.compile(r"[^\w\s-]")
_UNDERLINED = re.compile(r"(?m)^\w.{2,78}\n([=\-~^])\1{2,}$")
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


def _name_headings(state: StateCore) -> None:
    """Give headings the ids that links of Markdown use: "Heat a kiln" is `#heat-a-kiln`."""
    for heading, text in pairwise(state.tokens):
        if heading.type == "heading_open":
            words = _NO_SLUG.sub("", text.content[:MAX_TITLE].lower()).split()
            heading.attrSet("id", "-".join(words))


_markdown = MarkdownIt("commonmark").enable("table")
_markdown.core.ruler.before("inline", "prose_alone", _drop_long_paragraphs)
_markdown.core.ruler.before("inline", "heading_ids", _name_headings)


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
    html = None
    if suffix in HTML_SUFFIXES:
        root = _parse(text)
        return _document(facts := facts_of_page(root), read_page(root, path, facts.title))
    if suffix in MARKDOWN_SUFFIXES:
        facts, body = split_front_matter(text)
        html = f"<html><body>{_markdown.render(body)}</body></html>"
    elif (markup := _markup(suffix, text)) is not None:
        html, fields = markup.to_html(text)
        facts = facts_of_entries(fields)
    if facts.published_on is None:
        facts = replace(facts, published_on=find_stated_date(text))
    title = one_line(facts.title or "")
    if html is not None:
        return _document(facts, read_page(_parse(html), path, title))
    return _document(facts, HtmlPage(sections_of_flat(_read_text(text), title)))


def _extract_pdf(content: bytes) -> ExtractedDocument:
    # Imported here, as it takes a third of a second to load.
    from reading import pdf  # noqa: PLC0415

    facts, lines = pdf.read_pdf(content)
    told = find_stated_date("\n".join(line.text for line in lines))
    # A date in the text goes first; the file's own may be that of a conversion.
    facts = replace(facts, published_on=told or facts.published_on)
    title = one_line(facts.title or pdf.title_of(lines) or "")
    return _document(facts, HtmlPage(sections_of_flat(pdf.blocks_of(lines), title)))


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


def _document(facts: DocumentFacts, page: HtmlPage) -> ExtractedDocument:
    sections = replace(page.sections, title=page.sections.title[:MAX_TITLE])
    passages = passages_of(sections)
    return ExtractedDocument(
        # Never the file's name: readers of an article see the title, and file names are the operator's own.
        title=sections.title or _opening(passages),
        passages=passages,
        url=facts.url,
        licence=licence_text(facts.licence),
        published_on=facts.published_on,
        quality=quality_of(sections, page.link_lists),
        author=facts.author,
        robots=facts.robots,
        sections=sections,
        toc=page.toc,
        index_terms=page.index_terms,
    )


def _opening(passages: Sequence[DocumentPassage]) -> str:
    """Return the first words of the text, as a substitute for a title."""
    text = passages[0].text if passages else ""
    line = text.partition("\n")[0]
    if len(line) <= OPENING_CHARACTERS:
        return line
    return line[:OPENING_CHARACTERS].rpartition(" ")[0].rstrip(" ,;:–—-") + " …"  # noqa: RUF001 - a dash to cut off


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


def _read_text(text: str) -> Iterator[Heading | Block]:
    """Split plain text into paragraphs and lists at blank lines.

    A first paragraph of one short line is the title; later ones are headings if a sentence or list follows.
    """
    pieces = [piece.strip() for piece in re.split(r"\n\s*\n", text) if piece.strip()]
    if pieces and len(title := one_line(pieces[0])) <= MAX_TITLE // 2 and not ends_sentence(title):
        del pieces[0]
        yield Heading(title)
    for at, piece in enumerate(pieces):
        paragraph = one_line(piece)
        flags = flags_of(paragraph)
        if _LISTED.match(piece) and not flags:
            yield _read_list(piece)
        elif not flags and _is_heading(piece, pieces[at + 1] if at + 1 < len(pieces) else ""):
            yield Heading(paragraph, 2)
        else:
            yield Paragraph(paragraph, (), flags)


def _is_heading(line: str, behind: str) -> bool:
    """Whether a line that stands alone is the heading of what is behind it."""
    is_short = "\n" not in line and len(line) <= MAX_TITLE // 2 and len(line.split()) <= _HEADING_WORDS
    is_title = line[:1].isupper() and not line.endswith((".", "!", ":", ",", ";"))
    is_followed = _LISTED.match(behind) is not None or (
        len(behind) > len(line) and ends_sentence(one_line(behind))
    )
    return is_short and is_title and is_followed


def _read_list(piece: str) -> ItemList:
    first = _LISTED.match(piece)
    number = first[1] if first else None
    items = [one_line(item) for item in re.split(r"\n(?=\s{0,8}(?:[-*•]|\d{1,3}[.)]) )", piece)]
    told = (_LISTED.sub("", item, count=1) for item in items)
    return ItemList(
        tuple(ListItem((Paragraph(item),)) for item in told if item), number is not None, int(number or 1)
    )
