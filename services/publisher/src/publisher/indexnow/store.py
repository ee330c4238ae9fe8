"""Keys and changed addresses in the publisher's database: each statement beside the function that runs it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from chassis import Connection
from publisher.domain import BrandSlug, PageSlug


@dataclass(frozen=True, slots=True)
class IndexNowKey:
    """A brand's IndexNow key, and the state of its notifications."""

    key: str
    told_at: datetime | None
    problem: str
    """Why the last notification failed; empty if it succeeded."""
    waiting: int
    """The number of addresses not yet sent."""


@dataclass(frozen=True, slots=True)
class AddressBatch:
    """Changed addresses of one brand, sent in one request."""

    brand: BrandSlug
    slugs: tuple[PageSlug, ...]
    changed_at: tuple[datetime, ...]
    """Times of change at the claim; an address that changes later is sent again."""
    attempts: int
    """The largest number of attempts for any of the addresses, including this one."""


async def find(connection: Connection, brand: BrandSlug) -> IndexNowKey | None:
    row = await connection.fetchrow(
        """
        select key, told_at, problem, (select count(*) from changed_addresses as c where c.brand_slug = k.brand_slug) as waiting
        from indexnow_keys as k where brand_slug = $1
        """,
        brand,
    )
    return None if row is None else IndexNowKey(**row)


async def key_of(connection: Connection, brand: BrandSlug) -> str | None:
    """The brand's key; None if the brand has turned IndexNow off."""
    key: str | None = await connection.fetchval("select key from indexnow_keys where brand_slug = $1", brand)
    return key


async def turn_on(connection: Connection, brand: BrandSlug, key: str) -> None:
    """Turns IndexNow on with this key; does nothing if it is on already."""
    await connection.execute(
        "insert into indexnow_keys (brand_slug, key) values ($1, $2) on conflict do nothing", brand, key
    )


async def turn_off(connection: Connection, brand: BrandSlug) -> bool:
    """Turns IndexNow off: deletes the key and the waiting addresses. Returns whether it was on."""
    removed = await connection.fetchval(
        "delete from indexnow_keys where brand_slug = $1 returning true", brand
    )
    await connection.execute("delete from changed_addresses where brand_slug = $1", brand)
    return bool(removed)


async def claim(connection: Connection, *, most: int, hold: timedelta) -> AddressBatch | None:
    """Claims due addresses of the brand that waits longest; None if none is due.

    The claim keeps other replicas away for the time `hold`.
    """
    rows = await connection.fetch(
        """
        update changed_addresses as c set due_at = clock_timestamp() + $2::interval, attempts = c.attempts + 1
        from (
            select brand_slug, slug from changed_addresses
            where due_at <= now() and brand_slug = (
                select brand_slug from changed_addresses where due_at <= now() order by due_at limit 1)
            order by due_at limit $1 for update skip locked) as due
        where c.brand_slug = due.brand_slug and c.slug = due.slug
        returning c.brand_slug, c.slug, c.changed_at, c.attempts
        """,
        most,
        hold,
    )
    if not rows:
        return None
    rows.sort(key=lambda row: row["slug"])
    return AddressBatch(
        BrandSlug(rows[0]["brand_slug"]),
        tuple(PageSlug(row["slug"]) for row in rows),
        tuple(row["changed_at"] for row in rows),
        max(row["attempts"] for row in rows),
    )


async def delete_batch(connection: Connection, batch: AddressBatch) -> None:
    """Deletes the addresses of the batch, except those that changed since the claim."""
    await connection.execute(
        """
        delete from changed_addresses where ctid in (
            select c.ctid from changed_addresses as c
            join unnest($2::text[], $3::timestamptz[]) as told (slug, changed_at) using (slug, changed_at)
            where c.brand_slug = $1 for update of c skip locked)
        """,
        batch.brand,
        list(batch.slugs),
        list(batch.changed_at),
    )


async def postpone(connection: Connection, batch: AddressBatch, pause: timedelta) -> None:
    """Delays the addresses of the batch, except those that changed since the claim."""
    await connection.execute(
        """
        update changed_addresses set due_at = clock_timestamp() + $4::interval where ctid in (
            select c.ctid from changed_addresses as c
            join unnest($2::text[], $3::timestamptz[]) as tried (slug, changed_at) using (slug, changed_at)
            where c.brand_slug = $1 for update of c skip locked)
        """,
        batch.brand,
        list(batch.slugs),
        list(batch.changed_at),
        pause,
    )


async def record_success(connection: Connection, brand: BrandSlug) -> None:
    await connection.execute(
        "update indexnow_keys set told_at = clock_timestamp(), problem = '' where brand_slug = $1", brand
    )


async def record_failure(connection: Connection, brand: BrandSlug, problem: str) -> None:
    await connection.execute("update indexnow_keys set problem = $2 where brand_slug = $1", brand, problem)
