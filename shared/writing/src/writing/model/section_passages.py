"""Cuts the section of a source into passages and exhibits for a model. Pure.

A passage stands under one path of headings. A row of a table reads as "column: cell; column: cell.", so that each says what its
cells are. An exhibit is a short table, list or listing that an article may print whole: the only code and tables that it has.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from documents.blocks import Block, Definitions, ItemList, Label, Listing, Note, Paragraph, Table, text_of
from documents.sections import Section
from writing.model.promotion import is_promotion

MAX_CHARACTERS: Final = 1_200
"""Of a passage; a single longer paragraph is a passage of its own."""
MAX_ROWS: Final = 20
MAX_COLUMNS: Final = 6
MAX_ITEMS: Final = 12
MAX_CELL: Final = 200
"""Bounds of an exhibit: rows, columns, items, and characters of a cell or item."""
MAX_LINES: Final = 30
MAX_LISTING: Final = 2_000
"""Bounds of a listing: lines, and characters in all."""


@dataclass(frozen=True, slots=True)
class SectionPassage:
    titles: tuple[str, ...]
    """The headings above it, the page's first; the last one is its own."""
    text: str


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table, list or listing that an article may print whole, word for word as its source has it."""

    n: int
    """The number of its source."""
    titles: tuple[str, ...]
    head: tuple[str, ...]
    """Of each column; only tables have one."""
    rows: tuple[tuple[str, ...], ...]
    """Of a list, one cell in each; none of a listing."""
    ordered: bool = False
    lines: tuple[str, ...] = ()
    """Of a listing."""

    @property
    def texts(self) -> tuple[str, ...]:
        return (*self.head, *(cell for row in self.rows for cell in row), *self.lines)


def passages_of(section: Section, above: tuple[str, ...]) -> Iterator[SectionPassage]:
    """Yields the passages of a section and those below it, in reading order; `above` are the titles above the section."""
    for titles, part in section.walk(above):
        pieces = [piece for block in part.blocks for piece in _pieces(block)]
        yield from (SectionPassage((*titles, part.title), text) for text in _joined(pieces))


def exhibits_of(n: int, section: Section, above: tuple[str, ...]) -> Iterator[Exhibit]:
    """Yields the short tables, lists and listings of source `n` that are in a section and those below it."""
    for titles, part in section.walk(above):
        for block in part.blocks:
            path = (*titles, part.title)
            match block:
                case Table(rows, head, _) if head and 1 < len(rows) <= MAX_ROWS and len(head) <= MAX_COLUMNS:
                    exhibit = Exhibit(n, path, head, rows)
                case ItemList(items, ordered) if 1 < len(items) <= MAX_ITEMS:
                    if not all(
                        len(item.blocks) == 1 and isinstance(item.blocks[0], Paragraph) for item in items
                    ):
                        continue
                    rows = tuple((text_of(item.blocks[0]),) for item in items)
                    exhibit = Exhibit(n, path, (), rows, ordered)
                case Listing(lines) if (
                    len(lines) <= MAX_LINES and 0 < len("".join(lines).strip()) <= MAX_LISTING
                ):
                    exhibit = Exhibit(n, path, (), (), lines=lines)
                case _:
                    continue
            if all(len(text) <= MAX_CELL for text in exhibit.texts):
                yield exhibit


def _joined(pieces: Iterable[str]) -> Iterator[str]:
    held = ""
    for piece in pieces:
        if held and len(held) + len(piece) > MAX_CHARACTERS:
            yield held
            held = ""
        held = f"{held}\n\n{piece}" if held else piece
    if held:
        yield held


def _pieces(block: Block) -> Iterator[str]:  # noqa: C901 - one for each kind
    """Yields the paragraphs that a block reads as; listings and gaps say nothing that a sentence could cite."""
    match block:
        case Paragraph(text, _, flags):
            if text and not flags and not is_promotion(text):
                yield text
        case Label(text):
            yield text
        case ItemList(items):
            for item in items:
                yield from _together(item.blocks)
        case Table(rows, head, caption):
            if caption:
                yield caption
            yield from filter(None, (_row(head, row) for row in rows))
        case Definitions(entries):
            for entry in entries:
                term = ", ".join(entry.terms)
                explained = " ".join(_together(entry.blocks))
                yield f"{term}: {explained}" if explained else term
        case Note(_, blocks):
            for each in blocks:
                yield from _pieces(each)
        case _:
            pass


def _together(blocks: Iterable[Block]) -> Iterator[str]:
    """Yields the blocks of one item on one line."""
    if text := " ".join(
        piece for block in blocks if not isinstance(block, Listing) for piece in _pieces(block)
    ):
        yield text


def _row(head: tuple[str, ...], row: tuple[str, ...]) -> str:
    cells = [
        f"{name}: {cell}" if name else cell
        for name, cell in zip((*head, *[""] * (len(row) - len(head))), row, strict=False)
        if cell
    ]
    return f"{'; '.join(cells)}." if cells else ""
