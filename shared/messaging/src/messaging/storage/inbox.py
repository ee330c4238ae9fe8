"""The inbox: `processed_events` has a row for every message that reached a final outcome in this service."""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple
from uuid import UUID

from chassis.database.pool import Connection

Outcome = Literal["handled", "dead"]


class InboxRow(NamedTuple):
    event_id: UUID
    type: str
    outcome: Outcome


async def insert(connection: Connection, queue: str, rows: Sequence[InboxRow]) -> set[UUID]:
    """Claims the messages within the running transaction; those not returned are duplicates.

    The identities returned are of asyncpg's own class, which hashes and compares as `uuid.UUID` does.

    A concurrent transaction that claims the same message waits here until this one has ended. Rows go in sorted, so
    that two such transactions cannot wait for each other.
    """
    ordered = sorted(rows, key=lambda row: row.event_id.int)
    event_ids = [row.event_id for row in ordered]
    kinds = {(row.type, row.outcome) for row in rows}
    if len(kinds) == 1:
        # As nearly all batches are. Every element of an array costs the driver more than one value for all of them.
        ((type_, outcome),) = kinds
        fresh = await connection.fetch(
            """
            insert into processed_events (event_id, type, queue, outcome)
            select event_id, $2, $4, $3 from unnest($1::uuid[]) as t (event_id)
            on conflict do nothing
            returning event_id
            """,
            event_ids,
            type_,
            outcome,
            queue,
        )
    else:
        fresh = await connection.fetch(
            """
            insert into processed_events (event_id, type, queue, outcome)
            select event_id, type, $4, outcome from unnest($1::uuid[], $2::text[], $3::text[]) as t (event_id, type, outcome)
            on conflict do nothing
            returning event_id
            """,
            event_ids,
            [row.type for row in ordered],
            [row.outcome for row in ordered],
            queue,
        )
    return {record["event_id"] for record in fresh}


async def mark_dead(connection: Connection, event_ids: Collection[UUID]) -> None:
    """For messages claimed in this transaction whose handler then named them hopeless."""
    await connection.execute(
        "update processed_events set outcome = 'dead' where event_id = any($1::uuid[])", list(event_ids)
    )


async def release(connection: Connection, event_ids: Collection[UUID]) -> None:
    """For messages claimed in this transaction whose handler then asked to try again later."""
    await connection.execute("delete from processed_events where event_id = any($1::uuid[])", list(event_ids))


async def find_handled(connection: Connection, event_ids: Collection[UUID]) -> set[UUID]:
    """Those that have an outcome already. A hint that saves slow work; only `insert` decides."""
    rows = await connection.fetch(
        "select event_id from processed_events where event_id = any($1::uuid[])", list(event_ids)
    )
    return {row["event_id"] for row in rows}
