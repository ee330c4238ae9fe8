"""Queries over dead letters: pages, one in full, and failure groups."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from envelope.brand import CATALOGUE
from messaging.topology import work_queues
from monitor.dead_letters.domain import DeadLetterState
from monitor.dead_letters.filtering import GROUP_FACTS, GROUP_ID, DeadLetterFilter, bounded_search

_TYPES: Final = "array_remove(array_agg(distinct d.type order by d.type), null)"
_CODE: Final = "d.service, d.code, d.version"
_CODES: Final = (
    "jsonb_agg(jsonb_build_array(d.service, d.code, d.version, d.count)) filter (where d.code is not null)"
)
_MOST_CODES: Final = 50
"""Codes of a group that are returned, those of most dead letters."""
READABLE_BYTES: Final = 256 * 1024
"""Bytes of a body that the API returns; twice the size limit of a message."""

_SUMMARY: Final = (
    "d.id, d.event_id, d.queue, d.type, d.source, d.correlation_id, d.reason, d.exception_type, d.detail, d.frame,"  # noqa: S608
    " d.attempts, d.service, d.code, d.version, d.first_failed_at, d.failed_at, d.recorded_at, d.replayable, d.state, d.replayed_at,"
    f' d.replay_event_id, d.replay_of, d.resolution, d.resolved_at, d.redirected_from, d.restored_at, d.restored_by, d.restored_why, d.decided_by, d.decided_why, {GROUP_ID} as "group",'
    " (select n.id from dead_messages n where n.replay_of = d.id order by n.recorded_at desc limit 1) as replaced_by"
)


@dataclass(frozen=True, slots=True)
class DeadLetterRows:
    items: list[dict[str, Any]]
    matching: int
    """Number of matches on all pages."""
    open: int
    """Number of open dead letters, without regard to the filter."""
    now: datetime
    """The database's time."""


async def open_by_queue(connection: Connection) -> dict[str, float]:
    """Number of open dead letters by queue, zeros included."""
    rows = await connection.fetch(
        "select queue, count(*) as waiting from dead_messages where state = 'open' group by queue"
    )
    return dict.fromkeys(work_queues(CATALOGUE), 0.0) | {row["queue"]: float(row["waiting"]) for row in rows}


async def fetch_page(
    connection: Connection, wanted: DeadLetterFilter, *, limit: int, before: UUID | None
) -> DeadLetterRows | None:
    """Up to `limit` dead letters, the newest first, that follow `before`; None if `before` is unknown.

    Raises:
        SearchTooSlowError: the filter searches texts, and that took too long.
    """
    position = None
    if before is not None:
        position = await connection.fetchrow(
            "select recorded_at, id from dead_messages where id = $1 and ($2::text[] is null or brand_slug = any ($2))",
            before,
            _listed(wanted.brands),
        )
        if position is None:
            return None
    opened = DeadLetterFilter(DeadLetterState.OPEN, brands=wanted.brands)
    place = None if position is None else (position["recorded_at"], position["id"])
    find = _search if wanted.is_search else _look_up
    items, matching, now = await find(connection, wanted, limit=limit, place=place)
    waiting = matching if wanted == opened else await _count(connection, opened)
    return DeadLetterRows(items, matching, waiting, now)


async def _look_up(
    connection: Connection, wanted: DeadLetterFilter, *, limit: int, place: tuple[datetime, UUID] | None
) -> tuple[list[dict[str, Any]], int, datetime]:
    """A page, the number of matches and the time, each by its own index."""
    where, values = wanted.condition()
    matching = await connection.fetchrow(
        f"select now() as now, (select count(*) from dead_messages d where {where}) as matching",  # noqa: S608 - constants
        *values,
    )
    assert matching is not None
    n = len(values)
    rows = await connection.fetch(
        f"select {_SUMMARY} from dead_messages d where {where}"  # noqa: S608 - constants
        + (f" and (d.recorded_at, d.id) < (${n + 2}::timestamptz, ${n + 3}::uuid)" if place else "")
        + f" order by d.recorded_at desc, d.id desc limit ${n + 1}",
        *values,
        limit,
        *(place or ()),
    )
    return [dict(row) for row in rows], matching["matching"], matching["now"]


async def _search(
    connection: Connection, wanted: DeadLetterFilter, *, limit: int, place: tuple[datetime, UUID] | None
) -> tuple[list[dict[str, Any]], int, datetime]:
    """As `_look_up`; reads the texts once, for the page and for the number of matches.

    Raises:
        SearchTooSlowError: it took too long.
    """
    where, values = wanted.condition()
    n = len(values)
    before = f" where (recorded_at, id) < (${n + 2}::timestamptz, ${n + 3}::uuid)" if place else ""
    async with connection.transaction(), bounded_search(connection, is_search=True):
        found = await connection.fetchrow(
            f"with found as materialized (select d.id, d.recorded_at from dead_messages d where {where})"  # noqa: S608
            " select now() as now, (select count(*) from found) as matching,"
            f" array(select id from found{before} order by recorded_at desc, id desc limit ${n + 1}) as ids",
            *values,
            limit,
            *(place or ()),
        )
    assert found is not None
    rows = await connection.fetch(
        f"select {_SUMMARY} from dead_messages d where d.id = any ($1::uuid[])"  # noqa: S608 - constants
        " order by d.recorded_at desc, d.id desc",
        found["ids"],
    )
    return [dict(row) for row in rows], found["matching"], found["now"]


async def _count(connection: Connection, wanted: DeadLetterFilter) -> int:
    where, values = wanted.condition()
    return int(
        await connection.fetchval(f"select count(*) from dead_messages d where {where}", *values)  # noqa: S608 - constants
    )


async def fetch_dead_letter(
    connection: Connection, dead: UUID, brands: Collection[str] | None = None
) -> Mapping[str, Any] | None:
    """A dead letter with stack, headers and the first `READABLE_BYTES` of its body; None if it is unknown."""
    row = await connection.fetchrow(
        f"select {_SUMMARY}, d.stack, d.headers, octet_length(d.payload) as payload_bytes,"  # noqa: S608 - constants
        " substring(d.payload from 1 for $2) as payload, e.edited_event_id, e.content as edited_content, e.edited_by, e.reason as"
        " edited_why, e.edited_at, exists (select from dead_letter_edits x where x.edited_event_id = d.event_id) as is_edited"
        " from dead_messages d left join lateral (select * from dead_letter_edits x where x.dead_event_id = d.event_id"
        " and x.queue = d.queue order by x.edited_at limit 1) e on true"
        " where d.id = $1 and ($3::text[] is null or d.brand_slug = any ($3))",
        dead,
        READABLE_BYTES,
        _listed(brands),
    )
    return None if row is None else {**row, "headers": json.loads(row["headers"])}


async def fetch_outcomes(
    connection: Connection, dead: Sequence[UUID], brands: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """State and resolution of these dead letters; unknown ids are left out."""
    rows = await connection.fetch(
        "select d.id, d.state, d.resolution,"
        " (select n.id from dead_messages n where n.replay_of = d.id order by n.recorded_at desc limit 1) as replaced_by"
        " from dead_messages d where d.id = any($1) and ($2::text[] is null or d.brand_slug = any ($2))",
        dead,
        _listed(brands),
    )
    return [dict(row) for row in rows]


async def failure_groups(
    connection: Connection, wanted: DeadLetterFilter, *, limit: int
) -> list[dict[str, Any]]:
    """Failure groups of the dead letters that match; the largest first."""
    where, values = wanted.condition()
    # The inner query counts by type, so that no sort of a hundred thousand rows is needed; the lateral join then finds the
    # newest of each returned group by its time.
    rows = await connection.fetch(
        'select g."group", g.queue, g.reason, g.exception_type, g.frame, g.count, g.types, g.codes, g.first_failed_at, g.last_failed_at,'  # noqa: S608
        " newest.id as newest_id, newest.detail as newest_detail"
        f' from (select {GROUP_ID} as "group", {GROUP_FACTS}, sum(d.count)::bigint as count, {_TYPES} as types, {_CODES} as codes,'
        " min(d.first) as first_failed_at, max(d.last) as last_failed_at, max(d.newest) as newest"
        f" from (select {GROUP_FACTS}, d.type, {_CODE}, count(*) as count, min(d.failed_at) as first, max(d.failed_at) as last,"
        f" max(d.recorded_at) as newest from dead_messages d where {where} group by {GROUP_FACTS}, d.type, {_CODE}) d"
        f" group by {GROUP_FACTS} order by count desc, last_failed_at desc, d.queue limit ${len(values) + 1}) g"
        f" cross join lateral (select d.id, d.detail from dead_messages d where {where} and d.recorded_at = g.newest"
        " and (d.queue, d.reason) = (g.queue, g.reason) and d.exception_type is not distinct from g.exception_type"
        " and d.frame is not distinct from g.frame order by d.id limit 1) newest"
        " order by g.count desc, g.last_failed_at desc, g.queue",
        *values,
        limit,
    )
    return [{**row, "codes": _codes_of(row["codes"])} for row in rows]


def _codes_of(found: str | None) -> list[dict[str, Any]]:
    """The codes of a group, that of most dead letters first; `found` has one row for each code and type."""
    counts = Counter[tuple[str | None, str, str | None]]()
    for service, code, version, count in json.loads(found or "[]"):
        counts[service, code, version] += count
    return [
        {"service": service, "code": code, "version": version, "count": count}
        for (service, code, version), count in counts.most_common(_MOST_CODES)
    ]


async def unsettled_groups(connection: Connection, *, limit: int) -> list[dict[str, Any]]:
    """Failure groups by brand of dead letters that are open or in replay; the largest first."""
    rows = await connection.fetch(
        f'select {GROUP_ID} as "group", {GROUP_FACTS}, d.brand_slug, sum(d.count)::bigint as count, {_TYPES} as types'  # noqa: S608
        f" from (select {GROUP_FACTS}, d.brand_slug, d.type, count(*) as count from dead_messages d"
        f" where d.state in ('open', 'replaying') group by {GROUP_FACTS}, d.brand_slug, d.type) d"
        f" group by {GROUP_FACTS}, d.brand_slug order by count desc, d.queue, d.brand_slug limit $1",
        limit,
    )
    return [dict(row) for row in rows]


@dataclass(frozen=True, slots=True)
class DayCounts:
    rows: list[dict[str, Any]]
    first_day: date
    today: date


async def by_day(connection: Connection, days: int, brands: Collection[str] | None) -> DayCounts:
    """Dead letters by the day of their record (UTC) and queue, of today and the days before it."""
    now: datetime = await connection.fetchval("select now()")
    today = now.astimezone(UTC).date()
    first_day = today - timedelta(days=days - 1)
    rows = await connection.fetch(
        """
        select (recorded_at at time zone 'utc')::date as day, queue, count(*) as recorded,
               count(*) filter (where state = 'open') as open
        from dead_messages
        where recorded_at >= $1 and ($2::text[] is null or brand_slug = any ($2))
        group by day, queue order by day, queue
        """,
        datetime.combine(first_day, time(), UTC),
        _listed(brands),
    )
    return DayCounts([dict(row) for row in rows], first_day, today)


def _listed(brands: Collection[str] | None) -> list[str] | None:
    return None if brands is None else list(brands)
