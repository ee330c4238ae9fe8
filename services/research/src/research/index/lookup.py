"""Full-text search: parses keywords into stemmed words, and finds the passages that use them."""

from collections.abc import Mapping, Sequence
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
_MOST_OF_A_KIND: Final = 1_000
"""Passages that are compared to find the candidates: of those named by title or heading, those with all words, and others."""
_RARE_PASSAGES: Final = 1_000


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

    Passages with all words come first, in a title or heading before those in the text. Where these are fewer than `limit`,
    others follow that have one of its rare words (`_rare_words`). At most `_MOST_OF_A_KIND` of each kind are compared, so
    that the costs do not grow with the corpus.

    The returned query has the frequency of each word in these corpora; of words that many passages have, as of the last
    change of their index.
    """
    if not query.terms:
        return SearchHits(query, [])
    frequencies, corpus_passages = await _count_words(connection, corpora, query)
    terms = tuple(replace(term, frequency=frequencies[term.lexeme]) for term in query.terms)
    counted = replace(query, terms=terms, corpus_passages=corpus_passages)
    rows = await connection.fetch(
        _SEARCH,
        corpora,
        sorted(query.wanted),
        limit,
        sorted(query.lexemes),
        _rare_words(query, frequencies),
        _MOST_OF_A_KIND,
    )
    hits = from_json("[" + ",".join(row["hits"] for row in rows) + "]")
    return SearchHits(counted, [_candidate(*each) for each in zip(rows, hits, strict=True)])


_SEARCH: Final = """
    with wanted as (
        select (select string_agg(as_query(lexeme)::text, ' | ')::tsquery from unnest($2::text[]) as lexeme) as any_word,
               (select string_agg(as_query(lexeme)::text, ' & ')::tsquery from unnest($4::text[]) as lexeme) as all_words,
               (select string_agg(as_query(lexeme)::text, ' | ')::tsquery from unnest($5::text[]) as lexeme) as rare_word
    ), named as materialized (
        (select document_id, position from wanted, passages join documents using (document_id)
         where corpus = any ($1) and heading_search @@ all_words limit $6)
        union
        (select document_id, position from wanted, documents join passages using (document_id)
         where corpus = any ($1) and title_search @@ all_words and search @@ any_word limit $6)
    ), complete as materialized (
        select document_id, position from named
        union
        (select document_id, position from wanted, passages join documents using (document_id)
         where corpus = any ($1) and search @@ all_words
         limit (select case when count(*) < $3 then $6::integer else 0 end from named))
    ), found as (
        select document_id, position from complete
        union
        (select document_id, position from wanted, passages join documents using (document_id)
         where corpus = any ($1) and search @@ rare_word
         limit (select case when count(*) < $3 then $6::integer else 0 end from complete))
    ), best as (
        select document_id, corpus, path, title, url, licence, published_on, author, own, quality, passage_count,
               title_search, position, heading, content, flags, search, heading_search
        from wanted, found join passages using (document_id, position) join documents using (document_id)
        order by title_search @@ all_words or heading_search @@ all_words desc,
                 search @@ all_words desc, ts_rank_cd(search, all_words) * quality desc,
                 ts_rank(search, any_word) desc, document_id, position
        limit $3
    )
    select document_id, corpus, path, title, url, licence, published_on, author, own, quality, passage_count, position,
           heading, content, flags,
           jsonb_build_array(
               (select jsonb_object_agg(lexeme, positions) from unnest(search) where lexeme = any ($2)),
               (select jsonb_object_agg(lexeme, positions) from unnest(heading_search) where lexeme = any ($2)),
               (select jsonb_object_agg(lexeme, positions) from unnest(title_search) where lexeme = any ($2))
           ) as hits
    from best
"""


async def _count_words(
    connection: Connection, corpora: Sequence[str], query: KeywordQuery
) -> tuple[dict[str, int], int]:
    """Return how many passages have each wanted word, and how many there are."""
    rows = await connection.fetch(
        """
        with known as (
            select corpus, frequent_words, passages from collections where corpus = any ($1) and frequent_words is not null
        ), total as (
            select (select coalesce(sum(passages), 0) from known)
                 + (select coalesce(sum(passage_count), 0) from documents
                    where corpus = any (array(select unnest($1::text[]) except select corpus from known))) as passages
        )
        select lexeme, total.passages::bigint as all_passages,
               coalesce(
                   (select sum((frequent_words ->> lexeme)::bigint) from known),
                   (select count(*) from passages join documents using (document_id)
                    where corpus = any ($1) and search @@ as_query(lexeme)))::bigint as passages
        from total, unnest($2::text[]) as lexeme
        """,
        corpora,
        sorted(query.wanted),
    )
    return {row["lexeme"]: row["passages"] for row in rows}, rows[0]["all_passages"]


def _rare_words(query: KeywordQuery, frequencies: Mapping[str, int]) -> list[str]:
    """Return the two rarest words of the keyword, and further ones and synonyms while few passages have them.

    A passage that has only a frequent word of a keyword is seldom about it: "kernel", of "kernel module signing".
    """
    occurring = sorted((frequencies[word], word) for word in query.wanted if frequencies[word])
    own = [(count, word) for count, word in occurring if word in query.lexemes][:2]
    chosen, room = [word for _, word in own], _RARE_PASSAGES - sum(count for count, _ in own)
    for count, word in occurring:
        if word not in chosen and count <= room:
            chosen.append(word)
            room -= count
    return chosen


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
