"""Queues whose consumers are paused: every process of the service, and every later one, takes nothing from them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chassis.database.pool import Connection


@dataclass(frozen=True, slots=True)
class QueuePause:
    """Who has paused a queue, when and why."""

    queue: str
    by: str
    reason: str
    since: datetime
    """By the clock of the database; no two pauses of a queue have the same."""


async def find(connection: Connection) -> dict[str, QueuePause]:
    """Returns the pauses by queue; a service has a handful of queues."""
    rows = await connection.fetch("select queue, paused_by, reason, paused_at from paused_queues")
    return {row["queue"]: _pause(row) for row in rows}


async def begin(connection: Connection, queue: str, *, by: str, reason: str) -> tuple[QueuePause, bool]:
    """Pauses a queue; returns the pause, and False if another one was there, which stays as it is."""
    row = await connection.fetchrow(
        """
        insert into paused_queues as present (queue, paused_by, reason) values ($1, $2, $3)
        on conflict (queue) do update set queue = present.queue
        returning queue, paused_by, reason, paused_at, xmax = 0 as is_new
        """,
        queue,
        by,
        reason,
    )
    assert row is not None
    return _pause(row), row["is_new"]


async def end(
    connection: Connection, queue: str, since: datetime | None = None
) -> tuple[QueuePause | None, bool]:
    """Ends the pause of a queue, or only the one that began then; returns the pause that is left, and whether one has ended."""
    ended = await connection.fetchval(
        """
        delete from paused_queues where queue = $1 and ($2::timestamptz is null or paused_at = $2) returning true
        """,
        queue,
        since,
    )
    return (await find(connection)).get(queue), bool(ended)


def _pause(row: Any) -> QueuePause:
    return QueuePause(row["queue"], row["paused_by"], row["reason"], row["paused_at"])
