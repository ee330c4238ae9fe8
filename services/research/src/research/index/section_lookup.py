"""Finds sections by their titles, names and index terms, and loads the chosen ones with all below them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import asyncpg

from chassis import Connection
from documents.json_form import decode_blocks
from documents.sections import Section
from reading.collection import without_suffix
from reading.ranking.aboutness import CollectionFacts, SectionHead, kind_of
from research.index.paragraphs import without_repeated
from research.index.section_names import names_within, stems_for_search
from research.index.sections import MAX_WORDS

MAX_OF_A_NAME: Final = 40
"""Sections of one name: "Options" of a hundred commands are no candidates for each other."""
MAX_CONTAINING: Final = 2_000
"""Names with all words of the keyword that are compared; the shortest of them count."""
MAX_SHORTEST: Final = 60
MAX_ROWS: Final = 300
LAST: Final = 2**31 - 1 - MAX_ROWS
"""Behind the last section of any document."""


FIND: Final = """
    with named as (
        select same.* from unnest($2::text[]) as wanted, lateral (
            select section_names.document_id, position
            from section_names join documents using (document_id)
            where stems = string_to_array(wanted, ' ') and corpus = any ($1) and not is_copy
            limit $4
        ) as same
        union
        select longer.* from unnest($3::text[]) as wanted, lateral (
            select document_id, position from (
                select section_names.document_id, position, stems
                from section_names join documents using (document_id)
                where stems @> string_to_array(wanted, ' ') and corpus = any ($1) and not is_copy
                limit $5
            ) as compared
            order by cardinality(stems), document_id, position limit $6
        ) as longer
    )
    select sections.document_id, position, last, level, sections.title, anchor, above, names, words,
           array(select name from section_names as term
                 where (term.document_id, term.position, kind) = (sections.document_id, sections.position, 'term')
                 limit 20) as terms,
           pages_above, corpus, path, documents.title as page_title, url, licence, published_on, author, own, left_out
    from named join sections using (document_id, position) join documents using (document_id)
"""


@dataclass(frozen=True, slots=True, eq=False)
class SectionPlace:
    """A section of the index: its place, and what its document states."""

    document_id: int
    position: int
    last: int
    words: int
    anchor: str
    corpus: str
    path: str
    page_title: str
    document: asyncpg.Record
    head: SectionHead

    @property
    def page(self) -> "SectionPlace":
        """The page that it stands on."""
        return replace(self, position=0, last=LAST, anchor="")


async def facts_of(connection: Connection, corpora: Sequence[str]) -> CollectionFacts:
    """Return what the documents of these corpora have in common."""
    rows = await connection.fetch(
        "select product_words, site_names, abbreviations, title_suffixes from collections where corpus = any ($1)",
        corpora,
    )
    return CollectionFacts(
        frozenset[str]().union(*(row["product_words"] for row in rows)),
        frozenset[str]().union(*(row["site_names"] for row in rows)),
        {name: spelled for row in rows for name, spelled in json.loads(row["abbreviations"]).items()},
        tuple(suffix for row in rows for suffix in row["title_suffixes"]),
    )


async def find_sections(
    connection: Connection, corpora: Sequence[str], forms: Sequence[str], facts: CollectionFacts
) -> list[SectionPlace]:
    """Return the sections whose name has all words of a keyword, or consists of words of it.

    `forms` are the keyword and its abbreviation, or what it is short for. The number of rows read grows with the sections of such names alone, and
    is bounded.
    """
    rows = await connection.fetch(FIND, *lookup_arguments(corpora, forms, facts))
    return [_place(row, facts.title_suffixes) for row in rows]


def lookup_arguments(
    corpora: Sequence[str], forms: Sequence[str], facts: CollectionFacts
) -> Sequence[object]:
    """Return the arguments of `FIND`."""
    wanted = [stems for each in forms if (stems := stems_for_search(each))]
    return (
        corpora,
        [name for stems in wanted for name in names_within(stems, facts.product_words)],
        [" ".join(sorted({*stems} - facts.product_words or {*stems})) for stems in wanted],
        MAX_OF_A_NAME,
        MAX_CONTAINING,
        MAX_SHORTEST,
    )


def _place(row: asyncpg.Record, suffixes: Sequence[str]) -> SectionPlace:
    head = SectionHead(
        title=row["title"] if row["position"] else without_suffix(row["title"], suffixes),
        kind=kind_of(row["level"]),
        words=row["words"],
        names=tuple(row["names"]),
        index_terms=tuple(row["terms"]),
        titles_above=tuple(without_suffix(each, suffixes) for each in row["above"]),
        parent_titles=tuple(without_suffix(each, suffixes) for each in row["pages_above"]),
    )
    return SectionPlace(
        row["document_id"],
        row["position"],
        row["last"],
        row["words"],
        # The page itself begins where its address leads.
        row["anchor"] if row["position"] else "",
        row["corpus"],
        row["path"],
        without_suffix(row["page_title"], suffixes),
        row,
        head,
    )


async def load_sections(
    connection: Connection, places: Sequence[SectionPlace]
) -> list[tuple[SectionPlace, Section]]:
    """Return the sections that still exist with all below them, each up to `MAX_WORDS`, without repeated paragraphs."""
    rows = await connection.fetch(
        """
        select n, position, last, level, title, anchor, names, blocks
        from unnest($1::bigint[], $2::integer[], $3::integer[]) with ordinality as place (id, first, final, n), lateral (
            select sections.*, sum(own_words) over (order by position) as words_so_far
            from sections where document_id = id and position between first and least(final, first + $4)
        ) as below
        where position = first or words_so_far <= $5
        order by n, position
        """,
        [each.document_id for each in places],
        [each.position for each in places],
        [each.last for each in places],
        MAX_ROWS,
        MAX_WORDS,
    )
    by_place: list[list[asyncpg.Record]] = [[] for _ in places]
    for row in rows:
        by_place[row["n"] - 1].append(row)
    return [
        (place, _tree(found, frozenset(place.document["left_out"] or ())))
        for place, found in zip(places, by_place, strict=True)
        if found
    ]


def _tree(rows: Sequence[asyncpg.Record], repeated: frozenset[int]) -> Section:
    """Build the tree of rows in reading order, from the last to the first."""
    below: list[tuple[int, Section]] = []
    section = Section("", 0)
    for row in reversed(rows):
        children = []
        while below and below[-1][0] <= row["last"]:
            children.append(below.pop()[1])
        section = Section(
            title=row["title"],
            level=row["level"],
            anchor=row["anchor"],
            names=tuple(row["names"]),
            blocks=without_repeated(decode_blocks(json.loads(row["blocks"])), repeated),
            children=tuple(children),
        )
        below.append((row["position"], section))
    return section
