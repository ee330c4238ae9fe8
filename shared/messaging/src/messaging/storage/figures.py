"""Figures of a week: what became of messages by minute and hour, and how long they waited and were worked on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from chassis.database.pool import Connection
from messaging.storage import partitions

KEPT: Final = partitions.RETENTION + timedelta(hours=1)
BUCKETS: Final = 19
"""Of a histogram of seconds; a stored row with fewer or more of them is of another version."""
RATED_MINUTES: Final = 5
_MINUTE: Final = timedelta(minutes=1)
_WRITTEN_AFTER: Final = timedelta(seconds=40)
"""A process writes the last figures of a minute, and the depth at the beginning of the next one, at most so long after its end."""
_DELETED_AT_ONCE: Final = 5000


class MinuteRow(NamedTuple):
    """What one process has done in a minute with messages of a queue."""

    minute: datetime
    queue: str
    handled: int
    retried: int
    set_aside: int
    dead: int
    ready: int | None


class HourRow(NamedTuple):
    """What one process has done in an hour with messages of a type."""

    hour: datetime
    queue: str
    type: str
    handled: int
    retried: int
    set_aside: int
    dead: int
    waited: tuple[int, ...]
    waited_longest: float
    worked: tuple[int, ...]
    worked_longest: float


async def write(
    connection: Connection, process: UUID, minutes: Sequence[MinuteRow], hours: Sequence[HourRow]
) -> None:
    """Replaces the rows of a process; so a call whose answer was lost may be repeated."""
    if minutes:
        await connection.executemany(
            """
            insert into message_minutes (process, minute, queue, handled, retried, set_aside, dead, ready)
            values ($1, $2, $3, $4, $5, $6, $7, $8)
            on conflict (minute, process, queue) do update set
                handled = excluded.handled, retried = excluded.retried, set_aside = excluded.set_aside,
                dead = excluded.dead, ready = excluded.ready
            """,
            [(process, *row) for row in minutes],
        )
    if hours:
        await connection.executemany(
            """
            insert into message_hours (process, hour, queue, type, handled, retried, set_aside, dead,
                                       waited, waited_longest, worked, worked_longest)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            on conflict (hour, process, queue, type) do update set
                handled = excluded.handled, retried = excluded.retried, set_aside = excluded.set_aside,
                dead = excluded.dead, waited = excluded.waited, waited_longest = excluded.waited_longest,
                worked = excluded.worked, worked_longest = excluded.worked_longest
            """,
            [(process, *row) for row in hours],
        )


async def forget_old(connection: Connection) -> None:
    """Deletes figures that are older than the inbox."""
    for table, column in (("message_minutes", "minute"), ("message_hours", "hour")):
        deleted = _DELETED_AT_ONCE
        while deleted == _DELETED_AT_ONCE:
            status: str = await connection.execute(
                f"""
                delete from {table} where ctid = any (array(
                    select ctid from {table} where {column} < now() - $1::interval order by {column} limit $2
                ))
                """,  # noqa: S608  (names from above)
                KEPT,
                _DELETED_AT_ONCE,
            )
            deleted = int(status.rpartition(" ")[2])


@dataclass(frozen=True, slots=True)
class MinuteFigures:
    """What all processes have done in a minute with messages of a queue."""

    minute: datetime
    queue: str
    handled: int
    retried: int
    set_aside: int
    dead: int
    ready: int | None
    """Messages in the queue at the beginning of the minute; None: unknown."""


@dataclass(frozen=True, slots=True)
class QueueRates:
    """Messages in a minute."""

    arrived: float | None
    """None: unknown."""
    left: float


NO_RATES: Final = QueueRates(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class HourFigures:
    """What all processes have done in an hour with messages of a type."""

    hour: datetime
    queue: str
    type: str
    handled: int
    retried: int
    set_aside: int
    dead: int


@dataclass(frozen=True, slots=True)
class TypeTimes:
    """How long messages of a type waited, and their handlers worked, as `message_hours` has it."""

    queue: str
    type: str
    waited: Sequence[int]
    waited_longest: float
    worked: Sequence[int]
    worked_longest: float


async def minutes(connection: Connection, since: datetime, until: datetime) -> list[MinuteFigures]:
    """Returns the minutes in which something was done, or a depth was noted, the oldest first."""
    rows = await connection.fetch(
        """
        select minute, queue, sum(handled)::bigint as handled, sum(retried)::bigint as retried,
               sum(set_aside)::bigint as set_aside, sum(dead)::bigint as dead, max(ready) as ready
        from message_minutes where minute >= $1 and minute < $2
        group by minute, queue order by minute, queue
        """,
        since,
        until,
    )
    return [MinuteFigures(**row) for row in rows]


async def rates(connection: Connection, now: datetime) -> dict[str, QueueRates]:
    """Returns the rates of queues with messages in five minutes whose figures are written by now."""
    until = (now - _WRITTEN_AFTER).replace(second=0, microsecond=0)
    since = until - RATED_MINUTES * _MINUTE
    found = await minutes(connection, since, until + _MINUTE)
    left: Counter[str] = Counter()
    depths: dict[tuple[str, datetime], int | None] = {}
    for each in found:
        depths[each.queue, each.minute] = each.ready
        if each.minute < until:
            left[each.queue] += each.handled + each.retried + each.set_aside + each.dead
    rated: dict[str, QueueRates] = {}
    for queue in {each.queue for each in found}:
        # A minute with messages in the queue has a row.
        first, last = depths.get((queue, since), 0), depths.get((queue, until), 0)
        arrived = None if first is None or last is None else max(0, left[queue] + last - first)
        rated[queue] = QueueRates(
            None if arrived is None else arrived / RATED_MINUTES, left[queue] / RATED_MINUTES
        )
    return rated


async def hours(connection: Connection, since: datetime, until: datetime) -> list[HourFigures]:
    """Returns the hours in which something was done, the oldest first."""
    rows = await connection.fetch(
        """
        select hour, queue, type, sum(handled)::bigint as handled, sum(retried)::bigint as retried,
               sum(set_aside)::bigint as set_aside, sum(dead)::bigint as dead
        from message_hours where hour >= $1 and hour < $2
        group by hour, queue, type order by hour, queue, type
        """,
        since,
        until,
    )
    return [HourFigures(**row) for row in rows]


async def times(connection: Connection, since: datetime, until: datetime) -> list[TypeTimes]:
    """Returns how long messages waited and were worked on in these hours, by queue and type."""
    rows = await connection.fetch(
        f"""
        select queue, type, {_sums("waited")}, max(waited_longest) as waited_longest,
               {_sums("worked")}, max(worked_longest) as worked_longest
        from message_hours where hour >= $1 and hour < $2
        group by queue, type order by queue, type
        """,  # noqa: S608  (columns only)
        since,
        until,
    )
    return [TypeTimes(**row) for row in rows]


def _sums(column: str) -> str:
    """The sum of arrays, place by place: ten times as fast as unnesting them."""
    sums = ", ".join(f"coalesce(sum({column}[{place}]), 0)::bigint" for place in range(1, BUCKETS + 1))
    return f"array[{sums}] as {column}"


async def kept_since(connection: Connection) -> datetime | None:
    """Returns the hour of the oldest figures; None: there are none."""
    found: datetime | None = await connection.fetchval("select hour from message_hours order by hour limit 1")
    return found
