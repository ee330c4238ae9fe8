"""The full-text look-up: a keyword as the index sees it, and the passages that use its words."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import asyncpg

from chassis import Connection
from research import synonyms
from research.domain import Candidate, Passage
from research.ranking import Hits, Query, Term

# More candidates than any article needs; ranking in Python stays within a few milliseconds.
CANDIDATES: Final = 600


async def other_words(connection: Connection) -> synonyms.OtherWords:
    """The same as long as nobody changes how the index sees words, which a migration does."""
    rows = await connection.fetch(
        "select word, lexeme from unnest($1::text[]) as word, unnest(searchable(word)) as stem (lexeme, positions, weights)",
        synonyms.words(),
    )
    return synonyms.OtherWords({row["word"]: row["lexeme"] for row in rows})


async def parsed(
    connection: Connection, keywords: Sequence[str], others: synonyms.OtherWords
) -> dict[str, Query]:
    """Keywords as the index sees them: stemmed words without stop words, of which nobody has counted yet how often they are used."""
    rows = await connection.fetch(
        "select n, lexeme, positions[1] as position from unnest($1::text[]) with ordinality as asked (keyword, n),"
        " unnest(searchable(keyword)) as term order by n, position",
        keywords,
    )
    words: dict[str, list[asyncpg.Record]] = {keyword: [] for keyword in keywords}
    for row in rows:
        words[keywords[row["n"] - 1]].append(row)
    return {keyword: _query(keyword, found, others) for keyword, found in words.items()}


def _query(keyword: str, words: Sequence[asyncpg.Record], others: synonyms.OtherWords) -> Query:
    equal, near = others.of(word["lexeme"] for word in words)
    none: frozenset[str] = frozenset()
    terms = tuple(
        Term(lexeme, position, 0, equal.get(lexeme, none), near.get(lexeme, none))
        for _, lexeme, position in words
    )
    return Query(keyword=keyword, terms=terms, corpus_passages=0)


async def look_up(connection: Connection, corpora: Sequence[str], query: Query) -> Hits:
    """Passages of those corpora that use a word of the keyword, the most promising first, with the places of those words.

    And the query with how often its words are used in all of them.
    """
    if not query.terms:
        return Hits(query, [])
    lexemes = sorted(query.lexemes)
    rows = await connection.fetch(
        """
        with wanted as (
            select (select string_agg(as_query(lexeme)::text, ' | ')::tsquery from unnest($2::text[]) as lexeme)
                       as any_word,
                   (select string_agg(as_query(lexeme)::text, ' & ')::tsquery from unnest($4::text[]) as lexeme)
                       as all_words
        ), counted as materialized (
            select array(
                       select (select count(*) from passages join documents using (document_id)
                               where corpus = any ($1) and search @@ as_query(lexeme))
                       from unnest($4::text[]) with ordinality as term (lexeme, n) order by n
                   ) as frequencies,
                   (select coalesce(sum(passage_count), 0) from documents where corpus = any ($1)) as corpus_passages
        ), best as (
            select documents.*, passages.position, passages.heading, passages.content, passages.flags,
                   passages.search, passages.heading_search
            from wanted, passages join documents using (document_id)
            where corpus = any ($1) and (search @@ any_word or heading_search @@ all_words)
            order by title_search @@ all_words or heading_search @@ all_words desc,
                     search @@ all_words desc, ts_rank_cd(search, all_words) * quality desc,
                     ts_rank(search, any_word) desc, document_id, position
            limit $3
        )
        select frequencies, corpus_passages,
               document_id, corpus, path, title, url, licence, published_on, author, own, quality, passage_count, position,
               heading, content, flags,
               jsonb_build_array(
                   (select jsonb_object_agg(lexeme, positions) from unnest(search) where lexeme = any ($2)),
                   (select jsonb_object_agg(lexeme, positions) from unnest(heading_search) where lexeme = any ($2)),
                   (select jsonb_object_agg(lexeme, positions) from unnest(title_search) where lexeme = any ($2))
               ) as hits
        -- Where nothing is found, there is a row that says how often each word is used.
        from counted left join best on true
        """,
        corpora,
        sorted(query.wanted),
        CANDIDATES,
        lexemes,
    )
    frequencies = dict(zip(lexemes, rows[0]["frequencies"], strict=True))
    terms = tuple(replace(term, frequency=frequencies[term.lexeme]) for term in query.terms)
    counted = replace(query, terms=terms, corpus_passages=rows[0]["corpus_passages"])
    return Hits(counted, [_candidate(row) for row in rows if row["document_id"] is not None])


def _candidate(row: asyncpg.Record) -> Candidate:
    body, heading, title = json.loads(row["hits"])
    return Candidate(
        document_id=row["document_id"],
        document_title=row["title"],
        path=row["path"],
        url=row["url"],
        licence=row["licence"],
        quality=row["quality"],
        passages_in_document=row["passage_count"],
        position=row["position"],
        passage=Passage(row["heading"], row["content"], tuple(row["flags"])),
        published_on=row["published_on"],
        author=row["author"],
        own=row["own"],
        corpus=row["corpus"],
        body_hits=body or {},
        heading_hits=heading or {},
        title_hits=title or {},
    )


async def describe_to_planner(connection: Connection) -> None:
    """Gathers statistics. A planner that thinks the tables are still empty asks the index of words once per document."""
    await connection.execute("select describe_index_to_planner()")
