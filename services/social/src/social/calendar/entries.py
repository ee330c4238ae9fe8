"""SQL that reads the calendar: posts with times, in the built-in feed and on other platforms."""

import json
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from heapq import merge
from itertools import islice
from typing import Final, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

import asyncpg

from chassis import Connection
from chassis.time_zones import moment
from social.calendar.repeats import RepeatRule, repetition_id
from social.calendar.slots import PostingRules

EXPECTED: Final = "expected"
"""State of a repetition that is not planned yet."""
MOST_COUNTED_A_DAY: Final = 1_000
"""Posts of a day that are counted."""
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


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """The first entries of a day, and how many it has."""

    day: date
    entries: tuple[PostCalendarEntry, ...]
    count: int
    """Posts count up to MOST_COUNTED_A_DAY."""


_PARTS: Final = (
    (
        _ELSEWHERE,
        # As an index has it. What has neither of the first two times is not in the calendar.
        "coalesce(posted_at, due_at, since)",
        "state not in ('new', 'waiting', 'rejected') and coalesce(posted_at, due_at) is not null",
    ),
    (_PLANNED_FOR_THE_FEED, "coalesce(publish_at, since)", "state = 'waiting' and publish_at is not null"),
    (_ON_THE_FEED, "posted_at", "true"),
)
"""Each table's posts, their time as an index of the table has it, and which of them are in the calendar."""


def _union(conditions: str, *, counts: bool = False) -> str:
    """The query of all tables; `{at}` in the conditions is the time of a post."""
    return " union all ".join(
        f"({'select' + sql[sql.rindex(' from ') :] if counts else sql} where {shown} and {conditions.format(at=at)})"
        for sql, at, shown in _PARTS
    )


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
    behind = "" if after is None else "and ({at}, post_id) > ($5, $6::uuid)"
    union = _union(
        f"brand_slug = $1 and {{at}} >= $2 and {{at}} < $3 {behind} order by {{at}}, post_id limit $4"
    )
    rows = await connection.fetch(
        f"{union} order by at, post_id limit $4",
        brand,
        begin if after is None else max(begin, after[0]),
        end,
        limit,
        *(after or ()),
    )
    found = [_entry(row) for row in rows]
    expected = (
        each
        for each in await coming(connection, brand, begin, end)
        if after is None or (each.at, each.post_id) > after
    )
    return list(islice(merge(found, expected, key=lambda entry: (entry.at, entry.post_id)), limit))


async def days(
    connection: Connection, brand: str, of: Sequence[date], zone: ZoneInfo, *, limit: int
) -> list[CalendarDay]:
    """The first entries of each of these days, which follow one another, with the number of all; expected repetitions included."""
    begins = [moment(day, time(), zone) for day in (*of, of[-1] + timedelta(days=1))]
    within = "brand_slug = $1 and {at} >= d.begins and {at} < d.ends"
    rows = await connection.fetch(
        f"""
        select d.day - 1 as day, counted.count, e.*
        from unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as d (begins, ends, day)
        cross join lateral (select count(*) from ({_union(within, counts=True)} limit $5) as counted) as counted
        left join lateral ({_union(f"{within} order by {{at}}, post_id limit $4")} order by at, post_id limit $4) as e on true
        order by d.day, e.at, e.post_id
        """,  # noqa: S608  (constants of this module)
        brand,
        begins[:-1],
        begins[1:],
        limit,
        MOST_COUNTED_A_DAY,
    )
    found: list[list[PostCalendarEntry]] = [[] for _ in of]
    counts = [0] * len(of)
    for row in rows:
        values = dict(row)
        day = values.pop("day")
        counts[day] = values.pop("count")
        if values["post_id"] is not None:
            found[day].append(PostCalendarEntry(**values))
    expected: list[list[PostCalendarEntry]] = [[] for _ in of]
    for each in await coming(connection, brand, begins[0], begins[-1]):
        expected[bisect_right(begins, each.at) - 1].append(each)
    return [
        CalendarDay(
            day,
            tuple(islice(merge(known, more, key=lambda entry: (entry.at, entry.post_id)), limit)),
            count + len(more),
        )
        for day, known, more, count in zip(of, found, expected, counts, strict=True)
    ]


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
