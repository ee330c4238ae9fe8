"""Finding the message that kills its consumer (out of memory, a native fault).

The broker cannot know which one it was: it counts a delivery for every prefetched neighbour too. So a message that keeps
coming back is a suspect and handled alone, under a marker row that its outcome deletes. A marker that keeps coming back
tells.
"""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from chassis.database.pool import Connection
from messaging import headers as header

MAX_RETURNS: Final = 1
"""Returns to the queue that make no suspect: after an outage or a deployment everything in hand comes back once."""
MAX_STARTS: Final = 3
"""Starts without an outcome before the message is dead-lettered."""
VERDICT_PAUSE: Final = 5.0
"""Seconds before it is: whoever started last may be alive, and takes its start back once the database lets it."""


def is_suspect(headers: header.Headers, *, redelivered: bool) -> bool:
    """Whether it may be what killed its consumer. Where the broker does not count, every redelivered message may."""
    if not redelivered:
        return False
    none_counted = 0 if header.BROKER_ACQUISITIONS in headers else None
    returns = headers.get(header.BROKER_RETURNS, none_counted)
    return not isinstance(returns, int) or returns > MAX_RETURNS


async def try_lock(connection: Connection, queue: str, event_id: UUID) -> bool:
    """Whether the message is the caller's alone until the running transaction ends.

    A replica that lost the broker but not its mind is still at work on what the broker has given to another: its start
    is no crash. Its turn ends with its work, or with its connection.
    """
    turn = await connection.fetchval(
        "select pg_try_advisory_xact_lock(hashtextextended($1, 0))", f"suspect {queue} {event_id}"
    )
    return bool(turn)


async def starts(connection: Connection, queue: str, event_id: UUID) -> int:
    """How many starts have had no outcome."""
    found = await connection.fetchval(
        "select starts from crash_markers where queue = $1 and event_id = $2", queue, event_id
    )
    return found or 0


async def mark(connection: Connection, queue: str, event_id: UUID) -> int:
    """Notes a start; returns how many starts before this one had no outcome."""
    earlier = await connection.fetchval(
        """
        insert into crash_markers as marker (queue, event_id, starts) values ($1, $2, 1)
        on conflict (queue, event_id) do update set starts = marker.starts + 1, started_at = now()
        returning starts - 1
        """,
        queue,
        event_id,
    )
    assert isinstance(earlier, int)
    return earlier


async def clear(connection: Connection, queue: str, event_ids: Collection[UUID]) -> None:
    """Removes the markers of messages that have an outcome."""
    await connection.execute(
        "delete from crash_markers where queue = $1 and event_id = any($2::uuid[])", queue, list(event_ids)
    )


async def unmark(connection: Connection, queue: str, event_ids: Collection[UUID]) -> None:
    """Takes one start back: the attempt ended without an outcome, but nothing crashed."""
    await connection.execute(
        """
        with last as (delete from crash_markers where queue = $1 and event_id = any($2::uuid[]) and starts <= 1)
        update crash_markers set starts = starts - 1 where queue = $1 and event_id = any($2::uuid[]) and starts > 1
        """,
        queue,
        list(event_ids),
    )


async def forget_old(connection: Connection) -> None:
    """Removes markers of messages that another consumer must have finished long ago."""
    await connection.execute("delete from crash_markers where started_at < now() - interval '7 days'")
