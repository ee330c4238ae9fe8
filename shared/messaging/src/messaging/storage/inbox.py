"""The inbox: `processed_events` has a row for every message that reached a final outcome in this service."""

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from chassis.database.opening import Call, Prepared
from chassis.database.pool import Connection

Outcome = Literal["handled", "dead"]

FEW: Final = 32
"""Messages at most that are claimed by the statement a transaction begins with: of many, some will be duplicates."""
_PLAIN: Final = re.compile(r"[\w.-]+", re.ASCII)
_CLAIM: Final = Prepared(
    "claim_messages",
    "uuid[], text[], text",
    """
    insert into processed_events (event_id, type, queue, outcome)
    select event_id, type, $3, 'handled' from unnest($1, $2) as t (event_id, type)
    on conflict do nothing
    """,
)


@dataclass(frozen=True, slots=True)
class InboxRow:
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
    fresh = await connection.fetch(
        """
        insert into processed_events (event_id, type, queue, outcome)
        select event_id, type, $4, outcome from unnest($1::uuid[], $2::text[], $3::text[]) as t (event_id, type, outcome)
        on conflict do nothing
        returning event_id
        """,
        [row.event_id for row in ordered],
        [row.type for row in ordered],
        [row.outcome for row in ordered],
        queue,
    )
    return {record["event_id"] for record in fresh}


def claiming(queue: str, rows: Sequence[InboxRow]) -> Call | None:
    """`insert` as the statement that a transaction begins with, for a few messages that are to be handled; ask `claimed` then.

    None: they are not of that kind.
    """
    if not 0 < len(rows) <= FEW:
        return None
    if not all(row.outcome == "handled" and _PLAIN.fullmatch(row.type) for row in rows):
        return None
    if not _PLAIN.fullmatch(queue):
        return None
    ordered = sorted(rows, key=lambda row: row.event_id.int)
    ids, types = ",".join([row.event_id.hex for row in ordered]), ",".join([row.type for row in ordered])
    return Call(_CLAIM, f"'{{{ids}}}', '{{{types}}}', '{queue}'")


async def claimed(connection: Connection, event_ids: AbstractSet[UUID], rows: int) -> set[UUID]:
    """Those that the running transaction has claimed, having begun by inserting so many rows for them."""
    if rows == len(event_ids):
        return set(event_ids)
    if rows == 0:
        return set()
    found = await connection.fetch(
        """
        select event_id from processed_events
        where event_id = any($1::uuid[]) and xmin = pg_current_xact_id()::xid and processed_at = now()
        """,
        list(event_ids),
    )
    return {record["event_id"] for record in found}


async def mark_dead(connection: Connection, event_ids: Collection[UUID]) -> None:
    """For messages claimed in this transaction whose handler then named them hopeless."""
    await connection.execute(
        "update processed_events set outcome = 'dead' where event_id = any($1::uuid[])", list(event_ids)
    )


async def release(connection: Connection, event_ids: Collection[UUID]) -> None:
    """For messages claimed in this transaction whose handler then asked to try again later."""
    await connection.execute("delete from processed_events where event_id = any($1::uuid[])", list(event_ids))


async def known(connection: Connection, event_ids: Collection[UUID]) -> set[UUID]:
    """Those that have an outcome already. A hint that saves slow work; only `insert` decides."""
    rows = await connection.fetch(
        "select event_id from processed_events where event_id = any($1::uuid[])", list(event_ids)
    )
    return {row["event_id"] for row in rows}
