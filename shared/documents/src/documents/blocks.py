"""The blocks of a section: paragraphs, lists, listings, tables, definitions, notes, labels and gaps. Pure data.

All text is plain: one line without invisible characters, as `reading.cleaning.one_line` leaves it. Only the lines of a
listing keep their spaces.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Link:
    """A link within a paragraph: the characters from `start` to `end` point to `target`.

    `target` is an absolute address, or a path in the same collection of documents with an optional `#anchor`.
    """

    start: int
    end: int
    target: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    links: tuple[Link, ...] = ()
    flags: tuple[str, ...] = ()
    """What a reviewer should see, as `prompt_injection`; nothing with a flag is quoted."""


@dataclass(frozen=True, slots=True)
class ListItem:
    """Its own paragraphs, nested lists and listings, in order."""

    blocks: tuple["Block", ...]


@dataclass(frozen=True, slots=True)
class ItemList:
    items: tuple[ListItem, ...]
    ordered: bool = False
    start: int = 1
    """The number of the first item of an ordered list."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Code, a configuration, or what a terminal shows."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    rows: tuple[tuple[str, ...], ...]
    """Cells as plain text; all rows have the same number."""
    head: tuple[str, ...] = ()
    """The head of each column; empty if the table has none."""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class DefinitionEntry:
    terms: tuple[str, ...]
    blocks: tuple["Block", ...]
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Definitions:
    """A list of terms, each with its explanation, as `dl` in HTML."""

    entries: tuple[DefinitionEntry, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A note, tip, warning or sidebar."""

    title: str
    """As the page shows it: "Note", "Warning", or the sidebar's own title; empty if it has none."""
    blocks: tuple["Block", ...]


@dataclass(frozen=True, slots=True)
class Label:
    """A short line above or below a block: a caption, or a line like "List of options"."""

    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """The place of something that was left out: a figure, a formula, a table or listing that is too long."""

    kind: str
    """What it was: "figure", "formula", "table", "listing", "list"."""


Block: TypeAlias = Paragraph | ItemList | Listing | Table | Definitions | Note | Label | Gap


def text_of(block: Block) -> str:
    """Returns the words of a block in reading order, on one line; for searching and counting, not for showing."""
    return " ".join(filter(None, _texts(block)))


def words_in(block: Block) -> int:
    """Counts the words of a block, those of listings and tables too."""
    return len(text_of(block).split())


def _texts(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text) | Label(text):
            yield text
        case ItemList(items):
            for item in items:
                yield from map(text_of, item.blocks)
        case Listing(lines):
            yield from lines
        case Table(rows, head, caption):
            yield caption
            yield " ".join(head)
            yield from map(" ".join, rows)
        case Definitions(entries):
            for entry in entries:
                yield ", ".join(entry.terms)
                yield from map(text_of, entry.blocks)
        case Note(title, blocks):
            yield title
            yield from map(text_of, blocks)
        case Gap():
            pass
