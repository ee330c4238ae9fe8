"""Full-text search: parses keywords into stemmed words, and finds the passages that use them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import asyncpg
from pydantic_core import from_json

from chassis import Connection
from reading.document import DocumentPassage
from reading.ranking.passages import SearchHits
from reading.ranking.relevance import KeywordQuery, Places, QueryTerm
from reading.ranking.sources import CandidatePassage
from research import synonyms

# More candidates than any article needs; ranking in Python stays within a few milliseconds.
CANDIDATES: Final = 600
# Beside a page that is enough alone.
FEW_CANDIDATES: Final = 200


async def load_synonyms(connection: Connection) -> synonyms.Synonyms:
    """Load the synonyms with their stems. Only a migration that changes stemming changes the result."""
    rows = await connection.fetch(
        "select word, lexeme from unnest($1::text[]) as word, unnest(searchable(word)) as stem (lexeme, positions, weights)",
        synonyms.all_words(),
    )
    return synonyms.Synonyms({row["word"]: row["lexeme"] for row in rows})


async def parse_keywords(
    connection: Connection, keywords: Sequence[str], known: synonyms.Synonyms
) -> dict[str, KeywordQuery]:
    """Parse each keyword into stemmed words without stop words; their frequencies are still 0."""
    rows = await connection.fetch(
        "select n, lexeme, positions[1] as position from unnest($1::text[]) with ordinality as asked (keyword, n),"
        " unnest(searchable(keyword)) as term order by n, position",
        keywords,
    )
    words: dict[str, list[asyncpg.Record]] = {keyword: [] for keyword in keywords}
    for row in rows:
        words[keywords[row["n"] - 1]].append(row)
    return {keyword: _query(keyword, found, known) for keyword, found in words.items()}


def _query(keyword: str, words: Sequence[asyncpg.Record], known: synonyms.Synonyms) -> KeywordQuery:
    equal, near = known.for_lexemes(word["lexeme"] for word in words)
    none: frozenset[str] = frozenset()
    terms = tuple(
        QueryTerm(lexeme, position, 0, equal.get(lexeme, none), near.get(lexeme, none))
        for _, lexeme, position in words
    )
    return KeywordQuery(keyword=keyword, terms=terms, corpus_passages=0)


async def search_passages(
    connection: Connection, corpora: Sequence[str], query: KeywordQuery, limit: int = CANDIDATES
) -> SearchHits:
    """Find passages with a word of the keyword, the most promising first, with the positions of those words.

    The returned query has the frequency of each word in these corpora.
    """
    if not query.terms:
        return SearchHits(query, [])
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
            select document_id, corpus, path, title, url, licence, published_on, author, own, quality, passage_count,
                   title_search, position, heading, content, flags, search, heading_search
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
        -- Without any match there is still one row, with the frequency of each word.
        from counted left join best on true
        """,
        corpora,
        sorted(query.wanted),
        limit,
        lexemes,
    )
    frequencies = dict(zip(lexemes, rows[0]["frequencies"], strict=True))
    terms = tuple(replace(term, frequency=frequencies[term.lexeme]) for term in query.terms)
    counted = replace(query, terms=terms, corpus_passages=rows[0]["corpus_passages"])
    found = [row for row in rows if row["document_id"] is not None]
    hits = from_json("[" + ",".join(row["hits"] for row in found) + "]")
    return SearchHits(counted, [_candidate(*each) for each in zip(found, hits, strict=True)])


def _candidate(row: asyncpg.Record, hits: Sequence[Places | None]) -> CandidatePassage:
    body, heading, title = hits
    return CandidatePassage(
        document_id=row["document_id"],
        document_title=row["title"],
        path=row["path"],
        url=row["url"],
        licence=row["licence"],
        quality=row["quality"],
        passages_in_document=row["passage_count"],
        position=row["position"],
        passage=DocumentPassage(row["heading"], row["content"], tuple(row["flags"])),
        published_on=row["published_on"],
        author=row["author"],
        own=row["own"],
        corpus=row["corpus"],
        body_hits=body or {},
        heading_hits=heading or {},
        title_hits=title or {},
    )


async def update_planner_statistics(connection: Connection) -> None:
    """Refresh the planner's statistics. With those of empty tables it would query the word index once per document."""
    await connection.execute("select describe_index_to_planner(), describe_sections_to_planner()")
