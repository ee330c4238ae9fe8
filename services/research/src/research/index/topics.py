"""Finds the subjects that a brand's documents treat, as keywords that would become articles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from chassis import Connection
from documents.source_minimum import MIN_SHOWN_WORDS
from documents.words import telling_stems
from reading.collection import without_suffix
from reading.ranking.aboutness import CollectionFacts, parse_keyword
from research.index.section_lookup import facts_of

MAX_DOCUMENTS: Final = 200
"""Documents that one call looks at, so that its cost does not grow with the corpus."""
_OF_A_DOCUMENT: Final = 3
_MAX_HEADING: Final = 2
_MAX_TITLE: Final = 60
_MAX_WORDS: Final = 5

_FIND: Final = """
    with looked_at as (
        select document_id, corpus, path, title, url, author, licence, own from documents
        where document_id > $2 and corpus = any ($1) and not is_copy and problem is null
        order by document_id limit $3
    )
    select looked_at.document_id, corpus, path, url, author, licence, own, looked_at.title as page,
           coalesce(found.title, '') as title, coalesce(found.words, 0) as words
    from looked_at left join lateral (
        select sections.title, words, position from sections
        where sections.document_id = looked_at.document_id and level <= $4 and words >= $5 and char_length(title) <= $6
        order by position limit $7
    ) as found on true
    order by looked_at.document_id, position
"""


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """A subject of a document."""

    keyword: str
    page: str
    """Title of the document."""
    words: int
    """Of the section about it, with all below."""
    document: asyncpg.Record
    """Where it comes from, and what it states: corpus, path, url, author, licence, own."""


async def folders(connection: Connection) -> list[str]:
    """Return the corpus name of the folder; none before it was read."""
    rows = await connection.fetch("select corpus from collections where starts_with(corpus, '/')")
    return [row["corpus"] for row in rows]


async def list_topics(
    connection: Connection, corpora: Sequence[str], *, after: int, limit: int
) -> tuple[list[Topic], int | None]:
    """Return up to `limit` topics of the documents after this id, and the id to go on from; None if there are no more.

    A topic is the title of a page or of one of its first headings that has as many words below as an article shows at least.
    """
    rows = await connection.fetch(
        _FIND, corpora, after, MAX_DOCUMENTS, _MAX_HEADING, MIN_SHOWN_WORDS, _MAX_TITLE, _OF_A_DOCUMENT
    )
    facts = await facts_of(connection, corpora)
    topics: dict[frozenset[str], Topic] = {}
    documents = list(dict.fromkeys(row["document_id"] for row in rows))
    for document in documents:
        for row in (each for each in rows if each["document_id"] == document):
            keyword = _keyword_of(row["title"], facts)
            if keyword is not None:
                page = without_suffix(row["page"], facts.title_suffixes)
                topics.setdefault(frozenset(telling_stems(keyword)), Topic(keyword, page, row["words"], row))
        if len(topics) >= limit:
            is_last = document == documents[-1] and len(documents) < MAX_DOCUMENTS
            return list(topics.values())[:limit], None if is_last else document
    return list(topics.values()), documents[-1] if len(documents) == MAX_DOCUMENTS else None


def _keyword_of(title: str, facts: CollectionFacts) -> str | None:
    """Return the title as a keyword; None if it names no subject of its own."""
    text = without_suffix(title, facts.title_suffixes).strip().rstrip(".:?!")
    keyword = parse_keyword(text)
    stems = frozenset(keyword.stems)
    if not stems or keyword.is_generic or len(text.split()) > _MAX_WORDS:
        return None
    if text.lower() in facts.site_names or stems <= facts.product_words:
        return None
    return text
