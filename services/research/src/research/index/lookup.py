"""The full-text look-up: a keyword as the index sees it, and the passages that use its words."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import asyncpg

from chassis import Connection
from research import synonyms
from research.domain import Candidate, Passage
from research.ranking import Query, Term

# More candidates than any article needs; ranking in Python stays within a few milliseconds.
CANDIDATES: Final = 600


async def parse_query(connection: Connection, corpora: Sequence[str], keyword: str) -> Query:
    """The keyword as the index sees it: stemmed words without stop words, each with its frequency in those corpora."""
    stems = await _stems(connection)
    rows = await connection.fetch(
        """
        select term.lexeme, term.positions[1] as position,
               (select count(*) from passages join documents using (document_id)
                where corpus = any ($1) and search @@ as_query(term.lexeme)) as frequency,
               (select coalesce(sum(passage_count), 0) from documents where corpus = any ($1)) as corpus_passages
        from unnest(searchable($2)) as term
        order by position
        """,
        corpora,
        keyword,
    )
    equal, near = synonyms.alternatives([row["lexeme"] for row in rows], stems)
    none: frozenset[str] = frozenset()
    terms = tuple(
        Term(
            row["lexeme"],
            row["position"],
            row["frequency"],
            equal.get(row["lexeme"], none),
            near.get(row["lexeme"], none),
        )
        for row in rows
    )
    return Query(keyword=keyword, terms=terms, corpus_passages=rows[0]["corpus_passages"] if rows else 0)


async def _stems(connection: Connection) -> dict[str, str]:
    """Of all words that have others beside them."""
    rows = await connection.fetch(
        "select word, lexeme from unnest($1::text[]) as word, unnest(searchable(word)) as stem (lexeme, positions, weights)",
        synonyms.words(),
    )
    return {row["word"]: row["lexeme"] for row in rows}


async def candidates(connection: Connection, corpora: Sequence[str], query: Query) -> list[Candidate]:
    """Passages of those corpora that use a word of the keyword, the most promising first, with the places of those words."""
    rows = await connection.fetch(
        """
        with wanted as (
            select (select string_agg(as_query(lexeme)::text, ' | ')::tsquery from unnest($2::text[]) as lexeme)
                       as any_word,
                   (select string_agg(as_query(lexeme)::text, ' & ')::tsquery from unnest($4::text[]) as lexeme)
                       as all_words
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
        select document_id, corpus, path, title, url, licence, published_on, author, own, quality, passage_count, position, heading, content,
               flags,
               (select jsonb_object_agg(lexeme, positions) from unnest(search) where lexeme = any ($2)) as body_hits,
               (select jsonb_object_agg(lexeme, positions) from unnest(heading_search) where lexeme = any ($2))
                   as heading_hits,
               (select jsonb_object_agg(lexeme, positions) from unnest(title_search) where lexeme = any ($2))
                   as title_hits
        from best
        """,
        corpora,
        sorted(query.wanted),
        CANDIDATES,
        sorted(query.lexemes),
    )
    return [_candidate(row) for row in rows]


def _candidate(row: asyncpg.Record) -> Candidate:
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
        body_hits=_hits(row["body_hits"]),
        heading_hits=_hits(row["heading_hits"]),
        title_hits=_hits(row["title_hits"]),
    )


def _hits(value: str | None) -> Mapping[str, Sequence[int]]:
    return json.loads(value) if value else {}


async def describe_to_planner(connection: Connection) -> None:
    """Gathers statistics. A planner that thinks the tables are still empty asks the index of words once per document."""
    await connection.execute("select describe_index_to_planner()")
