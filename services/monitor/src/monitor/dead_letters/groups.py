"""Queries that count dead letters by what they have in common: failure groups, groups of a brand, days.

They read `dead_letter_facts`, whose index by kind has all that is counted.
"""

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from chassis import Connection
from monitor.dead_letters.filtering import GROUP_FACTS, GROUP_ID

_MOST_KINDS: Final = 5_000
"""Kinds whose facts are read, those of most dead letters. A service has some hundred places where it can fail."""
_MOST_CODES: Final = 50
"""Codes of a group that are returned, those of most dead letters."""
_TYPES: Final = "array_remove(array_agg(distinct d.type order by d.type), null)"
_CODES: Final = (
    "jsonb_agg(jsonb_build_array(d.service, d.code, d.version, k.count)) filter (where d.code is not null)"
)
_ONE_OF_KIND: Final = (
    "(select d.* from dead_letter_facts f join dead_messages d using (id) where f.kind = k.kind limit 1)"
)
"""SQL for any dead letter of the kind `k`: all have the same facts."""


async def failure_groups(
    connection: Connection,
    *,
    state: str | None = None,
    queue: str | None = None,
    group: str | None = None,
    brands: Collection[str] | None = None,
    limit: int,
) -> list[dict[str, Any]]:
    """Failure groups of the dead letters that match; the largest first. None means any; `brands` are those that the caller may see."""
    rows = await connection.fetch(
        f"""
        with kinds as materialized (
            select kind, count(*) as count, min(failed_at) as first, max(failed_at) as last, max(recorded_at) as newest
            from dead_letter_facts
            where ($1::text is null or state = $1) and ($4::text[] is null or brand_slug = any ($4))
            group by kind order by count desc limit {_MOST_KINDS}
        ),
        grouped as (
            select {GROUP_ID} as "group", {GROUP_FACTS}, sum(k.count)::bigint as count, {_TYPES} as types, {_CODES} as codes,
                   min(k.first) as first_failed_at, max(k.last) as last_failed_at, max(k.newest) as newest
            from kinds k cross join lateral {_ONE_OF_KIND} d
            where ($2::text is null or d.queue = $2) and ($3::text is null or {GROUP_ID} = $3)
            group by {GROUP_FACTS} order by count desc, last_failed_at desc, d.queue limit $5
        )
        select g."group", g.queue, g.reason, g.exception_type, g.frame, g.count, g.types, g.codes, g.first_failed_at, g.last_failed_at,
               newest.id as newest_id, newest.detail as newest_detail
        from grouped g
        cross join lateral (
            select d.id, d.detail from dead_messages d
            where d.recorded_at = g.newest and ($1::text is null or d.state = $1) and ($4::text[] is null or d.brand_slug = any ($4))
              and (d.queue, d.reason) = (g.queue, g.reason) and d.exception_type is not distinct from g.exception_type
              and d.frame is not distinct from g.frame
            order by d.id limit 1
        ) newest
        order by g.count desc, g.last_failed_at desc, g.queue
        """,  # noqa: S608 - constants
        state,
        queue,
        group,
        None if brands is None else list(brands),
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
        f"""
        with kinds as materialized (
            select kind, brand_slug, count(*) as count from dead_letter_facts where state in ('open', 'replaying')
            group by kind, brand_slug order by count desc limit {_MOST_KINDS}
        )
        select {GROUP_ID} as "group", {GROUP_FACTS}, k.brand_slug, sum(k.count)::bigint as count, {_TYPES} as types
        from kinds k cross join lateral {_ONE_OF_KIND} d
        group by {GROUP_FACTS}, k.brand_slug order by count desc, d.queue, k.brand_slug limit $1
        """,  # noqa: S608 - constants
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
        f"""
        with kinds as materialized (
            select kind, (recorded_at at time zone 'utc')::date as day, count(*) as recorded,
                   count(*) filter (where state = 'open') as open
            from dead_letter_facts
            where recorded_at >= $1 and ($2::text[] is null or brand_slug = any ($2))
            group by kind, day
        ),
        queues as materialized (
            select k.kind, d.queue from (select distinct kind from kinds) k cross join lateral {_ONE_OF_KIND} d
        )
        select day, queue, sum(recorded)::bigint as recorded, sum(open)::bigint as open
        from kinds join queues using (kind) group by day, queue order by day, queue
        """,  # noqa: S608 - constants
        datetime.combine(first_day, time(), UTC),
        None if brands is None else list(brands),
    )
    return DayCounts([dict(row) for row in rows], first_day, today)
