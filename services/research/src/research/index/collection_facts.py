"""Facts about a corpus as a whole. They are counted anew after its index has changed, since one page may change them for all others."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Final

from chassis import Connection
from documents.sections import TocLink
from documents.words import stems_of
from messaging import Database
from reading import collection
from research.index.section_names import stems_for_search
from research.index.sections import MAX_NAME

PAGES_AT_A_TIME: Final = 2_000
"""Rows of one statement: a corpus may have 100,000 pages."""
MAX_TERMS: Final = 100_000
"""Index terms of a corpus."""
FREQUENT: Final = 1_000
"""Passages of a word from which on it is counted here, rather than by each search."""


async def update_collection_facts(database: Database, corpus: str) -> None:
    """Count the facts of a corpus and store those that have changed."""
    async with database.connection() as connection:
        pages = await connection.fetch(
            "select path, title, text_hash, is_copy, pages_above from documents"
            " where corpus = $1 and text_hash is not null order by path",
            corpus,
        )
        site_names = await _find_site_names(connection, corpus, len(pages))
        abbreviations = await _merge_abbreviations(connection, corpus)
        parents = await _find_parents(connection, corpus)
        terms = await _index_terms(connection, corpus)
        frequent_words = await _count_frequent_words(connection, corpus)
    titles = {row["path"]: row["title"] for row in pages}
    # In threads: stemming 100,000 titles takes some tenths of a second.
    suffixes = await asyncio.to_thread(collection.title_suffixes, list(titles.values()))
    texts = await _stems_of_small(database, corpus, len(pages))
    product_words = await asyncio.to_thread(collection.product_words, list(titles.values()), texts)
    copies = await asyncio.to_thread(collection.copies, {row["path"]: row["text_hash"] for row in pages})
    places: list[tuple[str, bool, list[str]]] = []
    for row in pages:
        above = [titles[each] for each in collection.pages_above(row["path"], parents) if each in titles]
        place = (row["path"], row["path"] in copies, above)
        if place[1:] != (row["is_copy"], row["pages_above"]):
            places.append(place)
    async with database.transaction() as tx:
        await tx.connection.execute(
            "insert into collections (corpus, product_words, site_names, abbreviations, title_suffixes, frequent_words, passages)"
            " select $1::text, $2::text[], $3::text[], $4::json, $5::text[], $6::jsonb,"
            " (select coalesce(sum(passage_count), 0) from documents where corpus = $1)"
            # Its brand may have been erased meanwhile.
            " where exists (select from documents where corpus = $1)"
            " on conflict (corpus) do update set product_words = excluded.product_words,"
            " site_names = excluded.site_names, abbreviations = excluded.abbreviations,"
            " title_suffixes = excluded.title_suffixes, frequent_words = excluded.frequent_words, passages = excluded.passages",
            corpus,
            sorted(product_words),
            site_names,
            json.dumps(abbreviations),
            suffixes,
            json.dumps(frequent_words),
        )
    for some in _batches(places):
        async with database.transaction() as tx:
            await _place_pages(tx.connection, corpus, some)
    async with database.transaction() as tx:
        await _save_index_terms(tx.connection, corpus, await asyncio.to_thread(_with_stems, terms))


async def _stems_of_small(database: Database, corpus: str, pages: int) -> list[tuple[str, ...]]:
    """Return the stems of each page's text if the corpus is small; of a large one its titles tell enough."""
    if pages > collection.MAX_SMALL:
        return []
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select string_agg(content, ' ') as text from passages join documents using (document_id)"
            " where corpus = $1 and text_hash is not null group by document_id",
            corpus,
        )
    return await asyncio.to_thread(lambda: [stems_of(row["text"]) for row in rows])


def _batches(
    places: Sequence[tuple[str, bool, list[str]]],
) -> Iterator[Sequence[tuple[str, bool, list[str]]]]:
    for at in range(0, len(places), PAGES_AT_A_TIME):
        yield places[at : at + PAGES_AT_A_TIME]


async def _count_frequent_words(connection: Connection, corpus: str) -> dict[str, int]:
    # The function takes a text, with the corpus in it as a literal.
    rows = await connection.fetch(
        "select word, ndoc from ts_stat(format('select search from passages join documents using (document_id)"
        " where corpus = %L', $1::text)) where ndoc >= $2",
        corpus,
        FREQUENT,
    )
    return {row["word"]: row["ndoc"] for row in rows}


async def _find_site_names(connection: Connection, corpus: str, pages: int) -> list[str]:
    rows = await connection.fetch(
        "select lower(sections.title) as title from sections join documents using (document_id)"
        " where corpus = $1 and sections.title <> '' group by 1 having count(distinct document_id) >= $2 order by 1",
        corpus,
        collection.least_pages_of_site_name(pages),
    )
    return [row["title"] for row in rows]


async def _merge_abbreviations(connection: Connection, corpus: str) -> dict[str, str]:
    rows = await connection.fetch(
        "select distinct on (name) name, spelled from documents, json_each_text(abbreviations) as told (name, spelled)"
        " where corpus = $1 and abbreviations is not null order by name, path limit $2",
        corpus,
        collection.MAX_ABBREVIATIONS,
    )
    return {row["name"]: row["spelled"] for row in rows}


async def _find_parents(connection: Connection, corpus: str) -> dict[str, str]:
    parents = collection.ParentPages()
    async with connection.transaction():
        async for row in connection.cursor(
            "select path, toc from documents where corpus = $1 and toc is not null order by path",
            corpus,
            prefetch=100,
        ):
            parents.add(row["path"], [TocLink(*each) for each in json.loads(row["toc"])])
    return parents.parents


async def _index_terms(connection: Connection, corpus: str) -> list[tuple[str, str]]:
    rows = await connection.fetch(
        "select distinct left(entry ->> 0, $2) as term, entry ->> 1 as target"
        " from documents, json_array_elements(index_terms) as entry where corpus = $1 and index_terms is not null"
        " order by 1, 2 limit $3",
        corpus,
        MAX_NAME,
        MAX_TERMS,
    )
    return [(row["term"], row["target"]) for row in rows]


def _with_stems(terms: Sequence[tuple[str, str]]) -> list[tuple[str, str, str, str]]:
    """Return term, path, anchor and stems of each."""
    return [
        (term, path, anchor, " ".join(stems_for_search(term)))
        for term, target in terms
        for path, _, anchor in [target.partition("#")]
    ]


async def _place_pages(
    connection: Connection, corpus: str, places: Sequence[tuple[str, bool, list[str]]]
) -> None:
    await connection.execute(
        "update documents set is_copy = page.is_copy,"
        " pages_above = array(select value from json_array_elements_text(page.above) with ordinality order by ordinality)"
        " from unnest($2::text[], $3::boolean[], $4::json[]) as page (path, is_copy, above)"
        " where corpus = $1 and documents.path = page.path",
        corpus,
        [path for path, _, _ in places],
        [is_copy for _, is_copy, _ in places],
        [json.dumps(above) for _, _, above in places],
    )


async def _save_index_terms(
    connection: Connection, corpus: str, terms: Sequence[tuple[str, str, str, str]]
) -> None:
    """Replace the index terms of a corpus; those with an unknown target lead nowhere."""
    await connection.execute(
        """
        with places as materialized (
            select path, document_id, min(position) as position, place
            from documents join sections using (document_id), unnest(anchors) as place
            where corpus = $1 and path = any ($3) group by path, document_id, place
        ), wanted as materialized (
            select document_id, position, name, string_to_array(stems, ' ') as stems
            from unnest($2::text[], $3::text[], $4::text[], $5::text[]) as term (name, page, target, stems)
                 join places on (path, place) = (page, target)
        ), gone as (
            delete from section_names as known using documents
            where documents.document_id = known.document_id and corpus = $1 and kind = 'term' and not exists (
                select from wanted where (wanted.document_id, wanted.position, wanted.name)
                                       = (known.document_id, known.position, known.name))
        )
        insert into section_names (document_id, position, kind, name, stems)
        select document_id, position, 'term', name, stems from wanted on conflict do nothing
        """,
        corpus,
        *([each[column] for each in terms] for column in range(4)),
    )
