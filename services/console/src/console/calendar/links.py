"""Addresses of a brand's calendar for other programs, in the console's own database.

Each has an API key of its own, which may only read this brand. The key is sealed with the address's token. The database has only
the token's hash.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from chassis import Connection, Connections
from client import RefusedError
from console.pages.viewer import PageViewer
from console.sealing import SealedError, new_token, seal, token_hash, token_key, unseal

MOST: Final = 20
"""Addresses of one brand."""
MAX_NAME: Final = 40
_LONGEST_TOKEN: Final = 100
_PER_MINUTE: Final = 60
_GONE: Final = frozenset({404, 409, 410})


@dataclass(frozen=True, slots=True)
class CalendarLink:
    id: UUID
    name: str
    made_by: str | None
    made_at: datetime
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class OpenedCalendar:
    brand: str
    key: str
    """The API key, which may only read the brand."""


class TooManyCalendarLinksError(Exception):
    """The brand has MOST addresses already."""


class SameNameError(Exception):
    """The brand has an address of this name."""


async def links_of(viewer: PageViewer, brand: str) -> list[CalendarLink]:
    """Returns a brand's addresses, without their tokens, which are stored nowhere."""
    async with viewer.connections.connection() as connection:
        rows = await connection.fetch(
            """
            select l.id, l.name, p.name as made_by, l.made_at, l.used_at
            from calendar_links as l left join people as p on p.id = l.made_by
            where brand = $1 order by l.made_at
            """,
            brand,
        )
    return [CalendarLink(**row) for row in rows]


async def make(viewer: PageViewer, brand: str, name: str) -> str:
    """Makes an address with a key of its own, and returns its token. Raises TooManyCalendarLinksError and SameNameError."""
    known = await links_of(viewer, brand)
    if len(known) >= MOST:
        raise TooManyCalendarLinksError
    name = name[:MAX_NAME]
    # Two people who press in the same moment get two of one name: the list says who made which.
    if any(each.name == name for each in known):
        raise SameNameError
    link, token = uuid4(), new_token()
    made = await viewer.orchestrator.create_key(
        name=f"calendar-{link.hex[:12]}", scopes=["read"], brands=[brand], per_minute=_PER_MINUTE
    )
    async with viewer.connections.connection() as connection:
        await connection.execute(
            """
            insert into calendar_links (id, token_hash, brand, name, key_id, sealed, made_by)
            values ($1, $2, $3, $4, $5, $6, $7)
            """,
            link,
            token_hash(token),
            brand,
            name,
            made["about"]["key_id"],
            seal(made["key"].encode(), token_key(token), _purpose(link)),
            viewer.person.id,
        )
    return token


async def revoke(viewer: PageViewer, brand: str, link: UUID) -> None:
    """Ends an address and its key at once."""
    async with viewer.connections.connection() as connection:
        key_id = await connection.fetchval(
            "select key_id from calendar_links where id = $1 and brand = $2", link, brand
        )
        if key_id is None:
            return
        await _revoke_key(viewer, key_id)
        await connection.execute("delete from calendar_links where id = $1", link)


async def erase_brand(viewer: PageViewer, brand: str) -> None:
    for each in await links_of(viewer, brand):
        await revoke(viewer, brand, each.id)


async def _revoke_key(viewer: PageViewer, key_id: str) -> None:
    try:
        await viewer.orchestrator.revoke_key(key_id)
    except RefusedError as error:
        if error.status not in _GONE:
            raise


async def open_link(connections: Connections, token: str) -> OpenedCalendar | None:
    """Returns what a token opens; None if it is unknown or revoked."""
    if len(token) > _LONGEST_TOKEN:
        return None
    async with connections.connection() as connection:
        row = await connection.fetchrow(
            "select id, brand, sealed from calendar_links where token_hash = $1", token_hash(token)
        )
        if row is None:
            return None
        await _note_use(connection, row["id"])
    try:
        key = unseal(row["sealed"], token_key(token), _purpose(row["id"]))
    except SealedError:
        return None
    return OpenedCalendar(row["brand"], key.decode())


async def _note_use(connection: Connection, link: UUID) -> None:
    await connection.execute(
        """
        update calendar_links set used_at = now()
        where id = $1 and (used_at is null or used_at < now() - interval '1 minute')
        """,
        link,
    )


def _purpose(link: UUID) -> str:
    return f"calendar link {link}"
