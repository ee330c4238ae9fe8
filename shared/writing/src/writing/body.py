r"""Parses an article's Markdown into blocks, sections and sentences, with their positions. Pure.

Writers use little of Markdown: headings of the second level, paragraphs, lists, fenced listings, tables. `\` escapes
the next character, ` [n]` cites. The parser also understands quotations with `>`, inline code and links.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import nupunkt

MAX_PARAGRAPH: Final = 20_000
"""Characters; longer paragraphs are not split into sentences."""


# The extractive writer splits the same text when it chooses quotations. The cache takes about 1 MB.
_REMEMBERED: Final = 256
_LONGEST_REMEMBERED: Final = 4_000


def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Returns the (begin, end) of each sentence, including the whitespace after it."""
    return (_spans if len(text) <= _LONGEST_REMEMBERED else _spans.__wrapped__)(text)


@lru_cache(_REMEMBERED)
def _spans(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(nupunkt.sent_spans(text))


class MarkdownBlockKind(Enum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    QUOTATION = "quotation"
    LISTING = "listing"
    TABLE = "table"


PROSE: Final = frozenset({MarkdownBlockKind.PARAGRAPH, MarkdownBlockKind.ITEM, MarkdownBlockKind.QUOTATION})

_FENCE: Final = re.compile(r"(`{3,})")
_MARKERS: Final = (
    (MarkdownBlockKind.HEADING, re.compile(r"#{1,6}[ \t]+")),
    (MarkdownBlockKind.ITEM, re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")),
    (MarkdownBlockKind.QUOTATION, re.compile(r">[ \t]?")),
    (MarkdownBlockKind.TABLE, re.compile(r"(?=\|)")),
    (MarkdownBlockKind.LISTING, re.compile(r"(?: {4}|\t)")),
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
_SPECIAL: Final = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)|[`*]|(?<![^\W_])_|_(?![^\W_])|~(?=~)|(?<=~)~|<(?=[A-Za-z/!?])|&(?=[#A-Za-z])|^#|(?<=\s)#(?=#*$)"
    # Brackets around words are text, unless they are a link, or look like the number of a source.
    r"|\[(?!\d+\])(?P<words>[^\[\]]{1,200})\](?![(\[:])|[\[\]]"
)
_BLOCK_START: Final = re.compile(r"^(\d+)([.)])|^([-+=:>])")


@dataclass(frozen=True)
class MarkdownBlock:
    """A part of the Markdown from `start` to `end`, without its leading mark."""

    kind: MarkdownBlockKind
    markdown: str
    start: int
    end: int

    @cached_property
    def shown(self) -> "VisibleText":
        return shown(self.markdown[self.start : self.end])

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        text = self.shown.text
        if self.kind not in PROSE or len(text) > MAX_PARAGRAPH:
            return ()
        return tuple(sentence for begin, end in sentence_spans(text) if (sentence := text[begin:end].strip()))


class _VisiblePart(NamedTuple):
    """A run of visible characters by its position in the Markdown; an escaped one is a backslash and one character."""

    start: int
    end: int
    escaped: bool = False


@dataclass(frozen=True, slots=True)
class VisibleText:
    """The text of a block as readers see it: without citations, marks and addresses."""

    text: str
    pieces: tuple[_VisiblePart, ...]
    taken: tuple[tuple[int, int], ...]
    """The (begin, end) of links and code in `text`."""

    def places(self, begin: int, end: int) -> tuple[tuple[int, int], ...]:
        """Returns the position in the Markdown of each character from `begin` to `end`, including a backslash before it."""
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


def blocks_of(markdown: str) -> Iterator[MarkdownBlock]:
    """Yields the blocks in order. A paragraph may span lines; an item, a table row and a line of a listing are blocks each."""
    fence, begun = "", None
    for start, text in _lines(markdown):
        if begun is not None and (fence or not text.strip() or _begins_another(text)):
            yield MarkdownBlock(MarkdownBlockKind.PARAGRAPH, markdown, *begun)
            begun = None
        if fence:
            if text.strip() == fence:
                fence = ""
            else:
                yield MarkdownBlock(MarkdownBlockKind.LISTING, markdown, start, start + len(text))
        elif opening := _FENCE.match(text):
            fence = opening[1]
        elif text.strip():
            kind, marked = _kind(text) if begun is None else (MarkdownBlockKind.PARAGRAPH, 0)
            if kind is MarkdownBlockKind.PARAGRAPH:
                begun = (start if begun is None else begun[0], start + len(text))
            else:
                yield MarkdownBlock(kind, markdown, start + marked, start + len(text))
    if begun is not None:
        yield MarkdownBlock(MarkdownBlockKind.PARAGRAPH, markdown, *begun)


def _lines(markdown: str) -> Iterator[tuple[int, str]]:
    """Yields each line with its position, without the indentation of the blocks of a list's items."""
    at, in_list = 0, False
    for line in markdown.splitlines(keepends=True):
        start, at = at, at + len(line)
        text = line.rstrip("\r\n")
        if text.strip() and not text.startswith(" "):
            in_list = _kind(text)[0] is MarkdownBlockKind.ITEM
        indented = len(text) - len(text.lstrip(" ")) if in_list else 0
        yield start + indented, text[indented:]


def _begins_another(line: str) -> bool:
    return _FENCE.match(line) is not None or _kind(line)[0] not in {
        MarkdownBlockKind.PARAGRAPH,
        MarkdownBlockKind.LISTING,
    }


def _kind(line: str) -> tuple[MarkdownBlockKind, int]:
    """Returns the kind of a line and the length of its mark."""
    for kind, marker in _MARKERS:
        if mark := marker.match(line):
            return kind, mark.end()
    return MarkdownBlockKind.PARAGRAPH, 0


def shown(markdown: str) -> VisibleText:
    pieces: list[_VisiblePart] = []
    taken: list[tuple[int, int]] = []
    at = length = 0

    def show(*more: _VisiblePart) -> None:
        nonlocal length
        for piece in more:
            pieces.append(piece)
            length += 1 if piece.escaped else piece.end - piece.start

    for mark in _INLINE.finditer(markdown):
        show(_VisiblePart(at, mark.start()))
        at = mark.end()
        if mark["escaped"]:
            show(_VisiblePart(*mark.span(), escaped=True))
        elif mark["code"] or mark["label"]:
            begin = length
            show(*([_VisiblePart(*mark.span("code"))] if mark["code"] else _label(mark)))
            taken.append((begin, length))
        elif mark["ticks"]:
            # Unclosed code, or code that contains backquotes: treat the rest of the block as code.
            taken.append((length, length + len(markdown) - at))
    show(_VisiblePart(at, len(markdown)))
    text = "".join(markdown[piece.end - 1 if piece.escaped else piece.start : piece.end] for piece in pieces)
    return VisibleText(text, tuple(pieces), tuple(taken))


def _label(mark: re.Match[str]) -> Iterator[_VisiblePart]:
    begin, end = mark.span("label")
    at = begin
    for escaped in _ESCAPED.finditer(mark.string, begin, end):
        yield _VisiblePart(at, escaped.start())
        yield _VisiblePart(*escaped.span(), escaped=True)
        at = escaped.end()
    yield _VisiblePart(at, end)


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """The prose under one heading; `heading` is None before the first heading."""

    heading: str | None
    paragraphs: tuple[MarkdownBlock, ...]
    """Paragraphs, list items and quotations; no listings and tables."""

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence for paragraph in self.paragraphs for sentence in paragraph.sentences)


class Body:
    """A parsed article: its Markdown, blocks and sections."""

    def __init__(self, markdown: str) -> None:
        self.markdown = markdown
        self.blocks = tuple(blocks_of(markdown))
        self.sections = _sections(self.blocks)
        """The prose by heading; a first section without any text is left out."""

    @property
    def prose(self) -> str:
        """All that is prose, a paragraph a line."""
        return "\n".join(block.shown.text for block in self.blocks if block.kind in PROSE)


def _sections(blocks: Sequence[MarkdownBlock]) -> tuple[MarkdownSection, ...]:
    found: list[tuple[str | None, list[MarkdownBlock]]] = [(None, [])]
    for block in blocks:
        if block.kind is MarkdownBlockKind.HEADING:
            found.append((block.shown.text.strip(), []))
        elif block.kind in PROSE and block.shown.text.strip():
            found[-1][1].append(block)
    if not found[0][1]:
        found.pop(0)
    return tuple(MarkdownSection(heading, tuple(paragraphs)) for heading, paragraphs in found)


def cited_in(markdown: str) -> tuple[int, ...]:
    """Returns the numbers of the cited sources, ascending."""
    return tuple(
        sorted(
            {
                int(mark["citation"].strip("[] \u00a0"))
                for block in blocks_of(markdown)
                if block.kind in PROSE or block.kind is MarkdownBlockKind.HEADING
                for mark in _INLINE.finditer(block.markdown, block.start, block.end)
                if mark["citation"]
            }
        )
    )


def prose_of(markdown: str) -> str:
    """All that is prose, a paragraph a line."""
    return Body(markdown).prose


def escape(text: str) -> str:
    """Returns Markdown that renders as exactly `text`, with no more backslashes than it needs: people read and edit it."""
    return _SPECIAL.sub(
        lambda found: f"[{escape(found['words'])}]" if found["words"] else f"\\{found[0]}", text
    )


def escape_cell(text: str) -> str:
    """Returns what `escape` does, for a cell of a table."""
    return escape(text).replace("|", "\\|")


def escape_beginning(escaped: str) -> str:
    """Escapes what would begin another block."""
    return _BLOCK_START.sub(lambda match: f"{match[1]}\\{match[2]}" if match[1] else f"\\{match[3]}", escaped)
