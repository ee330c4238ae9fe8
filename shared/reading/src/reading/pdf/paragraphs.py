"""Builds paragraphs and headings from the lines of printed pages. Pure.

A page gives only the position and type of each line; both decide what the line is. Running heads and page numbers are
left out.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby, pairwise
from typing import Final

from documents.blocks import Block, Gap, ItemList, Listing, ListItem, Paragraph
from reading import boilerplate
from reading.cleaning import flags_of
from reading.facts import strip_section_number
from reading.html.listings import MAX_LINE, MAX_LINES
from reading.pdf.page_lines import PdfLine
from reading.section_builder import ADMONITIONS, Heading

EDGE_LINES: Final = 2
"""Lines at the top and at the bottom of a page that may be running heads or page numbers."""
MIN_REPEATS: Final = 3
"""Pages with the same line at their edge (figures aside) that make it a running head; two if there are only two."""
LARGER: Final = 1.12
"""Minimum size of a heading, relative to the text."""
ALIKE: Final = 0.08
"""Relative difference of sizes that counts as equal."""
WIDER: Final = 1.3
"""Line distance that begins a paragraph, relative to the usual one."""
INDENT: Final = 0.8
"""Indentation of a first line, relative to the size of the type."""
SHORT: Final = 0.7
"""Maximum length of a last line, relative to a full one."""
LETTER: Final = 0.6
"""Width of a letter in fixed-width type, relative to its size."""
MAX_HEADING: Final = 150
MAX_PRINTED: Final = 500
"""Characters; no page has a longer line."""
MAX_HEADING_LINES: Final = 3
USUAL_PITCH: Final = 1.2
NOTES: Final = 0.92
"""Maximum size of footnotes, relative to the text."""

_SENTENCE_END: Final = re.compile(r"[.!?:…。！？][\"'”’)\]]*$")  # noqa: RUF001 - full-width marks end sentences as well
_FIGURES: Final = re.compile(r"\d+")
_PAGE_NUMBER: Final = re.compile(
    r"[\W_]*(?:page|seite|página|p\.)?[\W_]*(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of|von|de|sur)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)
_LEADERS: Final = re.compile(r"(?:\. ?){4,}\s*\w{1,6}$")
"""Dots between an entry of a table of contents and its page."""
_MARK: Final = re.compile(r"(?:[•●▪■◦‣⁃∙·o*–-]|\(?(\d{1,2})[.)]|\(?[a-z]\))\s+(?=\S)")  # noqa: RUF001 - dashes as well
_HYPHENS: Final = ("-", "\u2010")
_LAST_WORD: Final = re.compile(r"\w+$")
MAX_WORD: Final = 60
_BEGINS: Final = re.compile(r"[a-zà-öø-ÿ]+")
_HYPHENATED: Final = re.compile(r"\w+(?:[-\u2010]\w+)+")


def blocks_of(lines: Sequence[PdfLine]) -> list[Heading | Block]:
    """Return the text of all pages as blocks, in reading order."""
    return list(
        _ParagraphBuilder(
            [line for line in _without_edges(lines) if not _LEADERS.search(line.text[-MAX_LINE:])]
        ).blocks()
    )


def title_of(lines: Sequence[PdfLine]) -> str | None:
    """Return the text in the largest type of the first page, if that is larger than the body text."""
    first = [line for line in lines if line.page == lines[0].page] if lines else []
    body = _body_size(lines)
    largest = max((line.size for line in first), default=0.0)
    if largest < LARGER * body:
        return None
    title = " ".join(line.text for line in first if line.size >= largest * (1 - ALIKE))
    return title if len(title) <= MAX_HEADING and any(map(str.isalpha, title)) else None


def _body_size(lines: Sequence[PdfLine]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], size), default=0.0)


# -- edges of pages ------------------------------------------------------------------------------------------------------


def _without_edges(lines: Sequence[PdfLine]) -> list[PdfLine]:
    """Return the lines without running heads, running feet and page numbers."""
    pages = [list(each) for _, each in groupby(lines, key=lambda line: line.page)]
    edges = [_edges(page) for page in pages]
    repeats = Counter(
        text for page in edges for text in {_FIGURES.sub("0", line.text.casefold()) for line in page}
    )
    often = max(2, min(MIN_REPEATS, len(pages)))
    numbered = _numbered(edges)
    return [
        line
        for page, at_edge in zip(pages, edges, strict=True)
        for line in page
        if not (
            line in at_edge
            and (
                repeats[_FIGURES.sub("0", line.text.casefold())] >= often
                or (len(line.text) <= MAX_WORD and _PAGE_NUMBER.fullmatch(line.text))
                or line in numbered
            )
        )
    ]


def _edges(page: Sequence[PdfLine]) -> frozenset[PdfLine]:
    heights = sorted({round(line.y) for line in page})
    outer = {*heights[:EDGE_LINES], *heights[-EDGE_LINES:]}
    return frozenset(line for line in page if round(line.y) in outer)


def _numbered(edges: Sequence[AbstractSet[PdfLine]]) -> set[PdfLine]:
    """Return lines that begin or end in their page number: "4 Chapter 2", "Simple parsing 12"."""
    by_offset: dict[int, set[PdfLine]] = defaultdict(set)
    for page in edges:
        for line in page:
            words = line.text.split()
            for word in {words[0], words[-1]}:
                if word.isdecimal() and len(word) <= 4:  # noqa: PLR2004 - pages of no book have five figures
                    by_offset[int(word) - line.page].add(line)
    most = max(by_offset.values(), key=lambda found: len({line.page for line in found}), default=set())
    return most if len({line.page for line in most}) >= MIN_REPEATS else set()


# -- paragraphs ----------------------------------------------------------------------------------------------------------


class _ParagraphBuilder:
    def __init__(self, lines: Sequence[PdfLine]) -> None:
        self._size = _body_size(lines)
        self._lines = self._without_notes(lines)
        self._pitch = self._usual_pitch()
        lengths = sorted(len(line.text) for line in self._lines if self._is_alike(line.size, self._size))
        self._full = lengths[len(lengths) * 9 // 10] if lengths else 0
        self._hyphenated = {
            word.casefold().replace("\u2010", "-")
            for line in self._lines
            for word in _HYPHENATED.findall(line.text[:MAX_PRINTED])
        }

    def blocks(self) -> Iterator[Heading | Block]:
        skipped = False
        items: list[tuple[str, str]] = []
        for paragraph in self._paragraphs():
            text = self._joined(paragraph)
            if text.strip(":").casefold() in ADMONITIONS:
                continue
            mark = _MARK.match(text)
            if mark is None and items:
                yield _list(items)
                items = []
            if self._is_heading(paragraph, text):
                heading = strip_section_number(text)
                skipped = boilerplate.is_boilerplate_heading(heading)
                yield Heading(heading)
            elif skipped:
                continue
            elif paragraph[0].fixed:
                yield _listing(paragraph)
            elif mark is not None:
                items.append((mark[1] or "", text[mark.end() :]))
            else:
                yield _paragraph(text)
        if items:
            yield _list(items)

    def _paragraphs(self) -> Iterator[list[PdfLine]]:
        paragraph: list[PdfLine] = []
        for line in self._lines:
            if paragraph and self._begins(line, paragraph):
                yield paragraph
                paragraph = []
            paragraph.append(line)
        if paragraph:
            yield paragraph

    def _begins(self, line: PdfLine, paragraph: Sequence[PdfLine]) -> bool:
        """Return whether the line begins a new paragraph after the lines of `paragraph`."""
        before = paragraph[-1]
        if line.fixed and before.fixed:
            return False
        is_other = (line.bold, line.fixed) != (before.bold, before.fixed)
        if is_other or not self._is_alike(line.size, before.size) or _MARK.match(line.text):
            return True
        down = before.y - line.y
        ended = _SENTENCE_END.search(before.text) is not None
        if line.page != before.page or down <= 0:
            # Sentences continue at the top of a page or column; headings do not.
            return ended or before.size >= LARGER * self._size
        if down > WIDER * self._pitch * max(line.size, before.size):
            return True
        return ended and (self._is_set_off(line, paragraph) or len(before.text) < SHORT * self._full)

    def _is_set_off(self, line: PdfLine, paragraph: Sequence[PdfLine]) -> bool:
        """Return whether the line's indentation changes in a way that only a new paragraph explains."""
        in_ems = (line.x - paragraph[-1].x) / max(line.size, 1.0)
        is_item = _MARK.match(paragraph[0].text) is not None
        is_second = len(paragraph) == 1
        return (in_ems > INDENT and not (is_item and is_second)) or (
            in_ems < -INDENT and (is_item or not is_second)
        )

    def _is_alike(self, one: float, other: float) -> bool:
        return abs(one - other) <= ALIKE * max(one, other)

    def _is_heading(self, paragraph: Sequence[PdfLine], text: str) -> bool:
        if len(paragraph) > MAX_HEADING_LINES or len(text) > MAX_HEADING or text[-1] in ".,;":
            return False
        if not any(map(str.isalpha, text)) or paragraph[0].fixed:
            return False
        size = max(line.size for line in paragraph)
        # A table's first row may be bold too.
        bold = all(line.bold for line in paragraph) and not text.endswith(":") and not text[0].islower()
        return size >= LARGER * self._size or (bold and size >= (1 - ALIKE) * self._size)

    def _usual_pitch(self) -> float:
        """Return the usual distance between lines, relative to the size of the type."""
        pitches = Counter(
            round((one.y - other.y) / one.size, 1)
            for one, other in pairwise(self._lines)
            if one.page == other.page and self._is_alike(one.size, self._size) and one.size == other.size
        )
        usual = [(count, pitch) for pitch, count in pitches.items() if 0.8 <= pitch <= 3]  # noqa: PLR2004
        return max(usual)[1] if usual else USUAL_PITCH

    def _without_notes(self, lines: Sequence[PdfLine]) -> list[PdfLine]:
        """Return the lines without footnotes, but keep pages of small print only."""
        kept: list[PdfLine] = []
        for _, each in groupby(lines, key=lambda line: line.page):
            page = list(each)
            end = len(page)
            while end and page[end - 1].size < NOTES * self._size and not page[end - 1].fixed:
                end -= 1
            kept += page[:end] if end else page
        return kept

    def _joined(self, paragraph: Sequence[PdfLine]) -> str:
        parts: list[str] = []
        for line, following in pairwise([*paragraph, None]):
            assert line is not None
            begins = _BEGINS.match(following.text) if following else None
            parts += [line.text, " "] if begins is None else self._broken_off(line.text, begins[0])
        return "".join(parts).rstrip()

    def _broken_off(self, text: str, begins: str) -> list[str]:
        """Return the line's parts for joining: remove a hyphen at its end unless the text spells the word with one elsewhere."""
        word = _LAST_WORD.search(text[-MAX_WORD:-1]) if text.endswith(_HYPHENS) else None
        if word is None:
            return [text, " "]
        return [text] if f"{word[0]}-{begins}".casefold() in self._hyphenated else [text[:-1]]


def _paragraph(text: str) -> Paragraph:
    return Paragraph(text, (), flags_of(text))


def _list(items: Sequence[tuple[str, str]]) -> ItemList:
    """Return the list of items with their numbers, if they have any."""
    number = items[0][0]
    made = tuple(ListItem((_paragraph(text),)) for _, text in items)
    return ItemList(made, bool(number), int(number) if number else 1)


def _listing(lines: Sequence[PdfLine]) -> Block:
    """Return the lines of code with their indentation; a gap if there are too many to quote."""
    left = min(line.x for line in lines)
    shown = tuple(
        f"{' ' * round((line.x - left) / (LETTER * line.size) if line.size else 0)}{line.text}"
        for line in lines
    )
    if len(shown) > MAX_LINES or max(map(len, shown)) > MAX_LINE or flags_of("\n".join(shown)):
        return Gap("listing")
    return Listing(shown)
