"""The inbox: `processed_events` has a row for every message with a final outcome in this service."""

from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple
from uuid import UUID

from asyncpg.pgproto.pgproto import UUID as FastUUID  # noqa: N811  (reads a text ten times as fast as the class above)

from chassis.database.pool import Connection

Outcome = Literal["handled", "dead"]


class InboxRow(NamedTuple):
    event_id: UUID
    type: str
    outcome: Outcome
    correlation_id: str | None = None
    caused_by: UUID | None = None
    """The message whose handling sent this one."""


class Chain(NamedTuple):
    """The two columns of a correlation id."""

    id: UUID
    text: str | None
    """None if the id says all."""


def chain_of(correlation_id: str) -> Chain:
    """Returns a correlation id as it is stored."""
    try:
        found = FastUUID(correlation_id)
    except ValueError:
        pass
    else:
        if str(found) == correlation_id:
            return Chain(found, None)
    return Chain(UUID(bytes=blake2b(correlation_id.encode(), digest_size=16).digest()), correlation_id)


_NO_CHAIN = (None, None)


async def insert(connection: Connection, queue: str, rows: Sequence[InboxRow]) -> set[UUID]:
    """Claims the messages in the running transaction and returns their ids; the others are duplicates.

    The ids are of asyncpg's own class, which hashes and compares as `uuid.UUID` does.

    A concurrent transaction that claims the same message waits until this one has ended. Rows are inserted in order, so that two such
    transactions cannot deadlock.
    """
    ordered = sorted(rows, key=lambda row: row.event_id.int)
    event_ids = [row.event_id for row in ordered]
    chains = [_NO_CHAIN if row.correlation_id is None else chain_of(row.correlation_id) for row in ordered]
    chain_ids = [chain[0] for chain in chains]
    causes = [row.caused_by for row in ordered]
    kinds = {(row.type, row.outcome) for row in rows}
    if len(kinds) == 1 and not any(chain[1] for chain in chains):
        # As nearly all batches are. Every element of an array costs the driver more than one value for all of them.
        ((type_, outcome),) = kinds
        fresh = await connection.fetch(
            """
            insert into processed_events (event_id, type, queue, outcome, chain, caused_by)
            select event_id, $2, $4, $3, chain, caused_by
            from unnest($1::uuid[], $5::uuid[], $6::uuid[]) as t (event_id, chain, caused_by)
            on conflict do nothing
            returning event_id
            """,
            event_ids,
            type_,
            outcome,
            queue,
            chain_ids,
            causes,
        )
    else:
        fresh = await connection.fetch(
            """
            insert into processed_events (event_id, type, queue, outcome, chain, correlation_id, caused_by)
            select event_id, type, $4, outcome, chain, correlation_id, caused_by
            from unnest($1::uuid[], $2::text[], $3::text[], $5::uuid[], $6::text[], $7::uuid[])
                 as t (event_id, type, outcome, chain, correlation_id, caused_by)
            on conflict do nothing
            returning event_id
            """,
            event_ids,
            [row.type for row in ordered],
            [row.outcome for row in ordered],
            queue,
            chain_ids,
            [chain[1] for chain in chains],
            causes,
        )
    return {record["event_id"] for record in fresh}


async def mark_dead(connection: Connection, event_ids: Collection[UUID]) -> None:
    """Marks messages dead whose handler failed them for good after this transaction claimed them."""
    await connection.execute(
        "update processed_events set outcome = 'dead' where event_id = any($1::uuid[])", list(event_ids)
    )


async def release(connection: Connection, event_ids: Collection[UUID]) -> None:
    """Releases messages whose handler asked for a retry after this transaction claimed them."""
    await connection.execute("delete from processed_events where event_id = any($1::uuid[])", list(event_ids))


async def find_handled(connection: Connection, event_ids: Collection[UUID]) -> set[UUID]:
    """The messages that have an outcome already. It only saves slow work; `insert` decides."""
    rows = await connection.fetch(
        "select event_id from processed_events where event_id = any($1::uuid[])", list(event_ids)
    )
    return {row["event_id"] for row in rows}
