"""Queries over dead letters: pages, and one in full."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from chassis import Connection
from envelope.brand import CATALOGUE
from messaging.topology import work_queues
from monitor.dead_letters.domain import DeadLetterState
from monitor.dead_letters.filtering import GROUP_ID, DeadLetterFilter, Table, bounded_search

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
    find = _look_up if wanted.is_indexed else _search
    items, matching, now = await find(connection, wanted, limit=limit, place=place)
    waiting = matching if wanted == opened else (await _count(connection, opened))[0]
    return DeadLetterRows(items, matching, waiting, now)


async def _look_up(
    connection: Connection, wanted: DeadLetterFilter, *, limit: int, place: tuple[datetime, UUID] | None
) -> tuple[list[dict[str, Any]], int, datetime]:
    """A page, the number of matches and the time, each by its own index."""
    # Counted first: decisions about all that match end at this time.
    matching, now = await _count(connection, wanted)
    where, values = wanted.condition()
    n = len(values)
    rows = await connection.fetch(
        f"select {_SUMMARY} from dead_messages d where {where}"  # noqa: S608 - constants
        + (f" and (d.recorded_at, d.id) < (${n + 2}::timestamptz, ${n + 3}::uuid)" if place else "")
        + f" order by d.recorded_at desc, d.id desc limit ${n + 1}",
        *values,
        limit,
        *(place or ()),
    )
    return [dict(row) for row in rows], matching, now


async def _search(
    connection: Connection, wanted: DeadLetterFilter, *, limit: int, place: tuple[datetime, UUID] | None
) -> tuple[list[dict[str, Any]], int, datetime]:
    """As `_look_up`; reads all that may match once, for the page and for the number of matches.

    Raises:
        SearchTooSlowError: it took too long.
    """
    table = wanted.searched_table
    where, values = wanted.condition(table)
    n = len(values)
    before = f" where (recorded_at, id) < (${n + 2}::timestamptz, ${n + 3}::uuid)" if place else ""
    async with connection.transaction(), bounded_search(connection, is_search=wanted.is_search):
        found = await connection.fetchrow(
            f"with found as materialized (select d.id, d.recorded_at from {table.value} d where {where})"  # noqa: S608
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


async def _count(connection: Connection, wanted: DeadLetterFilter) -> tuple[int, datetime]:
    """The number of matches, and the time."""
    # The open ones have an index of their own, which is counted without any table.
    table = Table.LETTERS if wanted.state == DeadLetterState.OPEN else wanted.searched_table
    where, values = wanted.condition(table)
    row = await connection.fetchrow(
        f"select now() as now, (select count(*) from {table.value} d where {where}) as matching",  # noqa: S608 - constants
        *values,
    )
    assert row is not None
    return row["matching"], row["now"]


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


def _listed(brands: Collection[str] | None) -> list[str] | None:
    return None if brands is None else list(brands)
