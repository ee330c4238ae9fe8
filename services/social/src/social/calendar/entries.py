"""SQL that reads the calendar: posts with times, in the built-in feed and on other platforms."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import Final, Literal
from uuid import UUID

import asyncpg

from chassis import Connection
from social.calendar.repeats import RepeatRule, repetition_id
from social.calendar.slots import PostingRules

EXPECTED: Final = "expected"
"""State of a repetition that is not planned yet."""
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
class PostCalendarEntry:
    """A post with its time; `models.PostCalendarEntryView` documents the fields."""

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
) -> list[PostCalendarEntry]:
    """A brand's past and future posts from `begin` to before `end`, the earliest first, with expected repetitions."""
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
    found = [_entry(row) for row in rows]
    expected = (
        each
        for each in await coming(connection, brand, begin, end)
        if after is None or (each.at, each.post_id) > after
    )
    return list(islice(merge(found, expected, key=lambda entry: (entry.at, entry.post_id)), limit))


async def coming(
    connection: Connection, brand: str, begin: datetime, end: datetime
) -> Iterator[PostCalendarEntry]:
    """Repetitions of a brand's recurring posts that are not planned yet, from one time to before another, in order."""
    rows = await connection.fetch(
        """
        select p.post_id, p.brand_slug, p.content_id, p.channel, p.account, p.material ->> 'title' as title,
               p.material ->> 'link' as link, r.rule, r.made_at, made.number, made.last, w.rules, clock_timestamp() as now
        from repeats as r
        join channel_posts as p on p.brand_slug = r.brand_slug and p.content_id = r.content_id
        left join posting_rules as w on w.brand_slug = p.brand_slug and w.account = p.account
        cross join lateral (
            select max(o.occurrence) as number, max(coalesce(o.posted_at, o.due_at)) as last
            from channel_posts as o where o.content_id = p.content_id and o.account = p.account
        ) as made
        where r.brand_slug = $1 and r.rule ->> 'kind' = 'recurring' and p.occurrence = 0
          and p.state in ('planned', 'sending', 'posted') and made.number < (r.rule ->> 'at_most')::int
          and (r.account = p.account or r.account = '' and not exists (
              select from repeats as own
              where own.brand_slug = r.brand_slug and own.content_id = r.content_id and own.account = p.account))
        """,
        brand,
    )
    return merge(*(_coming(row, begin, end) for row in rows), key=lambda entry: (entry.at, entry.post_id))


def _coming(row: asyncpg.Record, begin: datetime, end: datetime) -> Iterator[PostCalendarEntry]:
    repeat = RepeatRule.read(json.loads(row["rule"]))
    rules = None if row["rules"] is None else PostingRules.read(json.loads(row["rules"]))
    numbers = range(row["number"] + 1, repeat.at_most + 1)
    for number, at in zip(numbers, repeat.times_after(row["last"], row["now"], rules), strict=False):
        if at >= end:
            return
        if at >= begin:
            yield PostCalendarEntry(
                # The id of the later repetition, so that calendar subscribers see one event.
                post_id=repetition_id(row["post_id"], number),
                brand_slug=row["brand_slug"],
                content_id=row["content_id"],
                channel=row["channel"],
                account=row["account"],
                state=EXPECTED,
                at=at,
                in_queue=False,
                repetition=number,
                repeats="recurring",
                title=row["title"],
                text=None,
                link=row["link"],
                post_url=None,
                reason="",
                detail="",
                moves=0,
                changed_at=row["made_at"],
            )


async def find(
    connection: Connection, post_id: UUID, brands: Collection[str] | None
) -> PostCalendarEntry | None:
    """A post with a time on another platform, of these brands or of any; None if unknown."""
    found = await of_ids(connection, [post_id])
    return next((each for each in found if brands is None or each.brand_slug in brands), None)


async def of_ids(connection: Connection, post_ids: Sequence[UUID]) -> list[PostCalendarEntry]:
    """Posts on other platforms in this order; those without a time are left out."""
    rows = await connection.fetch(
        f"{_ELSEWHERE} where post_id = any ($1::uuid[]) and due_at is not null", list(post_ids)
    )
    known = {row["post_id"]: _entry(row) for row in rows}
    return [known[each] for each in post_ids if each in known]


def _entry(row: asyncpg.Record) -> PostCalendarEntry:
    return PostCalendarEntry(**dict(row))
