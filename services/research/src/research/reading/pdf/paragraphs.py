"""Lines of printed pages as blocks of a text: paragraphs put together again, headings told from their type. Pure.

A page says where each line stands and in which type, and nothing of what it is. What repeats at the edges of pages, numbers
and running heads, is left out.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby, pairwise
from typing import Final

from research.reading import furniture
from research.reading.blocks import ADMONITIONS, Block
from research.reading.facts import without_number
from research.reading.pdf.painting import Line
from research.reading.structures import MAX_LINE, MAX_LINES

EDGE_LINES: Final = 2
"""At the top and at the bottom of a page, where running heads and numbers stand."""
MIN_REPEATS: Final = 3
"""Pages that carry a line at their edge, figures aside, before it is a running head; two, of two."""
LARGER: Final = 1.12
"""Times the type of the text: a heading."""
ALIKE: Final = 0.08
"""Difference of sizes that makes no difference."""
WIDER: Final = 1.3
"""Times the usual distance of lines: a new paragraph."""
INDENT: Final = 0.8
"""Times the size of the type: a first line that is set in."""
SHORT: Final = 0.7
"""Times the length of a full line: a last line."""
LETTER: Final = 0.6
"""Times the size of the type: the width of each letter, in a type where all are as wide."""
MAX_HEADING: Final = 150
MAX_PRINTED: Final = 500
"""Characters; no page has a longer line."""
MAX_HEADING_LINES: Final = 3
USUAL_PITCH: Final = 1.2
NOTES: Final = 0.92
"""Times the type of the text: footnotes, at the end of a page."""

_SENTENCE_END: Final = re.compile(r"[.!?:…。！？][\"'”’)\]]*$")  # noqa: RUF001 - full-width marks end sentences as well
_FIGURES: Final = re.compile(r"\d+")
_PAGE_NUMBER: Final = re.compile(
    r"[\W_]*(?:page|seite|página|p\.)?[\W_]*(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of|von|de|sur)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)
_LEADERS: Final = re.compile(r"(?:\. ?){4,}\s*\w{1,6}$")
"""From an entry of a table of contents to its page."""
_MARK: Final = re.compile(r"(?:[•●▪■◦‣⁃∙·o*–-]|\(?(\d{1,2})[.)]|\(?[a-z]\))\s+(?=\S)")  # noqa: RUF001 - dashes as well
_HYPHENS: Final = ("-", "\u2010")
_LAST_WORD: Final = re.compile(r"\w+$")
MAX_WORD: Final = 60
_BEGINS: Final = re.compile(r"[a-zà-öø-ÿ]+")
_HYPHENATED: Final = re.compile(r"\w+(?:[-\u2010]\w+)+")


def blocks_of(lines: Sequence[Line]) -> list[Block]:
    """The text of all pages, in reading order."""
    return list(
        _Text([line for line in _without_edges(lines) if not _LEADERS.search(line.text[-MAX_LINE:])]).blocks()
    )


def title_of(lines: Sequence[Line]) -> str | None:
    """What stands in the largest type of the first page, if it is larger than the text."""
    first = [line for line in lines if line.page == lines[0].page] if lines else []
    body = _body_size(lines)
    largest = max((line.size for line in first), default=0.0)
    if largest < LARGER * body:
        return None
    title = " ".join(line.text for line in first if line.size >= largest * (1 - ALIKE))
    return title if len(title) <= MAX_HEADING and any(map(str.isalpha, title)) else None


def _body_size(lines: Sequence[Line]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], size), default=0.0)


# -- edges of pages ------------------------------------------------------------------------------------------------------


def _without_edges(lines: Sequence[Line]) -> list[Line]:
    """Without running heads and feet, and without the numbers of pages."""
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


def _edges(page: Sequence[Line]) -> frozenset[Line]:
    heights = sorted({round(line.y) for line in page})
    outer = {*heights[:EDGE_LINES], *heights[-EDGE_LINES:]}
    return frozenset(line for line in page if round(line.y) in outer)


def _numbered(edges: Sequence[AbstractSet[Line]]) -> set[Line]:
    """Lines that begin or end in the number of their page, beside whatever else: "4 Chapter 2", "Simple parsing 12"."""
    by_offset: dict[int, set[Line]] = defaultdict(set)
    for page in edges:
        for line in page:
            words = line.text.split()
            for word in {words[0], words[-1]}:
                if word.isdecimal() and len(word) <= 4:  # noqa: PLR2004 - pages of no book have five figures
                    by_offset[int(word) - line.page].add(line)
    most = max(by_offset.values(), key=lambda found: len({line.page for line in found}), default=set())
    return most if len({line.page for line in most}) >= MIN_REPEATS else set()


# -- paragraphs ----------------------------------------------------------------------------------------------------------


class _Text:
    def __init__(self, lines: Sequence[Line]) -> None:
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

    def blocks(self) -> Iterator[Block]:
        heading: str | None = None
        skipped = False
        items: list[str] = []
        for paragraph in self._paragraphs():
            text = self._joined(paragraph)
            if text.strip(":").casefold() in ADMONITIONS:
                continue
            mark = _MARK.match(text)
            if mark is None and items:
                yield Block("list", "\n".join(items), heading)
                items = []
            if self._is_heading(paragraph, text):
                heading = without_number(text)
                skipped = furniture.heads(heading)
                yield Block("heading", heading)
            elif skipped:
                continue
            elif paragraph[0].fixed:
                yield _listing(paragraph, heading)
            elif mark is not None:
                items.append(f"{mark[1]}.\t{text[mark.end() :]}" if mark[1] else f"•\t{text[mark.end() :]}")
            else:
                yield Block("paragraph", text, heading)
        if items:
            yield Block("list", "\n".join(items), heading)

    def _paragraphs(self) -> Iterator[list[Line]]:
        paragraph: list[Line] = []
        for line in self._lines:
            if paragraph and self._begins(line, paragraph):
                yield paragraph
                paragraph = []
            paragraph.append(line)
        if paragraph:
            yield paragraph

    def _begins(self, line: Line, paragraph: Sequence[Line]) -> bool:
        """Whether a paragraph begins with the line, after those of the one before it."""
        before = paragraph[-1]
        if line.fixed and before.fixed:
            return False
        is_other = (line.bold, line.fixed) != (before.bold, before.fixed)
        if is_other or not self._is_alike(line.size, before.size) or _MARK.match(line.text):
            return True
        down = before.y - line.y
        ended = _SENTENCE_END.search(before.text) is not None
        if line.page != before.page or down <= 0:
            # At the top of a page or of a column, a sentence goes on, and a heading does not.
            return ended or before.size >= LARGER * self._size
        if down > WIDER * self._pitch * max(line.size, before.size):
            return True
        return ended and (self._is_set_off(line, paragraph) or len(before.text) < SHORT * self._full)

    def _is_set_off(self, line: Line, paragraph: Sequence[Line]) -> bool:
        """Whether it begins further in, or further out, than the line before it, and not as a first line does, or a second."""
        in_ems = (line.x - paragraph[-1].x) / max(line.size, 1.0)
        is_item = _MARK.match(paragraph[0].text) is not None
        is_second = len(paragraph) == 1
        return (in_ems > INDENT and not (is_item and is_second)) or (
            in_ems < -INDENT and (is_item or not is_second)
        )

    def _is_alike(self, one: float, other: float) -> bool:
        return abs(one - other) <= ALIKE * max(one, other)

    def _is_heading(self, paragraph: Sequence[Line], text: str) -> bool:
        if len(paragraph) > MAX_HEADING_LINES or len(text) > MAX_HEADING or text[-1] in ".,;":
            return False
        if not any(map(str.isalpha, text)) or paragraph[0].fixed:
            return False
        size = max(line.size for line in paragraph)
        # A table's first row may be bold too.
        bold = all(line.bold for line in paragraph) and not text.endswith(":") and not text[0].islower()
        return size >= LARGER * self._size or (bold and size >= (1 - ALIKE) * self._size)

    def _usual_pitch(self) -> float:
        """From one line of the text to the next, in sizes of its type."""
        pitches = Counter(
            round((one.y - other.y) / one.size, 1)
            for one, other in pairwise(self._lines)
            if one.page == other.page and self._is_alike(one.size, self._size) and one.size == other.size
        )
        usual = [(count, pitch) for pitch, count in pitches.items() if 0.8 <= pitch <= 3]  # noqa: PLR2004
        return max(usual)[1] if usual else USUAL_PITCH

    def _without_notes(self, lines: Sequence[Line]) -> list[Line]:
        """Without the small print that a page ends with, unless there is nothing else on it."""
        kept: list[Line] = []
        for _, each in groupby(lines, key=lambda line: line.page):
            page = list(each)
            end = len(page)
            while end and page[end - 1].size < NOTES * self._size and not page[end - 1].fixed:
                end -= 1
            kept += page[:end] if end else page
        return kept

    def _joined(self, paragraph: Sequence[Line]) -> str:
        parts: list[str] = []
        for line, following in pairwise([*paragraph, None]):
            assert line is not None
            begins = _BEGINS.match(following.text) if following else None
            parts += [line.text, " "] if begins is None else self._broken_off(line.text, begins[0])
        return "".join(parts).rstrip()

    def _broken_off(self, text: str, begins: str) -> list[str]:
        """The line as it goes on: a word that was broken is put together, unless it has its hyphen elsewhere too."""
        word = _LAST_WORD.search(text[-MAX_WORD:-1]) if text.endswith(_HYPHENS) else None
        if word is None:
            return [text, " "]
        return [text] if f"{word[0]}-{begins}".casefold() in self._hyphenated else [text[:-1]]


def _listing(lines: Sequence[Line], heading: str | None) -> Block:
    """Lines of code with their margins; a gap, if there are too many to quote."""
    left = min(line.x for line in lines)
    shown = [
        f"\t{' ' * round((line.x - left) / (LETTER * line.size) if line.size else 0)}{line.text}"
        for line in lines
    ]
    if len(shown) > MAX_LINES or max(map(len, shown)) > MAX_LINE:
        return Block("gap")
    return Block("listing", "\n".join(shown), heading)
