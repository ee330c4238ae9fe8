"""Links for guests, in the console's own database.

A link has one version of a draft as its page looked when the link was made, sealed by the link's token. The database and the
environment together open none.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from starlette.requests import Request

from chassis import Connection
from console.drafts.notes import MAX_NOTE, Note, Thread, in_threads
from console.pages.parts import parts_of
from console.people.domain import Person
from console.sealing import SealedError, new_token, seal, token_hash, token_key, unseal

GOOD_FOR: Final = timedelta(days=7)
MOST_OF_DRAFT: Final = 20
"""Links of one draft at a time."""
MAX_PAGE: Final = 2_000_000
"""Characters of a page."""
MAX_NAME: Final = 60
NOTES_AN_HOUR: Final = 20
NOTES_OF_LINK: Final = 100
_COLUMNS: Final = (
    "l.id, l.brand, l.content_id, l.version, l.guest, p.name as made_by, l.created_at, l.expires_at"
)
_LONGEST_TOKEN: Final = 100


class TooManyLinksError(Exception):
    """The draft has MOST_OF_DRAFT links already."""


@dataclass(frozen=True, slots=True)
class GuestLink:
    id: UUID
    brand: str
    content_id: UUID
    version: int
    guest: str
    """For whom it was made, as its maker calls them."""
    made_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class OpenedLink:
    """A link that is good, with what its token opens."""

    link: GuestLink
    page: str
    """The document of the version's page, made of other people's words."""


async def make(
    request: Request, *, brand: str, content_id: str, version: int, guest: str, person: Person, document: str
) -> str:
    """Makes a link and returns its token, which is stored nowhere.

    Raises:
        TooManyLinksError: the draft has as many as it may have.
    """
    token, link = new_token(), uuid4()
    async with parts_of(request).connections.connection() as connection:
        made = await connection.fetchval(
            """
            insert into guest_links (id, token_hash, brand, content_id, version, sealed, guest, made_by, expires_at)
            select $1, $2, $3, $4, $5, $6, $7, $8, now() + $9::interval
            where (select count(*) from guest_links where content_id = $4 and expires_at > now()) < $10
            returning true
            """,
            link,
            token_hash(token),
            brand,
            UUID(content_id),
            version,
            seal(document.encode(), token_key(token), _purpose(link)),
            guest,
            person.id,
            GOOD_FOR,
            MOST_OF_DRAFT,
        )
    if not made:
        raise TooManyLinksError
    return token


async def links_of(request: Request, content_id: str) -> tuple[GuestLink, ...]:
    """Returns the links of a draft that are good, the latest first."""
    async with parts_of(request).connections.connection() as connection:
        rows = await connection.fetch(
            f"""
            select {_COLUMNS} from guest_links as l join people as p on p.id = l.made_by
            where content_id = $1 and expires_at > now() order by l.created_at desc
            """,  # noqa: S608  (names of columns)
            UUID(content_id),
        )
    return tuple(GuestLink(**row) for row in rows)


async def withdraw(request: Request, *, content_id: str, link: str) -> None:
    """Ends a link; what its guest wrote stays."""
    async with parts_of(request).connections.connection() as connection:
        await connection.execute(
            "delete from guest_links where id = $1 and content_id = $2", UUID(link), UUID(content_id)
        )


async def open_link(request: Request, token: str) -> OpenedLink | None:
    """Returns what a token opens; None if it is unknown, withdrawn or over."""
    if len(token) > _LONGEST_TOKEN:
        return None
    async with parts_of(request).connections.connection() as connection:
        row = await connection.fetchrow(
            f"""
            select {_COLUMNS}, l.sealed from guest_links as l join people as p on p.id = l.made_by
            where token_hash = $1 and expires_at > now()
            """,  # noqa: S608  (names of columns)
            token_hash(token),
        )
    if row is None:
        return None
    link = GuestLink(**{name: value for name, value in row.items() if name != "sealed"})
    try:
        return OpenedLink(link, unseal(row["sealed"], token_key(token), _purpose(link.id)).decode())
    except SealedError:
        return None


def _purpose(link: UUID) -> str:
    return f"guest link {link}"


async def threads_of(request: Request, link: GuestLink) -> tuple[Thread, ...]:
    """Returns what was written through a link, with the answers. A guest sees nothing else of the notes."""
    async with parts_of(request).connections.connection() as connection:
        rows = await connection.fetch(
            """
            select id, answers, name, words, created_at, settled_at, is_guest from notes
            where content_id = $2
              and coalesce(answers, id) in (select id from notes where guest_link = $1 and answers is null)
            order by created_at, id limit 500
            """,
            link.id,
            link.content_id,
        )
    return in_threads([Note(**row) for row in rows])


async def add_note(
    request: Request, link: GuestLink, *, note: UUID, name: str, words: str, answers: str
) -> bool:
    """Stores what a guest wrote; the same `note` once. Returns False if the link has had as many notes as it may have now."""
    async with parts_of(request).connections.connection() as connection, connection.transaction():
        # One at a time, so that many at once are counted.
        await connection.execute("select from guest_links where id = $1 for update", link.id)
        row = await connection.fetchrow(
            """
            select count(*) filter (where created_at > now() - interval '1 hour') as lately, count(*) as all,
                   coalesce(bool_or(id = $2), false) as is_stored
            from notes where guest_link = $1
            """,
            link.id,
            note,
        )
        assert row is not None
        if row["is_stored"]:
            return True
        if row["lately"] >= NOTES_AN_HOUR or row["all"] >= NOTES_OF_LINK:
            return False
        await connection.execute(
            """
            insert into notes (id, brand, content_id, answers, name, words, is_guest, guest_link)
            values ($2, $3, $4,
                    (select id from notes where id::text = $5 and guest_link = $1 and answers is null), $6, $7, true, $1)
            """,
            link.id,
            note,
            link.brand,
            link.content_id,
            answers,
            name[:MAX_NAME],
            words[:MAX_NOTE],
        )
    return True


async def forget_ended(connection: Connection) -> None:
    """Removes expired links; notes written through them stay."""
    await connection.execute("delete from guest_links where expires_at < now()")
