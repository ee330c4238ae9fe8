"""Full-text search: parses keywords into stemmed words, and finds the passages that use them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import asyncpg

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
    words = WordPlaces(query.wanted)
    return SearchHits(counted, [_candidate(row, words) for row in rows])


# What decides the order is calculated where a passage is found, so that only those which are returned are read again.
_RANKED: Final = """
    document_id, position, title_search @@ all_words or heading_search @@ all_words as is_named,
    search @@ all_words as is_complete, ts_rank_cd(search, all_words) * quality as closeness,
    ts_rank(search, any_word) as likeness
"""
_BEST_FIRST: Final = "is_named desc, is_complete desc, closeness desc, likeness desc, document_id, position"
_SEARCH: Final = f"""
    with wanted as (
        select (select string_agg(as_query(lexeme)::text, ' | ')::tsquery from unnest($2::text[]) as lexeme) as any_word,
               (select string_agg(as_query(lexeme)::text, ' & ')::tsquery from unnest($4::text[]) as lexeme) as all_words,
               (select string_agg(as_query(lexeme)::text, ' | ')::tsquery from unnest($5::text[]) as lexeme) as rare_word
    ), named as materialized (
        (select {_RANKED}
         from wanted, passages join documents using (document_id)
         where corpus = any ($1) and heading_search @@ all_words limit $6)
        union
        (select {_RANKED}
         from wanted, documents join passages using (document_id)
         where corpus = any ($1) and title_search @@ all_words and search @@ any_word limit $6)
    ), complete as materialized (
        select * from named
        union
        (select {_RANKED}
         from wanted, passages join documents using (document_id)
         where corpus = any ($1) and search @@ all_words
         limit (select case when count(*) < $3 then $6::integer else 0 end from named))
    ), found as (
        select * from complete
        union
        (select {_RANKED}
         from wanted, passages join documents using (document_id)
         where corpus = any ($1) and search @@ rare_word
         limit (select case when count(*) < $3 then $6::integer else 0 end from complete))
    ), best as materialized (
        select * from found
        order by {_BEST_FIRST}
        limit $3
    )
    select document_id, corpus, path, title, url, licence, published_on, author, own, quality, passage_count, position,
           heading, content, flags, search, heading_search, title_search
    from best join passages using (document_id, position) join documents using (document_id)
    order by {_BEST_FIRST}
"""  # noqa: S608  (the constants above)


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


class WordPlaces:
    """Reads the positions of a few stemmed words off a `tsvector` as PostgreSQL writes it (`'coffe':3,7A 'pour':2`).

    That takes a fraction of the time that PostgreSQL needs to unfold all words of the vector.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._written = [(word, _written(word)) for word in words]
        self._known: dict[str, Places] = {}

    def find(self, vector: str) -> Places:
        """Return the positions of those of the words that the vector contains."""
        found = {}
        for word, written in self._written:
            start = vector.find(written)
            while (
                start > 0 and vector[start - 1] != " "
            ):  # the end of another word, which has a quotation mark
                start = vector.find(written, start + 1)
            if start >= 0:
                begin = start + len(written)
                end = vector.find(" ", begin)
                numbers = vector[begin:end] if end >= 0 else vector[begin:]
                found[word] = [int(number.rstrip("ABC")) for number in numbers.split(",")]
        return found

    def find_again(self, vector: str) -> Places:
        """The same, for a title or heading that many passages share."""
        if (known := self._known.get(vector)) is None:
            known = self._known[vector] = self.find(vector)
        return known


def _written(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "':"


def _candidate(row: asyncpg.Record, words: WordPlaces) -> CandidatePassage:
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
        body_hits=words.find(row["search"]),
        heading_hits=words.find_again(row["heading_search"]),
        title_hits=words.find_again(row["title_search"]),
    )


async def update_planner_statistics(connection: Connection) -> None:
    """Refresh the planner's statistics. With those of empty tables it would query the word index once per document."""
    await connection.execute("select describe_index_to_planner(), describe_sections_to_planner()")
