"""The outbox: rows of outgoing messages. Transactions write them, the relay publishes and deletes them.

All times are the database's: a service's own clock may be wrong.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from chassis.database.pool import Connection
from envelope import Message, encode, new_event_id
from messaging.topology import DEAD_LETTERS, RETURNS

HeaderValues = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One outgoing message."""

    exchange: str
    routing_key: str
    event_id: UUID
    type: str
    correlation_id: str | None
    body: bytes
    headers: HeaderValues = field(default_factory=dict)
    delay: timedelta = timedelta()
    """From the moment of the insert, by the database's clock."""
    id: UUID = field(default_factory=new_event_id)
    publish_attempts: int = 0


def row_for(
    message: Message,
    exchange: str,
    routing_key: str,
    *,
    headers: HeaderValues | None = None,
    delay: timedelta = timedelta(),
) -> OutboxRow:
    """Builds the row of a message for an exchange.

    Raises:
        MessageTooLargeError: it exceeds the size limit.
    """
    return OutboxRow(
        exchange=exchange,
        routing_key=routing_key,
        event_id=message.event_id,
        type=message.type,
        correlation_id=message.correlation_id,
        body=encode(message),
        headers=headers or {},
        delay=delay,
    )


def retry_row(row: OutboxRow, queue: str, *, headers: HeaderValues, delay: timedelta) -> OutboxRow:
    """Builds the row that returns a message to its own queue, later."""
    return OutboxRow(
        RETURNS, queue, row.event_id, row.type, row.correlation_id, row.body, row.headers | headers, delay
    )


def dead_letter_row(row: OutboxRow, queue: str, *, headers: HeaderValues) -> OutboxRow:
    """Builds the row that sends a message to the dead letters of its queue."""
    return OutboxRow(
        DEAD_LETTERS, queue, row.event_id, row.type, row.correlation_id, row.body, row.headers | headers
    )


async def insert(
    connection: Connection, rows: Sequence[OutboxRow], lease: UUID, lease_for: timedelta
) -> None:
    """Writes the rows; the writer leases those due at once and publishes them right after the commit."""
    await connection.execute(
        """
        insert into outbox (id, exchange, routing_key, event_id, type, correlation_id, body, headers,
                            deliver_at, due_at, lease)
        select id, exchange, routing_key, event_id, type, correlation_id, body, headers,
               clock_timestamp() + delay,
               clock_timestamp() + case when delay > interval '0' then delay else $11::interval end,
               case when delay > interval '0' then null else $10::uuid end
        from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::bytea[],
                    $8::json[], $9::interval[])
             as t (id, exchange, routing_key, event_id, type, correlation_id, body, headers, delay)
        """,
        [row.id for row in rows],
        [row.exchange for row in rows],
        [row.routing_key for row in rows],
        [row.event_id for row in rows],
        [row.type for row in rows],
        [row.correlation_id for row in rows],
        [row.body for row in rows],
        [json.dumps(row.headers) if row.headers else "{}" for row in rows],
        [row.delay for row in rows],
        lease,
        lease_for,
    )


async def claim(connection: Connection, limit: int, lease: UUID, lease_for: timedelta) -> list[OutboxRow]:
    """Leases up to `limit` due rows to the caller; skips rows that another caller is claiming."""
    records = await connection.fetch(
        """
        update outbox set due_at = clock_timestamp() + $3::interval, lease = $2, publish_attempts = publish_attempts + 1
        where id in (select id from outbox where due_at <= clock_timestamp()
                     order by due_at limit $1 for update skip locked)
        returning id, exchange, routing_key, event_id, type, correlation_id, body, headers, publish_attempts
        """,
        limit,
        lease,
        lease_for,
    )
    return [
        OutboxRow(
            exchange=record["exchange"],
            routing_key=record["routing_key"],
            event_id=record["event_id"],
            type=record["type"],
            correlation_id=record["correlation_id"],
            body=record["body"],
            headers=json.loads(record["headers"]),
            id=record["id"],
            publish_attempts=record["publish_attempts"],
        )
        for record in records
    ]


async def delete(connection: Connection, ids: Collection[UUID], lease: UUID) -> None:
    """Deletes published rows, unless their lease ran out and another relay has them."""
    await connection.execute("delete from outbox where id = any($1::uuid[]) and lease = $2", list(ids), lease)


async def release(
    connection: Connection, ids: Collection[UUID], lease: UUID, *, after: timedelta, error: str
) -> None:
    """Ends the lease on rows that could not be published; they are due again after `after`."""
    await connection.execute(
        """
        update outbox set due_at = clock_timestamp() + $3::interval, lease = null, last_error = $4
        where id = any($1::uuid[]) and lease = $2
        """,
        list(ids),
        lease,
        after,
        error,
    )


@dataclass(frozen=True, slots=True)
class OutboxBacklog:
    """The number of overdue rows in the outbox, and the time to the next one."""

    overdue: int
    """Rows past their delivery time, counted up to the given limit."""
    next_due: timedelta | None
    """Time to the next row that may be claimed (0 or less: now); None if the outbox is empty."""


async def measure_backlog(connection: Connection, count_up_to: int, lease_for: timedelta) -> OutboxBacklog:
    record = await connection.fetchrow(
        """
        select (select count(*) from (select 1 from outbox
                                      where due_at <= clock_timestamp() + $2::interval
                                        and deliver_at <= clock_timestamp() limit $1) as rows) as overdue,
               (select min(due_at) from outbox) - clock_timestamp() as next_due
        """,
        count_up_to,
        lease_for,
    )
    assert record is not None
    return OutboxBacklog(overdue=record["overdue"], next_due=record["next_due"])


async def cancel(connection: Connection, event_id: UUID, *, before: datetime | None = None) -> bool:
    """Deletes a delayed message or waiting retry; returns False if it was sent already, or is due before `before`."""
    status = await connection.execute(
        "delete from outbox where event_id = $1 and lease is null and ($2::timestamptz is null or deliver_at >= $2)",
        event_id,
        before,
    )
    return status != "DELETE 0"
