"""SQL over links."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chassis import Connection
from orchestrator.links.domain import LinkKind, LinkStatus, ProbeAnswer, ProbeOutcome, update_status

A_ROUND: Final = timedelta(days=7)
IN_HAND: Final = timedelta(minutes=5)
"""The lease of a claimed link; longer than one check may take."""
LOOKED_AT: Final = {LinkKind.PAGE: 500, LinkKind.SOURCE: 200}
"""The most links of each kind in a brand's round; those checked longest ago come first."""
_LONGEST: Final = 2_000
"""Bytes; longer addresses are left out, because the gateway and the index accept none."""
_NAMED: Final = """
    select distinct on (kind, address) kind, address, content_id from (
        select 'page' as kind, published_url as address, content_id, published_url, brand_slug, taken_down_at from content
        union all
        select 'source', source ->> 'url', content_id, published_url, brand_slug, taken_down_at
        from content, jsonb_array_elements(sources) as source
    ) as every
    where brand_slug = $1 and published_url is not null and taken_down_at is null
      and address ~ '^https?://' and octet_length(address) <= $2
    order by kind, address, content_id
"""


@dataclass(frozen=True, slots=True)
class DueLink:
    """A link that a replica has claimed."""

    brand_slug: str
    kind: LinkKind
    address: str
    in_hand_until: datetime


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link that does not answer, with its article."""

    content_id: UUID
    title: str
    address: str
    detail: str
    since: datetime


async def begin_round(connection: Connection) -> str | None:
    """Collects the links of one brand that is due for its weekly check; returns its slug, or None."""
    await connection.execute(
        "insert into link_rounds (brand_slug, next_at) select slug, now() from brands on conflict do nothing"
    )
    slug: str | None = await connection.fetchval(
        "select brand_slug from link_rounds where next_at <= now() order by next_at limit 1 for update skip locked"
    )
    if slug is None:
        return None
    await connection.execute(
        f"""
        with named as materialized ({_NAMED}), left_out as (
            delete from links as l where brand_slug = $1
              and not exists (select from named as n where n.kind = l.kind and n.address = l.address))
        insert into links (brand_slug, kind, address, content_id)
        select $1, kind, address, content_id from named
        on conflict (brand_slug, kind, address) do update set content_id = excluded.content_id
        where links.content_id <> excluded.content_id
        """,  # noqa: S608  (a constant)
        slug,
        _LONGEST,
    )
    for kind, most in LOOKED_AT.items():
        await connection.execute(
            """
            update links set due_at = now() where brand_slug = $1 and kind = $2 and address in (
                select address from links where brand_slug = $1 and kind = $2
                order by looked_at nulls first, address limit $3)
            """,
            slug,
            kind.value,
            most,
        )
    await connection.execute(
        "update link_rounds set next_at = now() + $2::interval where brand_slug = $1", slug, A_ROUND
    )
    return slug


async def claim_due(connection: Connection) -> DueLink | None:
    """Claims the link that has been due longest; None if none is due."""
    row = await connection.fetchrow(
        """
        update links set in_hand_until = clock_timestamp() + $1::interval
        where (brand_slug, kind, address) = (
            select brand_slug, kind, address from links
            where due_at <= now() and (in_hand_until is null or in_hand_until < now())
            -- Pages first: the publisher may answer while the gateway is away.
            order by due_at, kind limit 1 for update skip locked)
        returning brand_slug, kind, address, in_hand_until
        """,
        IN_HAND,
    )
    if row is None:
        return None
    return DueLink(row["brand_slug"], LinkKind(row["kind"]), row["address"], row["in_hand_until"])


async def release(connection: Connection, link: DueLink, after: timedelta) -> None:
    """Releases a link and makes it due later."""
    await connection.execute(
        """
        update links set due_at = now() + $4::interval, in_hand_until = null
        where brand_slug = $1 and kind = $2 and address = $3 and due_at is not null
        """,
        link.brand_slug,
        link.kind.value,
        link.address,
        after,
    )


async def note_answer(connection: Connection, link: DueLink, answer: ProbeAnswer) -> None:
    """Stores a link's answer and clears the brand's trouble; does nothing if the brand has the link no more."""
    row = await connection.fetchrow(
        """
        select outcome, detail, since, rounds, looked_at, now() as now from links
        where brand_slug = $1 and kind = $2 and address = $3 for update
        """,
        link.brand_slug,
        link.kind.value,
        link.address,
    )
    if row is None:
        return
    before = None
    if row["outcome"] is not None:
        before = LinkStatus(
            ProbeOutcome(row["outcome"]), row["detail"], row["since"], row["rounds"], row["looked_at"]
        )
    after = update_status(before, answer, row["now"])
    await connection.execute(
        """
        update links set outcome = $4, detail = $5, since = $6, rounds = $7, looked_at = $8, due_at = null, in_hand_until = null
        where brand_slug = $1 and kind = $2 and address = $3
        """,
        link.brand_slug,
        link.kind.value,
        link.address,
        after.outcome.value,
        after.detail,
        after.since,
        after.rounds,
        after.looked_at,
    )
    await note_trouble(connection, link.brand_slug, None)


async def note_trouble(connection: Connection, brand_slug: str, trouble: str | None) -> None:
    """Stores why the brand's links cannot be checked now; None clears it."""
    await connection.execute(
        "update link_rounds set trouble = $2 where brand_slug = $1 and trouble is distinct from $2",
        brand_slug,
        trouble,
    )


async def broken_links(
    connection: Connection, brand_slug: str, kind: LinkKind, *, rounds: int, limit: int
) -> list[BrokenLink]:
    """Returns links that were gone for `rounds` rounds, and pages of uncertain state for twice as many; the longest first."""
    rows = await connection.fetch(
        """
        select l.content_id, c.title, l.address, l.detail, l.since from links as l join content as c using (content_id)
        where l.brand_slug = $1 and l.kind = $2 and c.taken_down_at is null and c.published_url is not null
          and (l.outcome = 'gone' and l.rounds >= $3 or l.outcome = 'unsure' and l.kind = 'page' and l.rounds >= 2 * $3)
          and (l.kind <> 'page' or l.address = c.published_url)
        order by l.since, l.address limit $4
        """,
        brand_slug,
        kind.value,
        rounds,
        limit,
    )
    return [BrokenLink(**row) for row in rows]


async def describe_trouble(connection: Connection, brand_slug: str) -> str | None:
    """Returns a sentence about why links of the brand could not be checked; None if nothing prevents it."""
    row = await connection.fetchrow(
        """
        select trouble, (select count(*) from links as l where l.brand_slug = r.brand_slug and due_at is not null) as due
        from link_rounds as r where brand_slug = $1 and trouble is not null
        """,
        brand_slug,
    )
    if row is None or not row["due"]:
        return None
    return f"{row['due']} of its pages and sources could not be checked yet: {row['trouble']}"
