"""Messages that are in a handler now: each process writes down its own, and renews that every few seconds."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chassis.database.pool import Connection

LEASE: Final = timedelta(seconds=15)
"""For how long a process counts as alive without renewing its row."""
MOST_LISTED: Final = 500
"""Messages in a list, and of one process."""
MOST_HELD: Final = 5000
"""Messages that a process holds, at most; the broker gives it no more than a few hundred of each queue."""


@dataclass(frozen=True, slots=True)
class HandlerRun:
    """A message in a handler of this process."""

    event_id: UUID
    type: str
    queue: str
    correlation_id: str | None
    attempt: int
    age: timedelta
    """Since its handler began."""


@dataclass(frozen=True, slots=True)
class RunningMessage:
    event_id: UUID
    type: str
    queue: str
    correlation_id: str | None
    attempt: int
    since: datetime
    """By the clock of the database."""
    host: str
    pid: int
    process_started_at: datetime
    seen_at: datetime
    """When its process last renewed its row."""
    is_orphaned: bool
    """Whether the process has not done so for longer than `LEASE`."""


@dataclass(frozen=True, slots=True)
class RunningList:
    items: tuple[RunningMessage, ...]
    now: datetime


async def renew(
    connection: Connection,
    process: UUID,
    host: str,
    pid: int,
    messages: Sequence[HandlerRun],
    held: Sequence[UUID] = (),
) -> None:
    """Writes down the messages in the handlers of a process, the longest running first, `MOST_LISTED` at most, and those it holds."""
    oldest = sorted(messages, key=lambda each: each.age, reverse=True)[:MOST_LISTED]
    rows = [
        {
            "event_id": str(each.event_id),
            "type": each.type,
            "queue": each.queue,
            "correlation_id": each.correlation_id,
            "attempt": each.attempt,
            "age": each.age.total_seconds(),
        }
        for each in oldest
    ]
    await connection.execute(
        """
        insert into running_messages (process, host, pid, seen_at, messages, held)
        values ($1, $2, $3, clock_timestamp(), $4::text::jsonb, $5)
        on conflict (process) do update
        set seen_at = excluded.seen_at, messages = excluded.messages, held = excluded.held
        """,
        process,
        host,
        pid,
        json.dumps(rows),
        list(held[:MOST_HELD]),
    )


async def clear(connection: Connection, process: UUID) -> None:
    """Removes the row of a process that has no message for long."""
    await connection.execute("delete from running_messages where process = $1", process)


async def forget_old(connection: Connection) -> None:
    """Removes rows of processes that died a week ago, whose messages have an outcome by now."""
    await connection.execute("delete from running_messages where seen_at < now() - interval '7 days'")


async def find(connection: Connection, correlation_id: str | None = None) -> RunningList:
    """Returns the messages in handlers of all processes, or those of a chain, the longest running first, `MOST_LISTED` at most.

    A message of a process that has died is left out once it has an outcome, or is in a handler of another process.
    """
    rows = await connection.fetch(
        """
        with found as (
            select process, host, pid, started_at, seen_at, seen_at < clock_timestamp() - $1::interval as is_orphaned,
                   (message ->> 'event_id')::uuid as event_id, message ->> 'type' as type, message ->> 'queue' as queue,
                   message ->> 'correlation_id' as correlation_id, (message ->> 'attempt')::integer as attempt,
                   seen_at - make_interval(secs => (message ->> 'age')::float8) as since
            from running_messages cross join jsonb_array_elements(messages) as message
            where $3::text is null or message ->> 'correlation_id' = $3
        )
        select * from found as one
        where not is_orphaned or not (
            exists (select from processed_events where event_id = one.event_id)
            or exists (select from found as other where other.event_id = one.event_id and other.queue = one.queue
                         and (other.seen_at, other.process) > (one.seen_at, one.process))
        )
        order by since, event_id limit $2
        """,
        LEASE,
        MOST_LISTED,
        correlation_id,
    )
    now = await connection.fetchval("select clock_timestamp()")
    items = (
        RunningMessage(
            event_id=row["event_id"],
            type=row["type"],
            queue=row["queue"],
            correlation_id=row["correlation_id"],
            attempt=row["attempt"],
            since=row["since"],
            host=row["host"],
            pid=row["pid"],
            process_started_at=row["started_at"],
            seen_at=row["seen_at"],
            is_orphaned=row["is_orphaned"],
        )
        for row in rows
    )
    return RunningList(tuple(items), now)
