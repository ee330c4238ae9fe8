"""Notes about a draft, in threads, in the console's own database. They are never published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from starlette.requests import Request

from chassis import Connections
from console.drafts.views import is_id
from console.pages.parts import parts_of
from console.people.domain import Person

MAX_NOTE: Final = 4_000
"""Characters of a note."""
_MOST: Final = 500
"""Notes of a draft that its page shows."""


@dataclass(frozen=True, slots=True)
class Note:
    id: UUID
    answers: UUID | None
    name: str
    words: str
    created_at: datetime
    settled_at: datetime | None
    is_guest: bool = False
    """Whether somebody without an account wrote it, over a link."""


@dataclass(frozen=True, slots=True)
class Thread:
    first: Note
    answers: tuple[Note, ...]


async def threads(request: Request, content_id: str) -> tuple[Thread, ...]:
    """Returns the threads of a draft, the oldest first; open ones before those that are settled."""
    async with parts_of(request).connections.connection() as connection:
        rows = await connection.fetch(
            """
            select id, answers, name, words, created_at, settled_at, is_guest from notes
            where content_id = $1 order by created_at, id limit $2
            """,
            UUID(content_id),
            _MOST,
        )
    return in_threads([Note(**row) for row in rows])


async def read_changes(connections: Connections, fields: Mapping[str, str]) -> Any:
    """Reads the news for an open draft's page: another note, or a thread that was settled. None for an unknown draft."""
    if not is_id(fields["content_id"]):
        return None
    async with connections.connection() as connection:
        row = await connection.fetchrow(
            "select count(*), max(created_at), count(settled_at), max(settled_at) from notes"
            " where content_id = $1 and brand = $2",
            UUID(fields["content_id"]),
            fields["brand"],
        )
    return None if row is None else list(row)


def in_threads(found: Sequence[Note]) -> tuple[Thread, ...]:
    begun = [each for each in found if each.answers is None]
    begun.sort(key=lambda each: each.settled_at is not None)
    return tuple(Thread(each, tuple(one for one in found if one.answers == each.id)) for each in begun)


async def add(
    request: Request, *, brand: str, content_id: str, person: Person, words: str, answers: str
) -> None:
    """Stores a note; `answers` is the id of the note that begins the thread, or empty."""
    async with parts_of(request).connections.connection() as connection:
        # A thread of another draft is none: the note then begins one of its own.
        await connection.execute(
            """
            insert into notes (id, brand, content_id, answers, person, name, words)
            values ($1, $2, $3,
                    (select id from notes where id::text = $4 and content_id = $3 and answers is null), $5, $6, $7)
            """,
            uuid4(),
            brand,
            UUID(content_id),
            answers,
            person.id,
            person.name,
            words,
        )


async def settle(request: Request, *, content_id: str, note: str, is_settled: bool) -> None:
    async with parts_of(request).connections.connection() as connection:
        await connection.execute(
            """
            update notes set settled_at = case when $3 then coalesce(settled_at, now()) end
            where id = $1 and content_id = $2 and answers is null
            """,
            UUID(note),
            UUID(content_id),
            is_settled,
        )


async def erase_draft(request: Request, content_id: UUID) -> None:
    """Removes the notes about a draft and the links to its versions, for good."""
    async with parts_of(request).connections.connection() as connection, connection.transaction():
        await connection.execute("delete from notes where content_id = $1", content_id)
        await connection.execute("delete from guest_links where content_id = $1", content_id)


async def count_of_brand(request: Request, brand: str) -> int:
    async with parts_of(request).connections.connection() as connection:
        found: int = await connection.fetchval("select count(*) from notes where brand = $1", brand)
    return found


async def erase_brand(request: Request, brand: str) -> None:
    """Removes all notes of a brand, for good."""
    async with parts_of(request).connections.connection() as connection:
        await connection.execute("delete from notes where brand = $1", brand)
