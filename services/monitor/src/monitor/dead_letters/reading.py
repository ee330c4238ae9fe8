"""Reading dead letters for people: lists, one in full, and groups of like failures."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from envelope.brand import CATALOGUE
from messaging.topology import work_queues
from monitor.dead_letters import groups

READABLE_BYTES: Final = 256 * 1024
"""As much of a body is shown; twice what a message may have."""

_SUMMARY: Final = (
    "d.id, d.event_id, d.queue, d.type, d.source, d.correlation_id, d.reason, d.exception_type, d.detail, d.frame,"  # noqa: S608
    " d.attempts, d.service, d.first_failed_at, d.failed_at, d.recorded_at, d.replayable, d.state, d.replayed_at,"
    f' d.replay_event_id, d.replay_of, d.resolution, d.resolved_at, d.decided_by, d.decided_why, {groups.ID} as "group",'
    " (select n.id from dead_messages n where n.replay_of = d.id order by n.recorded_at desc limit 1) as replaced_by"
)
_MATCHING: Final = (
    "($1::text is null or d.state = $1) and ($2::text is null or d.queue = $2) and ($3::text is null or d.type = $3)"
    " and ($4::text is null or d.correlation_id = $4) and ($5::boolean is null or d.replayable = $5)"
    f" and ($6::text is null or {groups.ID} = $6) and ($7::text[] is null or d.brand_slug = any ($7))"
)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which dead letters; None means any."""

    state: str | None = None
    queue: str | None = None
    type: str | None = None
    correlation_id: str | None = None
    replayable: bool | None = None
    group: str | None = None
    brands: Collection[str] | None = None
    """That they are about, as whoever asks may see no other."""

    def values(self) -> tuple[str | bool | list[str] | None, ...]:
        return (
            self.state,
            self.queue,
            self.type,
            self.correlation_id,
            self.replayable,
            self.group,
            _listed(self.brands),
        )


@dataclass(frozen=True, slots=True)
class Page:
    items: list[dict[str, Any]]
    matching: int
    """All that match, on whatever page."""
    open: int
    """All open ones, whatever the filter."""
    now: datetime
    """By the database's clock."""


async def open_by_queue(connection: Connection) -> dict[str, float]:
    """How many dead letters of each queue wait for a decision; every queue there is has a number."""
    rows = await connection.fetch(
        "select queue, count(*) as waiting from dead_messages where state = 'open' group by queue"
    )
    return dict.fromkeys(work_queues(CATALOGUE), 0.0) | {row["queue"]: float(row["waiting"]) for row in rows}


async def page(connection: Connection, wanted: Filter, *, limit: int, before: UUID | None) -> Page | None:
    """Up to `limit` dead letters, newest first, that come after `before` in that order; None if there is no `before`."""
    position = None
    if before is not None:
        position = await connection.fetchrow(
            "select recorded_at, id from dead_messages where id = $1 and ($2::text[] is null or brand_slug = any ($2))",
            before,
            _listed(wanted.brands),
        )
        if position is None:
            return None
    counts = await connection.fetchrow(
        "select now() as now,"  # noqa: S608 - constants
        " (select count(*) from dead_messages where state = 'open' and ($7::text[] is null or brand_slug = any ($7))) as open,"
        f" (select count(*) from dead_messages d where {_MATCHING}) as matching",
        *wanted.values(),
    )
    assert counts is not None
    rows = await connection.fetch(
        f"select {_SUMMARY} from dead_messages d where {_MATCHING}"  # noqa: S608 - constants
        " and ($8::timestamptz is null or (d.recorded_at, d.id) < ($8, $9::uuid))"
        " order by d.recorded_at desc, d.id desc limit $10",
        *wanted.values(),
        None if position is None else position["recorded_at"],
        before,
        limit,
    )
    return Page([dict(row) for row in rows], counts["matching"], counts["open"], counts["now"])


async def one(
    connection: Connection, dead: UUID, brands: Collection[str] | None = None
) -> Mapping[str, Any] | None:
    """A dead letter with stack, headers and the first `READABLE_BYTES` of its body."""
    row = await connection.fetchrow(
        f"select {_SUMMARY}, d.stack, d.headers, octet_length(d.payload) as payload_bytes,"  # noqa: S608 - constants
        " substring(d.payload from 1 for $2) as payload from dead_messages d"
        " where d.id = $1 and ($3::text[] is null or d.brand_slug = any ($3))",
        dead,
        READABLE_BYTES,
        _listed(brands),
    )
    return None if row is None else {**row, "headers": json.loads(row["headers"])}


async def outcomes(
    connection: Connection, dead: Sequence[UUID], brands: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """How these stand; unknown ones are left out."""
    rows = await connection.fetch(
        "select d.id, d.state, d.resolution,"
        " (select n.id from dead_messages n where n.replay_of = d.id order by n.recorded_at desc limit 1) as replaced_by"
        " from dead_messages d where d.id = any($1) and ($2::text[] is null or d.brand_slug = any ($2))",
        dead,
        _listed(brands),
    )
    return [dict(row) for row in rows]


async def alike(connection: Connection, wanted: Filter, *, limit: int) -> list[dict[str, Any]]:
    """Like failures together; the largest group first."""
    rows = await connection.fetch(
        f'select {groups.ID} as "group", {groups.FACTS}, count(*) as count,'  # noqa: S608 - constants
        " array_remove(array_agg(distinct d.type), null) as types, min(d.failed_at) as first_failed_at,"
        " max(d.failed_at) as last_failed_at, (array_agg(d.id order by d.recorded_at desc, d.id))[1] as newest_id,"
        " (array_agg(d.detail order by d.recorded_at desc, d.id))[1] as newest_detail"
        f" from dead_messages d where {_MATCHING}"
        f" group by {groups.FACTS} order by count(*) desc, max(d.failed_at) desc, d.queue limit $8",
        *wanted.values(),
        limit,
    )
    return [dict(row) for row in rows]


async def waiting_alike(connection: Connection, *, limit: int) -> list[dict[str, Any]]:
    """Like failures of a brand together that have not come to an end, those included that are sent again; the largest group first."""
    rows = await connection.fetch(
        f'select {groups.ID} as "group", {groups.FACTS}, d.brand_slug, count(*) as count,'  # noqa: S608 - constants
        " array_remove(array_agg(distinct d.type), null) as types"
        " from dead_messages d where d.state in ('open', 'replaying')"
        f" group by {groups.FACTS}, d.brand_slug order by count(*) desc, d.queue, d.brand_slug limit $1",
        limit,
    )
    return [dict(row) for row in rows]


def _listed(brands: Collection[str] | None) -> list[str] | None:
    return None if brands is None else list(brands)
