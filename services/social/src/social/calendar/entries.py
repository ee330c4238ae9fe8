"""SQL that reads calendars: posts with their times, of the built-in feed and of other platforms."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

import asyncpg

from chassis import Connection

_ELSEWHERE: Final = """
    select post_id, brand_slug, content_id, coalesce(channel, entry) as channel, account, state,
           coalesce(posted_at, due_at) as at, in_queue, occurrence as repetition, repeats, material ->> 'title' as title, text,
           material ->> 'link' as link, post_url, reason, detail, moves,
           greatest(since, moved_at, posted_at) as changed_at
    from channel_posts
"""
_PLANNED_FOR_THE_FEED: Final = """
    select post_id, brand_slug, content_id, channel, null::text as account, 'planned' as state,
           publish_at as at, false as in_queue, 0 as repetition, null::text as repeats, title, text,
           link, null::text as post_url, '' as reason, '' as detail, 0 as moves,
           since as changed_at
    from pending_posts
"""
_ON_THE_FEED: Final = """
    select post_id, brand_slug, content_id, channel, null::text as account, 'posted' as state,
           posted_at as at, false as in_queue, 0 as repetition, null::text as repeats, title, text,
           link, null::text as post_url, '' as reason, '' as detail, 0 as moves,
           posted_at as changed_at
    from posts
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A post with its time; what its fields say is told in `models.EntryView`."""

    post_id: UUID
    brand_slug: str
    content_id: UUID
    channel: str
    account: str | None
    state: str
    at: datetime
    in_queue: bool
    repetition: int
    repeats: Literal["evergreen", "recurring"] | None
    title: str
    text: str | None
    link: str | None
    post_url: str | None
    reason: str
    detail: str
    moves: int
    changed_at: datetime


async def page(
    connection: Connection,
    brand: str,
    begin: datetime,
    end: datetime,
    *,
    after: tuple[datetime, UUID] | None = None,
    limit: int,
) -> list[Entry]:
    """What a brand has posted, or is to, from one time to before another one; the earliest first."""
    conditions = """
        where brand_slug = $1 and {at} >= $2 and {at} < $3 and ($4::timestamptz is null or ({at}, post_id) > ($4, $5::uuid))
          and {shown} order by {at}, post_id limit $6
    """
    parts = (
        (_ELSEWHERE, "coalesce(posted_at, due_at)", "state not in ('new', 'waiting', 'rejected')"),
        (_PLANNED_FOR_THE_FEED, "publish_at", "state = 'waiting'"),
        (_ON_THE_FEED, "posted_at", "true"),
    )
    union = " union all ".join(f"({sql} {conditions.format(at=at, shown=shown)})" for sql, at, shown in parts)
    rows = await connection.fetch(
        f"{union} order by at, post_id limit $6",
        brand,
        begin,
        end,
        *(after or (None, None)),
        limit,
    )
    return [_entry(row) for row in rows]


async def find(connection: Connection, post_id: UUID, brands: Collection[str] | None) -> Entry | None:
    """A post on another platform, of one of these brands or of any, that has a time."""
    found = await of_ids(connection, [post_id])
    return next((each for each in found if brands is None or each.brand_slug in brands), None)


async def of_ids(connection: Connection, post_ids: Sequence[UUID]) -> list[Entry]:
    """Posts on other platforms, in this order; those of them that have a time."""
    rows = await connection.fetch(
        f"{_ELSEWHERE} where post_id = any ($1::uuid[]) and due_at is not null", list(post_ids)
    )
    known = {row["post_id"]: _entry(row) for row in rows}
    return [known[each] for each in post_ids if each in known]


def _entry(row: asyncpg.Record) -> Entry:
    return Entry(**dict(row))
