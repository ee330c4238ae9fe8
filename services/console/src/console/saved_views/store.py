"""Saved views, in the console's own database: each person has their own, of each brand and list."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode
from uuid import UUID, uuid4

import asyncpg

from chassis import Connection
from console.pages.viewer import PageViewer

MOST: Final = 20
"""Views of one list."""
MAX_NAME: Final = 60
SCREENS: Final = ("keywords", "drafts", "articles", "posts")
_MAX_QUERY: Final = 500
_NOT_KEPT: Final = frozenset({"after", "notice", "done", "of", "handed_in"})


@dataclass(frozen=True, slots=True)
class SavedView:
    id: UUID
    name: str
    query: str
    """With its question mark; `?` shows the whole list."""


@dataclass(frozen=True, slots=True)
class SavedViews:
    """The views of a list, for its page."""

    screen: str
    query: str
    """Of the list as it is shown."""
    views: tuple[SavedView, ...]

    @property
    def current(self) -> SavedView | None:
        return next((each for each in self.views if each.query == self.query), None)

    @property
    def is_full(self) -> bool:
        return len(self.views) >= MOST


class NameTakenError(Exception):
    """The person has a view of this name."""


def kept_query(query: str) -> str:
    """The part of an address's query that a view keeps: its filters, and not the page."""
    told = parse_qsl(query.removeprefix("?")[:_MAX_QUERY])
    return "?" + urlencode([(name, value) for name, value in told if name not in _NOT_KEPT])


async def saved_views(viewer: PageViewer, brand: str, screen: str, query: str) -> SavedViews:
    """The person's views of a list, by name."""
    async with viewer.connections.connection() as connection:
        rows = await connection.fetch(
            """
            select id, name, query from saved_views where person = $1 and brand = $2 and screen = $3
            order by lower(name), name
            """,
            viewer.person.id,
            brand,
            screen,
        )
    return SavedViews(screen, kept_query(query), tuple(SavedView(**row) for row in rows))


async def save(viewer: PageViewer, brand: str, screen: str, name: str, query: str) -> bool:
    """Keeps a view; one of the same name gets the new filter. False if the list has as many as it may have."""
    async with viewer.connections.connection() as connection, connection.transaction():
        # One at a time, so that many at once are counted.
        await connection.execute("select from people where id = $1 for no key update", viewer.person.id)
        stored = await connection.fetchval(
            """
            insert into saved_views (id, person, brand, screen, name, query)
            select $1, $2, $3, $4, $5, $6
            where (select count(*) from saved_views
                   where person = $2 and brand = $3 and screen = $4 and name <> $5) < $7
            on conflict (person, brand, screen, name) do update set query = excluded.query
            returning true
            """,
            uuid4(),
            viewer.person.id,
            brand,
            screen,
            name,
            kept_query(query),
            MOST,
        )
    return bool(stored)


async def rename(viewer: PageViewer, brand: str, view: UUID, name: str) -> None:
    """Raises NameTakenError."""
    try:
        async with viewer.connections.connection() as connection:
            await connection.execute(
                "update saved_views set name = $4 where id = $1 and person = $2 and brand = $3",
                view,
                viewer.person.id,
                brand,
                name,
            )
    except asyncpg.UniqueViolationError:
        raise NameTakenError from None


async def remove(viewer: PageViewer, brand: str, view: UUID) -> tuple[str, str, str] | None:
    """Removes a view; returns its screen, name and query."""
    async with viewer.connections.connection() as connection:
        row = await connection.fetchrow(
            """
            delete from saved_views where id = $1 and person = $2 and brand = $3 returning screen, name, query
            """,
            view,
            viewer.person.id,
            brand,
        )
    return None if row is None else (row["screen"], row["name"], row["query"])


async def erase_brand(connection: Connection, brand: str) -> None:
    await connection.execute("delete from saved_views where brand = $1", brand)
