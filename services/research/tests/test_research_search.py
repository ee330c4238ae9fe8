"""Which passages a search compares, in corpora of any size."""

import json
from typing import Any, Final

import pytest

from messaging import Database
from reading.ranking.relevance import KeywordQuery
from research.index import collection_facts, lookup
from tests.fixtures.explained import ExplainedConnection

CORPUS: Final = "/corpus"
_FILL: Final = """
    with filled as (
        insert into documents (corpus, path, size, modified_ns, title, quality, passage_count)
        select $1, 'page-' || n || '.md', 1, 1, 'Page ' || n, 0.5, 20 from generate_series(1, $2::int) as n
        returning document_id, split_part(split_part(path, '-', 2), '.', 1)::int as n
    )
    insert into passages (document_id, position, heading, content)
    select document_id, position, case when n % 50 = 0 and position = 1 then 'Signing modules' end,
           'The kernel has ' || n || ' parts.' || case when position % 4 = 0 then ' A module is one.' else '' end
           || case when n % 20 = 0 and position = 4 then ' Signing keeps out others.' else '' end
    from filled, generate_series(1, 20) as position
"""


async def query_of(connection: Any, keyword: str) -> KeywordQuery:
    known = await lookup.load_synonyms(connection)
    return (await lookup.parse_keywords(connection, [keyword], known))[keyword]


async def fill(database: Database, documents: int, corpus: str = CORPUS) -> None:
    async with database.connection() as connection:
        await connection.execute(_FILL, corpus, documents)
        await lookup.update_planner_statistics(connection)


async def test_named_passages_come_first_then_those_with_all_words_then_those_with_rare_ones(
    research_database: Database,
) -> None:
    await fill(research_database, 200)
    async with research_database.connection() as connection:
        hits = await lookup.search_passages(
            connection, [CORPUS], await query_of(connection, "kernel module signing"), 200
        )
    kinds = [
        "named"
        if {"modul", "sign"} <= each.heading_hits.keys()
        else "all"
        if {"kernel", "modul", "sign"} <= each.body_hits.keys()
        else "module"
        if "modul" in each.body_hits
        else "kernel"
        for each in hits.candidates
    ]
    # The headings lack the kernel, so those passages are not named by all words; they hold none of the rare ones in the text.
    assert kinds[:10] == ["all"] * 10
    assert set(kinds[10:]) == {"module"}


async def test_words_are_counted_once_where_many_passages_have_them(
    research_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(research_database, 100)
    # Another brand's documents count for nobody else.
    await fill(research_database, 3, "brand:rival")

    async def counted() -> tuple[dict[str, int], int]:
        async with research_database.connection() as connection:
            query = await query_of(connection, "kernel module signing")
            hits = await lookup.search_passages(connection, [CORPUS, "brand:acme"], query, 10)
        return {each.lexeme: each.frequency for each in hits.query.terms}, hits.query.corpus_passages

    expected = {"kernel": 2_000, "modul": 500, "sign": 5}, 2_000
    assert await counted() == expected
    monkeypatch.setattr(collection_facts, "FREQUENT", 100)
    await collection_facts.update_collection_facts(research_database, CORPUS)
    async with research_database.connection() as connection:
        stored = await connection.fetchval(
            "select frequent_words::text from collections where corpus = $1", CORPUS
        )
    assert {"kernel", "modul"} <= set(stored.split('"'))
    assert "sign" not in stored.split('"')
    assert await counted() == expected
    # With documents of one's own, which are not counted yet.
    await fill(research_database, 10, "brand:acme")
    frequencies, passages = await counted()
    assert (frequencies["sign"], passages) == (5, 2_200)


@pytest.mark.extended
@pytest.mark.parametrize("keyword", ["kernel module signing", "kernel", "kernel module", "module signing"])
async def test_a_search_in_a_large_corpus_compares_a_bounded_number_of_passages(
    research_database: Database, keyword: str
) -> None:
    await fill(research_database, 2_000)
    await collection_facts.update_collection_facts(research_database, CORPUS)
    async with research_database.connection() as connection:
        query = await query_of(connection, keyword)
        await connection.execute("set enable_seqscan = off")
        explained: Any = ExplainedConnection(connection)
        hits = await lookup.search_passages(explained, [CORPUS, "brand:acme"], query)
    assert len(hits.candidates) == lookup.CANDIDATES
    # Of 40,000 passages that all have the first word. Each of up to four kinds is read with its document, and once more to be ranked.
    assert explained.rows_read < 30_000, explained.rows_read


@pytest.mark.parametrize(
    "vector",
    [
        "'coffe':3,17A,20B 'pour':4C,9",
        "'coffe':1",
        "'a''coffe':1 'coffe':2 'coffe''':3",
        "'a ''coffe':5",
        r"'it''s':1A,5 'back\\slash':3 'two words':2D 'über':4",
        "'coffe' 'pour':2",
        "",
    ],
)
async def test_positions_are_read_as_postgresql_unfolds_them(
    research_database: Database, vector: str
) -> None:
    words = [
        *("coffe", "pour", "our", "it's", r"back\slash"),
        *("two words", "über", "a'coffe", "coffe'", "a 'coffe"),
    ]
    async with research_database.connection() as connection:
        written, unfolded = await connection.fetchrow(
            "select $1::text::tsvector, (select jsonb_object_agg(lexeme, positions) from unnest($1::text::tsvector)"
            " where lexeme = any ($2) and positions is not null)::text",
            vector,
            words,
        )
    places = lookup.WordPlaces(words)
    assert places.find(written) == json.loads(unfolded or "{}")
    assert places.find_again(written) == places.find_again(written) == places.find(written)
