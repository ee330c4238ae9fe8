"""What has become of given messages in this service: their outcome, or where they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from chassis.database.pool import Connection
from messaging import headers as header
from messaging.storage import running
from messaging.topology import DEAD_LETTERS, RETURNS

MessageState = Literal["dead_lettered", "waiting", "running", "held", "unknown"]
"""`held`: a process has it from the broker, and its handler has not begun."""


@dataclass(frozen=True, slots=True)
class UnhandledMessage:
    event_id: UUID
    state: MessageState
    since: datetime | None = None
    """When its handler began."""
    due_at: datetime | None = None
    """When its next attempt may start."""
    is_unsent: bool = False
    """Whether it waits in the outbox for the broker: as a dead letter, or as a retry that is due."""


_DEAD: Final = "dead"


async def unhandled(connection: Connection, event_ids: Sequence[UUID], queue: str) -> list[UnhandledMessage]:
    """Returns those of the messages that have not been handled, with their state.

    Args:
        connection: to the service's database.
        event_ids: the messages.
        queue: the queue that they came to.
    """
    if not event_ids:
        return []
    # By its bounds, the database sees which partitions it need not look into.
    rows = await connection.fetch(
        """
        select event_id, outcome from processed_events
        where event_id = any($1::uuid[]) and event_id between $2 and $3
        """,
        event_ids,
        min(event_ids),
        max(event_ids),
    )
    outcomes = {row["event_id"]: row["outcome"] for row in rows}
    open_ones = [each for each in event_ids if outcomes.get(each) in {None, _DEAD}]
    if not open_ones:
        return []
    outgoing = await _outgoing(connection, open_ones)
    in_hand = await _in_hand(connection, open_ones, queue)
    return [
        _dead(each, outgoing.get(each))
        if outcomes.get(each) == _DEAD
        else in_hand.get(each) or outgoing.get(each) or UnhandledMessage(each, "unknown")
        for each in open_ones
    ]


def _dead(event_id: UUID, outgoing: UnhandledMessage | None) -> UnhandledMessage:
    return UnhandledMessage(event_id, "dead_lettered", is_unsent=outgoing is not None)


async def _outgoing(connection: Connection, event_ids: Sequence[UUID]) -> dict[UUID, UnhandledMessage]:
    """Those in the outbox as retries, or as dead letters that have not left."""
    rows = await connection.fetch(
        """
        select event_id, deliver_at, deliver_at < clock_timestamp() as is_due from outbox
        where event_id = any($1::uuid[]) and (exchange = $2 and headers ->> $3 is not null or exchange = $4)
        """,
        event_ids,
        RETURNS,
        header.ATTEMPT,
        DEAD_LETTERS,
    )
    return {
        row["event_id"]: UnhandledMessage(
            UUID(int=row["event_id"].int), "waiting", due_at=row["deliver_at"], is_unsent=row["is_due"]
        )
        for row in rows
    }


async def _in_hand(
    connection: Connection, event_ids: Sequence[UUID], queue: str
) -> dict[UUID, UnhandledMessage]:
    """Those that a living process has in a handler, or holds."""
    rows = await connection.fetch(
        """
        select (message ->> 'event_id')::uuid as event_id, seen_at - make_interval(secs => (message ->> 'age')::float8) as since
        from running_messages cross join jsonb_array_elements(messages) as message
        where seen_at > clock_timestamp() - $1::interval and message ->> 'queue' = $3
          and (message ->> 'event_id')::uuid = any($2::uuid[])
        """,
        running.LEASE,
        event_ids,
        queue,
    )
    found = {
        row["event_id"]: UnhandledMessage(UUID(int=row["event_id"].int), "running", since=row["since"])
        for row in rows
    }
    held = await connection.fetch(
        """
        select id from running_messages cross join unnest(held) as id
        where seen_at > clock_timestamp() - $1::interval and id = any($2::uuid[])
        """,
        running.LEASE,
        event_ids,
    )
    return {row["id"]: UnhandledMessage(UUID(int=row["id"].int), "held") for row in held} | found
