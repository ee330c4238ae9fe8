"""Tables of sections: the tree of each document in reading order, and the searchable names of its sections."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from chassis import Connection
from documents.blocks import Block, words_in
from documents.json_form import encode_blocks
from documents.sections import Section
from reading.document import ExtractedDocument
from research.index.section_names import stems_for_search

MAX_SECTIONS: Final = 20_000
"""Of one document; the rest of a longer one is not indexed."""
MAX_NAMES: Final = 40
"""Other names of one section."""
MAX_NAME: Final = 300
"""Characters."""
MAX_ABOVE: Final = 12
"""Titles above a section, from the page down."""
MAX_WORDS: Final = 2_500
"""Words of a section that is offered to writers, with those below it: several times what an article shows."""


@dataclass(slots=True)
class SectionRow:
    """A row of `sections`. `last` and `words` grow as the sections below it are added."""

    position: int
    parent: int | None
    section: Section
    above: tuple[str, ...]
    last: int
    words: int
    names: list[str] = field(default_factory=list)


def section_rows(root: Section) -> list[SectionRow]:
    """Return a page's sections in reading order."""
    rows: list[SectionRow] = []
    # Iterative, as a document may be nested thousands of levels deep.
    pending: list[tuple[int | None, tuple[str, ...], Section]] = [(None, (), root)]
    while pending and len(rows) < MAX_SECTIONS:
        parent, above, section = pending.pop()
        at = len(rows)
        names = [each[:MAX_NAME] for each in section.names[:MAX_NAMES]]
        rows.append(SectionRow(at, parent, section, above, at, section.own_words, names))
        below = (*above, section.title[:MAX_NAME])[:MAX_ABOVE]
        pending += [(at, below, child) for child in reversed(section.children)]
    for row in reversed(rows):
        if row.parent is not None:
            rows[row.parent].last = max(rows[row.parent].last, row.last)
            rows[row.parent].words += row.words
    return rows


async def save_sections(connection: Connection, documents: Mapping[int, ExtractedDocument]) -> None:
    """Store the sections of new documents, by the ids of their rows. Run it in a transaction."""
    rows = [
        (document_id, row)
        for document_id, document in documents.items()
        if document.sections is not None
        for row in section_rows(document.sections)
    ]
    await connection.copy_records_to_table(
        "sections",
        columns=[
            *("document_id", "position", "last", "level", "title", "anchor", "anchors", "above", "names"),
            *("own_words", "words", "blocks"),
        ],
        records=[
            (
                document_id,
                row.position,
                row.last,
                row.section.level,
                row.section.title[:MAX_NAME],
                row.section.anchor,
                _anchors(row),
                row.above,
                row.names,
                row.section.own_words,
                row.words,
                json.dumps(encode_blocks(row.section.blocks), ensure_ascii=False),
            )
            for document_id, row in rows
        ],
    )
    await connection.copy_records_to_table(
        "section_names",
        columns=["document_id", "position", "kind", "name", "stems"],
        records=[
            (document_id, row.position, kind, name, stems_for_search(name))
            for document_id, row in rows
            for kind, name in _names(row)
        ],
    )


async def rename_page(connection: Connection, document_id: int, title: str) -> None:
    """Give the page of a document another title, which its sections stand below. Run it in a transaction."""
    name = title[:MAX_NAME]
    await connection.execute(
        "update sections set title = case position when 0 then $2 else title end,"
        " above = case when above = '{}' then above else array[$2] || above[2:] end where document_id = $1",
        document_id,
        name,
    )
    await connection.execute(
        "update section_names set name = $2, stems = $3 where document_id = $1 and position = 0 and kind = 'title'",
        document_id,
        name,
        stems_for_search(name),
    )


def shorten_section(section: Section, words: int = MAX_WORDS) -> Section:
    """Return a section with its first so many words, in whole blocks."""
    return _shortened(section, words)[0]


def _shortened(section: Section, words: int) -> tuple[Section, int]:
    """Return the section, and how many words are left for those after it."""
    if section.words <= words:
        return section, words - section.words
    blocks: list[Block] = []
    for block in section.blocks:
        words -= words_in(block)
        if words < 0:
            return replace(section, blocks=tuple(blocks), children=()), 0
        blocks.append(block)
    children: list[Section] = []
    for child in section.children:
        shorter, words = _shortened(child, words)
        children.append(shorter)
        if words <= 0:
            break
    return replace(section, blocks=tuple(blocks), children=tuple(children)), words


def section_texts(root: Section | None) -> Iterator[str]:
    """Yield the words of each section of a page, in reading order."""
    if root is not None:
        for _, section in root.walk():
            yield section.text


def _anchors(row: SectionRow) -> list[str]:
    own = [each for each in (row.section.anchor, *row.section.anchors) if each]
    return own if row.position else ["", *own]


def _names(row: SectionRow) -> Iterator[tuple[str, str]]:
    yield "title", row.section.title[:MAX_NAME]
    for name in dict.fromkeys(row.names):
        yield "name", name
