r"""An article's Markdown taken apart: what is prose in it, where that stands, and how it reads. Pure.

Writers use little of Markdown: headings of the second level, paragraphs, lists, listings between fences, tables. `\` makes
the next character text, ` [n]` cites. Quotations with `>`, code in a line and links are understood besides.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import nupunkt

MAX_PARAGRAPH: Final = 20_000
"""Characters; more is not cut into sentences."""


# What a digest quotes has been cut into sentences when it was chosen. Of paragraphs as long as people write them, some 1 MB.
_REMEMBERED: Final = 256
_LONGEST_REMEMBERED: Final = 4_000


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where sentences begin and end, the space behind them included."""
    return (_spans if len(text) <= _LONGEST_REMEMBERED else _spans.__wrapped__)(text)


@lru_cache(_REMEMBERED)
def _spans(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(nupunkt.sent_spans(text))


class Kind(Enum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    QUOTATION = "quotation"
    LISTING = "listing"
    TABLE = "table"


PROSE: Final = frozenset({Kind.PARAGRAPH, Kind.ITEM, Kind.QUOTATION})

_FENCE: Final = re.compile(r"(`{3,})")
_MARKERS: Final = (
    (Kind.HEADING, re.compile(r"#{1,6}[ \t]+")),
    (Kind.ITEM, re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")),
    (Kind.QUOTATION, re.compile(r">[ \t]?")),
    (Kind.TABLE, re.compile(r"(?=\|)")),
    (Kind.LISTING, re.compile(r"(?: {4}|\t)")),
)
_INLINE: Final = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<citation>[ \u00a0]?\[\d{1,3}\](?!\())"
    r"|(?P<ticks>`++)(?:(?P<code>[^`]++)(?P=ticks)(?!`))?"
    r"|\[(?P<label>(?:\\.|[^\[\]\\])*)\]\([^()\s]*\)"
    r"|(?P<emphasis>\*+)",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A part of the Markdown from `start` to `end`, without the mark that it begins with."""

    kind: Kind
    markdown: str
    start: int
    end: int

    @cached_property
    def shown(self) -> "Shown":
        return shown(self.markdown[self.start : self.end])

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        text = self.shown.text
        if self.kind not in PROSE or len(text) > MAX_PARAGRAPH:
            return ()
        return tuple(sentence for begin, end in sentence_spans(text) if (sentence := text[begin:end].strip()))


class _Piece(NamedTuple):
    """A part of what is shown, and where it stands in the Markdown: a run of characters, or one with a backslash before it."""

    start: int
    end: int
    escaped: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """What a reader sees of a line: no citations, marks and addresses."""

    text: str
    pieces: tuple[_Piece, ...]
    taken: tuple[tuple[int, int], ...]
    """The parts of the text that are links or code."""

    def places(self, begin: int, end: int) -> tuple[tuple[int, int], ...]:
        """From where to where each of these characters of the text stands in the Markdown, a backslash before it included."""
        found: list[tuple[int, int]] = []
        at = 0
        for piece in self.pieces:
            size = 1 if piece.escaped else piece.end - piece.start
            if piece.escaped and begin <= at < end:
                found.append((piece.start, piece.end))
            elif not piece.escaped:
                first, last = max(begin, at) - at, min(end, at + size) - at
                found += [(piece.start + each, piece.start + each + 1) for each in range(first, last)]
            at += size
        return tuple(found)


def blocks_of(markdown: str) -> Iterator[Block]:
    """In their order. A paragraph may have several lines; an item, a row and a line of a listing are blocks each."""
    fence, begun, at = "", None, 0
    for line in markdown.splitlines(keepends=True):
        start, at = at, at + len(line)
        text = line.rstrip("\r\n")
        if begun is not None and (fence or not text.strip() or _begins_another(text)):
            yield Block(Kind.PARAGRAPH, markdown, *begun)
            begun = None
        if fence:
            if text.strip() == fence:
                fence = ""
            else:
                yield Block(Kind.LISTING, markdown, start, start + len(text))
        elif opening := _FENCE.match(text):
            fence = opening[1]
        elif text.strip():
            kind, marked = _kind(text) if begun is None else (Kind.PARAGRAPH, 0)
            if kind is Kind.PARAGRAPH:
                begun = (start if begun is None else begun[0], start + len(text))
            else:
                yield Block(kind, markdown, start + marked, start + len(text))
    if begun is not None:
        yield Block(Kind.PARAGRAPH, markdown, *begun)


def _begins_another(line: str) -> bool:
    return _FENCE.match(line) is not None or _kind(line)[0] not in {Kind.PARAGRAPH, Kind.LISTING}


def _kind(line: str) -> tuple[Kind, int]:
    """What the line is, and how many of its characters say so."""
    for kind, marker in _MARKERS:
        if mark := marker.match(line):
            return kind, mark.end()
    return Kind.PARAGRAPH, 0


def shown(markdown: str) -> Shown:
    pieces: list[_Piece] = []
    taken: list[tuple[int, int]] = []
    at = length = 0

    def show(*more: _Piece) -> None:
        nonlocal length
        for piece in more:
            pieces.append(piece)
            length += 1 if piece.escaped else piece.end - piece.start

    for mark in _INLINE.finditer(markdown):
        show(_Piece(at, mark.start()))
        at = mark.end()
        if mark["escaped"]:
            show(_Piece(*mark.span(), escaped=True))
        elif mark["code"] or mark["label"]:
            begin = length
            show(*([_Piece(*mark.span("code"))] if mark["code"] else _label(mark)))
            taken.append((begin, length))
        elif mark["ticks"]:
            # Code with backquotes in it, or none at all: where it ends is not worth telling.
            taken.append((length, length + len(markdown) - at))
    show(_Piece(at, len(markdown)))
    text = "".join(markdown[piece.end - 1 if piece.escaped else piece.start : piece.end] for piece in pieces)
    return Shown(text, tuple(pieces), tuple(taken))


def _label(mark: re.Match[str]) -> Iterator[_Piece]:
    begin, end = mark.span("label")
    at = begin
    for escaped in _ESCAPED.finditer(mark.string, begin, end):
        yield _Piece(at, escaped.start())
        yield _Piece(*escaped.span(), escaped=True)
        at = escaped.end()
    yield _Piece(at, end)


@dataclass(frozen=True, slots=True)
class Section:
    """`heading` is None for what stands before the first one."""

    heading: str | None
    paragraphs: tuple[Block, ...]
    """Items of lists are paragraphs, too; listings and tables are none."""

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence for paragraph in self.paragraphs for sentence in paragraph.sentences)


class Body:
    """An article's Markdown, taken apart once for all who look at it."""

    def __init__(self, markdown: str) -> None:
        self.markdown = markdown
        self.blocks = tuple(blocks_of(markdown))
        self.sections = _sections(self.blocks)
        """What there is to read, under its headings; a first section without any text is left out."""

    @property
    def prose(self) -> str:
        """All that is prose, a paragraph a line."""
        return "\n".join(block.shown.text for block in self.blocks if block.kind in PROSE)


def _sections(blocks: Sequence[Block]) -> tuple[Section, ...]:
    found: list[tuple[str | None, list[Block]]] = [(None, [])]
    for block in blocks:
        if block.kind is Kind.HEADING:
            found.append((block.shown.text.strip(), []))
        elif block.kind in PROSE and block.shown.text.strip():
            found[-1][1].append(block)
    if not found[0][1]:
        found.pop(0)
    return tuple(Section(heading, tuple(paragraphs)) for heading, paragraphs in found)


def cited_in(markdown: str) -> tuple[int, ...]:
    """The numbers of the sources that are cited, ascending."""
    return tuple(
        sorted(
            {
                int(mark["citation"].strip("[] \u00a0"))
                for block in blocks_of(markdown)
                if block.kind in PROSE or block.kind is Kind.HEADING
                for mark in _INLINE.finditer(block.markdown, block.start, block.end)
                if mark["citation"]
            }
        )
    )


def prose_of(markdown: str) -> str:
    """All that is prose, a paragraph a line."""
    return Body(markdown).prose
