"""SQL of the log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from chassis import Connection
from envelope import DomainMessage
from events.log.domain import EventFilter, LoggedEvent, LogPage

SCANNED: Final = 5_000
"""Events that one page looks at, at most, for those that it wants: reading entries of an index, some milliseconds."""
_SCANNED_FIRST: Final = 4
"""Entries for each wanted event that are read at first: most often one in four is wanted, and the others need not be read."""
_LEAST_SCANNED: Final = 200
_MOST_BRANDS: Final = 50
"""Brands for each of which its own part of the index is read; for more, all events are looked through."""
_COLUMNS: Final = (
    "e.position, e.event_id, e.type, e.source, e.brand_slug, e.correlation_id, e.causation_id, e.happened_at,"
    " e.payload::text as payload"
)


@dataclass(frozen=True, slots=True)
class LogHead:
    position: int
    """Of the newest event."""
    forgotten: int
    """Events up to here are forgotten."""


async def append(connection: Connection, messages: Sequence[DomainMessage[Any]]) -> None:
    """Stores events after all others. Other transactions that store some wait until this one ends."""
    if not messages:
        return
    # The head's row is locked before any event gets its time, so that times follow positions.
    await connection.execute(
        """
        with head as (update log_head set position = position + $1 returning position - $1 as before)
        insert into events (position, recorded_at, event_id, type, source, brand_slug, correlation_id, causation_id, happened_at, payload)
        select before + row_number() over (order by n), clock_timestamp(), event_id, type, source, brand_slug, correlation_id, causation_id,
               happened_at, payload::json
        from head, unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::timestamptz[], $9::text[])
             with ordinality as e (event_id, type, source, brand_slug, correlation_id, causation_id, happened_at, payload, n)
        """,
        len(messages),
        [each.event_id for each in messages],
        [each.type for each in messages],
        [each.source for each in messages],
        [getattr(each.payload, "brand_slug", None) for each in messages],
        [each.correlation_id for each in messages],
        [each.causation_id for each in messages],
        [each.timestamp for each in messages],
        [each.payload.model_dump_json() for each in messages],
    )


async def read_head(connection: Connection) -> LogHead:
    row = await connection.fetchrow("select position, forgotten from log_head")
    assert row is not None
    return LogHead(row["position"], row["forgotten"])


async def position_at(connection: Connection, moment: datetime) -> int:
    """The place before the first event that was stored at this time or later."""
    first = await connection.fetchval(
        "select min(position) from events where recorded_at >= $1 and recorded_at < $1 + interval '1 day'",
        moment,
    )
    if first is None:
        first = await connection.fetchval("select min(position) from events where recorded_at >= $1", moment)
    return int(first) - 1 if first is not None else (await read_head(connection)).position


async def read(connection: Connection, wanted: EventFilter, *, after: int, limit: int) -> LogPage:
    """Returns up to `limit` events that follow the position `after`, in order."""
    if wanted.brands == frozenset():
        return LogPage([], after, is_more=False)
    scanned = min(max(_SCANNED_FIRST * limit, _LEAST_SCANNED), SCANNED)
    page = await _read(connection, wanted, after=after, limit=limit, scanned=scanned)
    if not page.is_more or len(page.events) == limit or scanned == SCANNED:
        return page
    # As many as were asked for, so that one limit has one statement, which is planned once.
    rest = await _read(connection, wanted, after=page.position, limit=limit, scanned=SCANNED - scanned)
    events = page.events + rest.events
    if len(events) > limit:
        return LogPage(events[:limit], events[limit - 1].position, is_more=True)
    return LogPage(events, rest.position, is_more=rest.is_more)


async def _read(
    connection: Connection, wanted: EventFilter, *, after: int, limit: int, scanned: int
) -> LogPage:
    """As `read`, among the next `scanned` events."""
    scan, conditions, values = _scan(wanted, after)
    if not conditions:
        # One more than asked for shows whether there are others.
        scanned = limit + 1
    where = f"where {' and '.join(conditions)}" if conditions else ""
    found = await connection.fetchrow(
        f"with scanned as materialized ({scan.format(limit=scanned)}),"  # noqa: S608 - constants
        f" found as (select * from scanned {where} order by position limit {limit + 1})"
        " select (select count(*) from scanned) as scanned, (select max(position) from scanned) as last,"
        " array(select position from found order by position) as positions,"
        " (select min(recorded_at) from found) as since, (select max(recorded_at) from found) as until",
        *values,
    )
    assert found is not None
    if found["last"] is None:
        return LogPage([], after, is_more=False)
    positions: list[int] = found["positions"]
    events = await _fetch(connection, positions[:limit], found["since"], found["until"]) if positions else []
    if len(positions) > limit:
        return LogPage(events, positions[limit - 1], is_more=True)
    return LogPage(events, found["last"], is_more=found["scanned"] == scanned)


def _scan(wanted: EventFilter, after: int) -> tuple[str, list[str], list[Any]]:
    """SQL that reads index entries in order, conditions on them, and the values of both."""
    columns = "e.position, e.type, e.brand_slug, e.recorded_at"
    values: list[Any] = [after]
    conditions: list[str] = []

    def parameter(value: Any, kind: str) -> str:
        values.append(value)
        return f"${len(values)}::{kind}"

    brands = None if wanted.brands is None else sorted(wanted.brands)
    if wanted.types is not None:
        conditions.append(f"type = any ({parameter(sorted(wanted.types), 'text[]')})")
    if wanted.correlation_id is None and brands is not None and len(brands) <= _MOST_BRANDS:
        each = (
            f"select {columns} from events e where e.position > $1 and e.brand_slug = b.slug"  # noqa: S608 - constants
            " order by e.position limit {limit}"
        )
        scan = (
            f"select {columns} from unnest({parameter(brands, 'text[]')}) as b (slug) cross join lateral ({each}) e"  # noqa: S608
            " order by e.position limit {limit}"
        )
        return scan, conditions, values
    where = "e.position > $1"
    if wanted.correlation_id is not None:
        where += f" and e.correlation_id = {parameter(wanted.correlation_id, 'text')}"
    if brands is not None:
        conditions.append(f"brand_slug = any ({parameter(brands, 'text[]')})")
    scan = f"select {columns} from events e where {where} order by e.position"  # noqa: S608 - constants
    return scan + " limit {limit}", conditions, values


async def fetch(connection: Connection, positions: Sequence[int]) -> list[LoggedEvent]:
    """The events at these positions, in order; forgotten ones are left out."""
    rows = await connection.fetch(
        f"select {_COLUMNS} from events e where e.position = any ($1::bigint[]) order by e.position",  # noqa: S608 - constants
        positions,
    )
    return list(map(_event, rows))


async def _fetch(
    connection: Connection, positions: Sequence[int], since: datetime, until: datetime
) -> list[LoggedEvent]:
    """As `fetch`; the times name the days that are read."""
    rows = await connection.fetch(
        f"select {_COLUMNS} from events e where e.position = any ($1::bigint[]) and e.recorded_at between $2 and $3"  # noqa: S608
        " order by e.position",
        positions,
        since,
        until,
    )
    return list(map(_event, rows))


async def forget_brand(connection: Connection, brand: str) -> None:
    """Forgets that there were events of the brand; the caller has deleted them."""
    await connection.execute("delete from brand_heads where brand_slug = $1", brand)


async def maintain(connection: Connection, kept_days: int) -> None:
    """Makes the partitions of the coming days, and forgets the days that are over for so long."""
    await connection.execute("select maintain_events($1)", kept_days)
    # Brands without an event. Without waiting: who stores events holds rows of this table, too.
    await connection.execute(
        "delete from brand_heads where brand_slug in (select b.brand_slug from brand_heads b, log_head h"
        " where b.position <= h.forgotten for no key update of b skip locked)"
    )


def _event(row: Any) -> LoggedEvent:
    return LoggedEvent(
        position=row["position"],
        event_id=row["event_id"],
        type=row["type"],
        source=row["source"],
        brand=row["brand_slug"],
        correlation_id=row["correlation_id"],
        causation_id=row["causation_id"],
        happened_at=row["happened_at"],
        payload=row["payload"],
    )
