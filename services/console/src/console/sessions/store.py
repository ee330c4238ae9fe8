"""Sessions in the database: found by the hash of the cookie, which alone opens the person's own key."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chassis import Connection
from console.people.domain import Person
from console.people.store import person_of

TOUCH_EVERY: Final = timedelta(minutes=1)
"""How often a session in use is noted as seen."""


@dataclass(frozen=True, slots=True)
class Session:
    id: UUID
    person: Person
    sealed: bytes
    """The person's own key, sealed by the cookie's token."""
    sealed_key: bytes
    """The API key, sealed by the person's own key."""
    confirmed_at: datetime
    """When the password was last given."""


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A session as its person sees it."""

    id: UUID
    created_at: datetime
    seen_at: datetime
    browser: str
    address: str


async def insert_session(
    connection: Connection,
    token_hash: bytes,
    person: UUID,
    sealed: bytes,
    *,
    browser: str,
    address: str,
    confirmed_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> None:
    """Stores a session; without `confirmed_at`, the person has proved themselves just now."""
    await connection.execute(
        "insert into sessions (token_hash, person, sealed, browser, address, confirmed_at, ends_at)"
        " values ($1, $2, $3, $4, $5, coalesce(least($6, now()), now()), $7)",
        token_hash,
        person,
        sealed,
        browser,
        address,
        confirmed_at,
        ends_at,
    )
    await connection.execute("update people set signed_in_at = now() where id = $1", person)


async def find_session(
    connection: Connection, token_hash: bytes, *, idle: timedelta, age: timedelta, touch: bool = True
) -> Session | None:
    """Finds a session that has not ended, and notes that it is in use unless `touch` is False."""
    row = await connection.fetchrow(
        "select s.id as session, s.sealed, s.confirmed_at, s.seen_at < now() - $4::interval as stale, p.*, p.password_sealed <> '' as has_password"
        " from sessions s join people p on p.id = s.person"
        " where s.token_hash = $1 and s.seen_at > now() - $2::interval and s.created_at > now() - $3::interval"
        " and coalesce(s.ends_at > now(), true)",
        token_hash,
        idle,
        age,
        TOUCH_EVERY,
    )
    if row is None:
        return None
    if touch and row["stale"]:
        await connection.execute("update sessions set seen_at = now() where id = $1", row["session"])
    return Session(row["session"], person_of(row), row["sealed"], row["sealed_key"], row["confirmed_at"])


async def find_going(
    connection: Connection, sessions: Collection[UUID], *, idle: timedelta, age: timedelta
) -> set[UUID]:
    """Returns which of the sessions have not ended."""
    rows = await connection.fetch(
        "select id from sessions where id = any($1::uuid[])"
        " and seen_at > now() - $2::interval and created_at > now() - $3::interval and coalesce(ends_at > now(), true)",
        list(sessions),
        idle,
        age,
    )
    return {row["id"] for row in rows}


async def confirm_session(connection: Connection, session: UUID) -> None:
    """Notes that the person has given the password again."""
    await connection.execute("update sessions set confirmed_at = now() where id = $1", session)


async def list_sessions(
    connection: Connection, person: UUID, *, idle: timedelta, age: timedelta
) -> list[SessionEntry]:
    rows = await connection.fetch(
        "select id, created_at, seen_at, browser, address from sessions"
        " where person = $1 and seen_at > now() - $2::interval and created_at > now() - $3::interval"
        " and coalesce(ends_at > now(), true) order by seen_at desc limit 100",
        person,
        idle,
        age,
    )
    return [SessionEntry(*row) for row in rows]


async def end_by_token(connection: Connection, token_hash: bytes) -> None:
    await connection.execute("delete from sessions where token_hash = $1", token_hash)


async def end_session(connection: Connection, person: UUID, session: UUID) -> bool:
    return (
        await connection.fetchval(
            "delete from sessions where id = $1 and person = $2 returning true", session, person
        )
        is True
    )


async def end_sessions(connection: Connection, person: UUID, *, but: UUID | None = None) -> int:
    """Ends all sessions of a person, except one if it is given; returns how many there were."""
    rows = await connection.fetch(
        "delete from sessions where person = $1 and id is distinct from $2 returning id", person, but
    )
    return len(rows)


async def forget_ended(connection: Connection, *, idle: timedelta, age: timedelta) -> None:
    await connection.execute(
        "delete from sessions where seen_at < now() - $1::interval or created_at < now() - $2::interval or ends_at < now()",
        idle,
        age,
    )
