"""Searches articles of all cycles by brand and by words of their title and keyword."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import asyncpg

from chassis import Connection

_JOINERS: Final = "-_./@:+&%~=?#<>"
"""Characters that PostgreSQL's text parser may treat as part of a word, as in an address."""
WORDS: Final = f"""
    (to_tsvector('simple', translate(title || ' ' || keyword, '{_JOINERS}', '{" " * len(_JOINERS)}'))
    || array_to_tsvector(array['=' || brand_slug]))
"""
"""The expression of the index content_by_words (migration 0072)."""
_STATE: Final = """
    case when taken_down_at is not null then 'taken_down' when decision = 'rejected' then 'rejected'
         when held_for <> '{}' then 'waiting' when published_url is not null then 'published' else 'publishing' end
"""
_NO_END: Final = "taken_down_at is null and decision is distinct from 'rejected'"
_COLUMNS: Final = f"""
    content_id, brand_slug, keyword, title, word_count, published_url, created_at, updated_at, {_STATE} as state
"""
_MOST_SORTED: Final = 2_000
"""The most matches that are sorted; with more matches, articles are read in their order instead."""
_READ_AT_ONCE: Final = 200
"""Matches of a word that are read together until a page is full."""
_APART: Final = re.compile(r"[\s'\"\\]+")


class ArticleState(StrEnum):
    WAITING = "waiting"
    """Waits for a person, its writer or its publication time."""
    REJECTED = "rejected"
    PUBLISHING = "publishing"
    """Approved, but its page is not confirmed yet."""
    PUBLISHED = "published"
    TAKEN_DOWN = "taken_down"


_IN_STATE: Final = {
    ArticleState.WAITING: f"{_NO_END} and held_for <> '{{}}'",
    ArticleState.REJECTED: "taken_down_at is null and decision = 'rejected'",
    ArticleState.PUBLISHING: f"{_NO_END} and held_for = '{{}}' and published_url is null",
    ArticleState.PUBLISHED: f"{_NO_END} and held_for = '{{}}' and published_url is not null",
    ArticleState.TAKEN_DOWN: "taken_down_at is not null",
}
"""What `_STATE` says, as conditions. All but PUBLISHED are those of partial indexes (migrations 0095 to 0098): few of a brand's
articles are in these states, and they stand anywhere among the others."""


@dataclass(frozen=True, slots=True)
class FoundArticle:
    """One search result: an article without its text."""

    content_id: UUID
    brand_slug: str
    keyword: str
    title: str
    state: ArticleState
    word_count: int
    published_url: str | None
    created_at: datetime
    updated_at: datetime


async def search_articles(
    connection: Connection,
    *,
    brands: Collection[str] | None,
    text: str | None,
    after: UUID | None,
    limit: int,
    state: ArticleState | None = None,
    since: datetime | None = None,
) -> list[FoundArticle]:
    """Returns a page of articles, the latest first.

    Rare words are looked up in the index of words. Common words occur on any page: there the query reads articles in
    their order until the page is full.

    Args:
        connection: to the service's database.
        brands: slugs of the brands to search; None: all.
        text: words, or beginnings of words, of the title or keyword; None: any.
        after: id of the last article of the previous page.
        limit: maximum number of articles.
        state: only articles in this state; None: any.
        since: only articles written from this time on; None: any.
    """
    if brands is not None and not brands:
        return []
    query = None if text is None else _query(text, brands)
    rare = None if query is None else await _few_with(connection, query)
    if query is None and since is not None and brands is not None:
        rare = await _few_since(connection, brands, since)
    if rare is not None:
        behind = sorted((each for each in rare if after is None or each < after), reverse=True)
        return await _first_of(connection, behind, limit, state, since)
    return await _latest(connection, brands, query, after, limit, state, since)


async def _first_of(
    connection: Connection,
    content_ids: Sequence[UUID],
    limit: int,
    state: ArticleState | None,
    since: datetime | None,
) -> list[FoundArticle]:
    """Returns the first of these articles, in their order, that are in the state; reads them by the page."""
    conditions = ["content_id = any ($1::uuid[])", "($2::timestamptz is null or created_at >= $2)"]
    if state is not None:
        conditions.append(_IN_STATE[state])
    found: list[FoundArticle] = []
    # Of a state or a time, few may be left: they are chosen where they are stored, and not read by the page.
    at_once = _READ_AT_ONCE if state is None and since is None else max(len(content_ids), 1)
    for begin in range(0, len(content_ids), at_once):
        rows = await connection.fetch(
            # `offset 0` keeps PostgreSQL from reading all articles in their order instead.
            f"""
            select * from (select {_COLUMNS} from content where {" and ".join(conditions)} offset 0) as found
            order by content_id desc limit $3
            """,  # noqa: S608  (constants of this module)
            content_ids[begin : begin + at_once],
            since,
            limit - len(found),
        )
        found += map(_found, rows)
        if len(found) >= limit:
            break
    return found


@dataclass(frozen=True, slots=True)
class _Query:
    words: str
    """In the syntax of `to_tsquery`; empty if no article can match."""
    brands: str | None
    """In the syntax of `tsquery`; None: any brand."""


def words_query(text: str) -> str:
    """Returns the search for all of these words, or words that start with them, in the syntax of `to_tsquery`."""
    spaced = text.translate(str.maketrans(_JOINERS, " " * len(_JOINERS)))
    return " & ".join(f"'{word}':*" for word in _APART.split(spaced) if word)


def brands_query(brands: Collection[str]) -> str:
    """Returns the search for any of these brands, which the index marks with a leading `=`, as a `tsquery`."""
    return " | ".join(f"'={slug}'" for slug in sorted(brands))


def _query(text: str, brands: Collection[str] | None) -> _Query:
    """Builds the search: every word as a prefix, and any of the brands."""
    return _Query(words_query(text), None if brands is None else brands_query(brands))


async def _few_with(connection: Connection, query: _Query) -> list[UUID] | None:
    """Returns the ids of all matching articles, unordered; None if there are more than `_MOST_SORTED`."""
    # Without `order by`: it makes the planner read the articles in order, since it cannot know how rare a prefix is.
    rows = await connection.fetch(
        f"""
        select content_id from content
        where numnode(to_tsquery('simple', $1::text)) > 0
          and {WORDS} @@ (to_tsquery('simple', $1::text){"" if query.brands is None else " && $3::text::tsquery"})
        limit $2
        """,  # noqa: S608  (constants of this module)
        query.words,
        _MOST_SORTED + 1,
        *(() if query.brands is None else (query.brands,)),
    )
    return None if len(rows) > _MOST_SORTED else [row["content_id"] for row in rows]


async def _few_since(connection: Connection, brands: Collection[str], since: datetime) -> list[UUID] | None:
    """Returns the ids of the brands' articles from a time on, unordered; None if there are more than `_MOST_SORTED`."""
    rows = await connection.fetch(
        "select content_id from content where brand_slug || '' = any ($1::text[]) and created_at >= $2 limit $3",
        sorted(brands),
        since,
        _MOST_SORTED + 1,
    )
    return None if len(rows) > _MOST_SORTED else [row["content_id"] for row in rows]


async def _latest(
    connection: Connection,
    brands: Collection[str] | None,
    query: _Query | None,
    after: UUID | None,
    limit: int,
    state: ArticleState | None,
    since: datetime | None,
) -> list[FoundArticle]:
    """Returns the latest matching articles: the latest of each brand, merged."""
    values: list[Any] = [limit]
    conditions = ["true"]

    def add(condition: str, value: Any) -> None:
        values.append(value)
        conditions.append(condition.format(f"${len(values)}"))

    if query is not None:
        # Differs from the expression of the index on purpose, so that PostgreSQL reads the articles in their order.
        add(f"({WORDS} || '') @@ to_tsquery('simple', {{}}::text)", query.words)
    if after is not None:
        add("content_id < {}::uuid", after)
    if state is not None:
        conditions.append(_IN_STATE[state])
    if since is not None:
        add("created_at >= {}::timestamptz", since)
    pages = []
    for brand in [None] if brands is None else sorted(brands):
        of_brand = ""
        if brand is not None:
            values.append(brand)
            # The expression of the index `content_of_brands`.
            of_brand = f"and brand_slug || '' = ${len(values)}::text"
        pages.append(
            f"(select {_COLUMNS} from content where {' and '.join(conditions)} {of_brand} order by content_id desc limit $1)"  # noqa: S608
        )
    rows = await connection.fetch(
        f"select * from ({' union all '.join(pages)}) as found order by content_id desc limit $1",  # noqa: S608
        *values,
    )
    return [_found(row) for row in rows]


async def load_articles(connection: Connection, content_ids: Sequence[UUID]) -> list[FoundArticle]:
    """Loads these articles, the latest first; skips deleted ones."""
    if not content_ids:
        return []
    rows = await connection.fetch(
        f"select {_COLUMNS} from content where content_id = any ($1::uuid[]) order by content_id desc",  # noqa: S608  (a constant of this module)
        list(content_ids),
    )
    return [_found(row) for row in rows]


def _found(row: asyncpg.Record) -> FoundArticle:
    return FoundArticle(**{**row, "state": ArticleState(row["state"])})
