"""Finds the message that kills its consumer (out of memory, a native fault).

The broker counts a delivery for every prefetched neighbour too, and so cannot tell which message it was. A message that keeps
returning is therefore a suspect: it is handled alone, under a marker row that its outcome deletes. A marker that keeps returning
identifies the message.
"""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from chassis.database.pool import Connection
from messaging import headers as header

MAX_RETURNS: Final = 1
"""Returns that are normal: after an outage or a deployment every unsettled delivery returns once."""
MAX_STARTS: Final = 3
"""Starts without an outcome before the message is dead-lettered."""
VERDICT_PAUSE: Final = 5.0
"""Seconds before that: a replica that started the message last may be alive, and removes its start once it reaches the database."""


def is_suspect(headers: header.Headers, *, redelivered: bool) -> bool:
    """Whether the message may have killed its consumer. If the broker does not count, every redelivered message may."""
    if not redelivered:
        return False
    none_counted = 0 if header.BROKER_ACQUISITIONS in headers else None
    returns = headers.get(header.BROKER_RETURNS, none_counted)
    return not isinstance(returns, int) or returns > MAX_RETURNS


async def try_lock(connection: Connection, queue: str, event_id: UUID) -> bool:
    """Locks the message for the caller until the running transaction ends; returns False if another replica holds it.

    A replica that has lost only the broker still works on messages that the broker has given to another. Its start is no crash. Its lock
    ends with its work or its connection.
    """
    turn = await connection.fetchval(
        "select pg_try_advisory_xact_lock(hashtextextended($1, 0))", f"suspect {queue} {event_id}"
    )
    return bool(turn)


async def starts(connection: Connection, queue: str, event_id: UUID) -> int:
    """The number of starts without an outcome."""
    found = await connection.fetchval(
        "select starts from crash_markers where queue = $1 and event_id = $2", queue, event_id
    )
    return found or 0


async def mark(connection: Connection, queue: str, event_id: UUID) -> int:
    """Records a start; returns the number of earlier starts without an outcome."""
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
    """Removes one start of each: the attempt ended without an outcome and without a crash."""
    await connection.execute(
        """
        with last as (delete from crash_markers where queue = $1 and event_id = any($2::uuid[]) and starts <= 1)
        update crash_markers set starts = starts - 1 where queue = $1 and event_id = any($2::uuid[]) and starts > 1
        """,
        queue,
        list(event_ids),
    )


async def forget_old(connection: Connection) -> None:
    """Removes markers of messages that another consumer finished long ago."""
    await connection.execute("delete from crash_markers where started_at < now() - interval '7 days'")
