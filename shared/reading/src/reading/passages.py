r"""Derives plain passages from a document's sections: prose under its headings, for the search and for short quotations. Pure.

Lists of sentences count as prose. Other lists, listings and tables stay only after a sentence that ends in a colon. A
paragraph is one line without a tab. Each line of a structure starts with a marker and a tab:

    "•\tan item", "1.\ta numbered item", "\ta line of code", "|\ta cell\tthe next cell" (the first row is the head)
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from documents.blocks import (
    Block,
    Definitions,
    Gap,
    ItemList,
    Label,
    Listing,
    Note,
    Paragraph,
    Table,
)
from documents.sections import Section
from reading.cleaning import flags_of
from reading.document import DocumentPassage
from reading.ranking.definitions import NAME_LINE

PASSAGE_CHARACTERS: Final = 700
MIN_WORDS: Final = 6
MAX_HEADING: Final = 200
MAX_PARAGRAPH: Final = 20_000
"""Characters; a longer "paragraph" is data."""
MAX_ITEMS: Final = 30
MAX_LINES: Final = 40
MAX_LINE: Final = 200
MAX_ROWS: Final = 19
MAX_COLUMNS: Final = 6
LISTING_ITEMS: Final = 8
LISTING_SHARE: Final = 0.75
LISTING_QUALITY: Final = 0.2
"""A page of short items reports or enumerates; it does not explain."""
REFERENCE_DISCOUNT: Final = 0.4
"""Lists of options with one line each are reference; explanations are better sources."""

_SENTENCE_END: Final = re.compile(r"[.!?:…。！？][\"'”’)\]]*$")  # noqa: RUF001 - full-width marks end sentences as well

_FlatBlockKind = Literal["paragraph", "item", "definition", "list", "listing", "table", "gap"]
_TEXT_KINDS: Final = frozenset({"paragraph", "item", "definition", "list"})
_STRUCTURES: Final = frozenset({"list", "listing", "table"})


@dataclass(frozen=True, slots=True)
class _FlatBlock:
    """A block as text. `linked` counts the characters inside links; a `gap` stands for what cannot be quoted."""

    kind: _FlatBlockKind
    text: str = ""
    heading: str | None = None
    linked: int = 0
    flags: tuple[str, ...] = ()


def passages_of(sections: Section) -> tuple[DocumentPassage, ...]:
    """Return the passages of a document."""
    return tuple(_passages(_pieces(sections), sections.title))


def quality_of(sections: Section, link_lists: int = 0) -> float:
    """Return 1 for prose, less for a high share of links, and `LISTING_QUALITY` for pages that only enumerate.

    `link_lists`: the characters of lists of links, which are no part of the sections.
    """
    text = [piece for piece in _pieces(sections) if piece.kind in _TEXT_KINDS]
    total = sum(len(piece.text) for piece in text) + link_lists
    if not total:
        return 0.0
    linked = (sum(piece.linked for piece in text) + link_lists) / total
    items = [piece for piece in text if piece.kind in {"item", "list"}]
    listed = sum(len(piece.text) for piece in items) / total
    if sum(piece.text.count("\n") + 1 for piece in items) >= LISTING_ITEMS and listed >= LISTING_SHARE:
        return LISTING_QUALITY
    defined = sum(len(piece.text) for piece in text if piece.kind == "definition") / total
    return round(max(0.05, 1.0 - 1.2 * max(0.0, linked - 0.1) - REFERENCE_DISCOUNT * defined), 3)


def ends_sentence(text: str) -> bool:
    """Return whether a text ends as a sentence does."""
    return _SENTENCE_END.search(text) is not None


# -- pieces --------------------------------------------------------------------------------------------------------------


def _pieces(sections: Section) -> Iterator[_FlatBlock]:
    for above, section in sections.walk():
        heading = section.title if above else None
        yield _FlatBlock("gap")
        for block in section.blocks:
            yield from _of_block(block, heading, "paragraph")


def _of_block(block: Block, heading: str | None, kind: _FlatBlockKind) -> Iterator[_FlatBlock]:  # noqa: C901, PLR0912 - one for each kind
    match block:
        case Paragraph(text, links, flags):
            yield _FlatBlock(kind, text, heading, sum(link.end - link.start for link in links), flags)
        case Label(text):
            yield _FlatBlock(kind, text, heading)
        case ItemList(items):
            if (lines := _lines_of_list(block)) is not None:
                inside = [piece for item in items for piece in _of_block(item.blocks[0], heading, kind)]
                flags = next((piece.flags for piece in inside if piece.flags), ())
                yield _FlatBlock("list", lines, heading, sum(piece.linked for piece in inside), flags)
                return
            for item in items:
                for inner in item.blocks:
                    yield from _of_block(inner, heading, "item")
        case Definitions(entries):
            for entry in entries:
                yield _FlatBlock("gap")
                for inner in entry.blocks:
                    yield from _of_block(inner, ", ".join(entry.terms), "definition")
        case Note(_, blocks):
            for inner in blocks:
                yield from _of_block(inner, heading, kind)
        case Listing(lines) if len(lines) <= MAX_LINES and max(map(len, lines)) <= MAX_LINE:
            yield _FlatBlock("listing", "\n".join(f"\t{line}" for line in lines), heading)
        case Table(rows, head) if head and len(rows) <= MAX_ROWS and len(head) <= MAX_COLUMNS:
            yield _FlatBlock("table", "\n".join("|\t" + "\t".join(row) for row in (head, *rows)), heading)
        case Listing() | Table() | Gap():
            yield _FlatBlock("gap")


def _lines_of_list(block: ItemList) -> str | None:
    """Return the lines of a list; None if an item has more than a paragraph, or the list is too long to quote."""
    lines: list[str] = []
    for at, item in enumerate(block.items):
        if len(item.blocks) != 1 or not isinstance(item.blocks[0], Paragraph) or at >= MAX_ITEMS:
            return None
        lines.append(f"{f'{block.start + at}.' if block.ordered else '•'}\t{item.blocks[0].text}")
    return "\n".join(lines)


# -- passages ------------------------------------------------------------------------------------------------------------


def _passages(pieces: Iterator[_FlatBlock], title: str) -> Iterator[DocumentPassage]:
    paragraphs: list[str] = []
    heading: str | None = None
    before: tuple[str, ...] = ()
    for piece in pieces:
        introduced = _is_introduced(piece, paragraphs) and piece.heading == heading
        prose = introduced or _is_prose(piece) or _is_name_line(piece, title)
        # A suspect paragraph gets a passage of its own, so that its flag does not cover its neighbours.
        suspect = prose and (piece.flags or before)
        full = sum(map(len, paragraphs)) >= PASSAGE_CHARACTERS and not introduced
        if paragraphs and (not prose or full or suspect or piece.heading != heading):
            yield _passage(heading, paragraphs, title, before)
            paragraphs = []
        if prose:
            heading, before = piece.heading, piece.flags
            paragraphs.append(piece.text)
    if paragraphs:
        yield _passage(heading, paragraphs, title, before)


def _is_introduced(piece: _FlatBlock, paragraphs: Sequence[str]) -> bool:
    """Return whether the sentence before a structure announces it: "To install it:", then the commands."""
    return piece.kind in _STRUCTURES and bool(paragraphs) and paragraphs[-1].endswith(":")


def _passage(
    heading: str | None, paragraphs: list[str], title: str, flags: tuple[str, ...]
) -> DocumentPassage:
    text = "\n\n".join(paragraphs)
    shown = heading[:MAX_HEADING] if heading and heading != title else None
    # An instruction may begin in one paragraph and end in the next.
    return DocumentPassage(heading=shown, text=text, flags=flags if len(paragraphs) == 1 else flags_of(text))


def _is_prose(piece: _FlatBlock) -> bool:
    if piece.kind == "list":
        return _is_list_of_sentences(piece)
    return (
        piece.kind in _TEXT_KINDS
        and len(piece.text) <= MAX_PARAGRAPH
        and len(piece.text.split()) >= MIN_WORDS
        and piece.linked * 2 < len(piece.text)
        and ends_sentence(piece.text)
        and _reads_as_sentences(piece.text)
    )


def _is_name_line(piece: _FlatBlock, title: str) -> bool:
    """Return whether the piece is the name line of a manual page."""
    line = NAME_LINE.fullmatch(piece.text) if piece.kind == "paragraph" else None
    if line is None:
        return False
    return (piece.heading or "").casefold() == "name" or line["names"].casefold() in title.casefold()


def _is_list_of_sentences(piece: _FlatBlock) -> bool:
    items = [line.partition("\t")[2] for line in piece.text.split("\n")]
    return (
        all(len(item.split()) >= MIN_WORDS and ends_sentence(item) for item in items)
        and len(piece.text) <= MAX_PARAGRAPH
        and piece.linked * 2 < len(piece.text)
        and _reads_as_sentences(" ".join(items))
    )


def _reads_as_sentences(text: str) -> bool:
    """Return whether less than half of the words are capitalised, unlike in names, titles and references."""
    letters = [word[0] for word in text.split() if word[0].isalpha()]
    return sum(map(str.isupper, letters)) * 2 <= len(letters)
