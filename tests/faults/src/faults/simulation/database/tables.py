"""The SQL functions of messaging, function by function, over the simulated store: the same contracts, no SQL."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from faults.simulation.database.store import SimulatedConnection, StoredRow, seconds
from messaging.storage.inbox import InboxRow
from messaging.storage.origins import DeadLetterOrigin
from messaging.storage.outbox import OutboxBacklog, OutboxRow

# -- attempts ----------------------------------------------------------------------------------------------------------


async def note_attempts(connection: SimulatedConnection, _ended: object) -> None:
    await connection.perform("attempts.note", _nothing)


# -- inbox -----------------------------------------------------------------------------------------------------------


async def insert_inbox(connection: SimulatedConnection, queue: str, rows: Sequence[InboxRow]) -> set[UUID]:
    await connection.perform("inbox.insert", _nothing)
    store, tx = connection.store, connection.open_transaction()
    fresh: set[UUID] = set()
    for row in sorted(rows, key=lambda row: row.event_id):
        event_id = row.event_id
        while event_id not in store.processed and event_id not in tx.inbox:
            other = store.claims.get(event_id)
            if other is None:
                tx.inbox[event_id] = row.outcome
                store.claims[event_id] = tx
                fresh.add(event_id)
                break
            await connection.wait_for(other)
    return fresh


async def known(connection: SimulatedConnection, event_ids: Collection[UUID]) -> set[UUID]:
    processed = connection.store.processed
    found: set[UUID] = await connection.perform(
        "inbox.known", lambda: {each for each in event_ids if each in processed}, writes=False
    )
    return found


async def mark_dead(connection: SimulatedConnection, event_ids: Collection[UUID]) -> None:
    tx = connection.open_transaction()

    def apply() -> None:
        for event_id in event_ids:
            assert event_id in tx.inbox, "a row of another transaction was marked dead"
            tx.inbox[event_id] = "dead"

    await connection.perform("inbox.mark_dead", apply)


async def release(connection: SimulatedConnection, event_ids: Collection[UUID]) -> None:
    tx = connection.open_transaction()

    def apply() -> None:
        for event_id in event_ids:
            del tx.inbox[event_id]

    await connection.perform("inbox.release", apply)


# -- what was dead-lettered ------------------------------------------------------------------------------------------


async def insert_origins(connection: SimulatedConnection, rows: Sequence[DeadLetterOrigin]) -> None:
    store, tx = connection.store, connection.open_transaction()

    def apply() -> None:
        for row in rows:
            if row.event_id not in store.origins:
                tx.origins.setdefault(row.event_id, row)

    await connection.perform("origins.insert", apply)


async def find_origins(
    connection: SimulatedConnection, event_ids: Collection[UUID], digests: Collection[bytes]
) -> list[DeadLetterOrigin]:
    store = connection.store

    def apply() -> list[DeadLetterOrigin]:
        return [
            row
            for event_id, row in sorted(store.origins.items())
            if event_id in event_ids or (row.digest in digests and row.settled_by is None)
        ]

    found: list[DeadLetterOrigin] = await connection.perform("origins.find", apply, writes=False)
    return found


async def died_before_upgrade(_connection: SimulatedConnection, _events: Mapping[UUID, str]) -> set[UUID]:
    """Every version here knows the table."""
    return set()


async def lock_origins(
    connection: SimulatedConnection, event_ids: Collection[UUID]
) -> dict[UUID, UUID | None]:
    store, tx = connection.store, connection.open_transaction()
    for event_id in sorted(event_ids):
        while (holder := store.locks.setdefault(("origin", event_id), tx)) is not tx:
            await connection.wait_for(holder)

    def apply() -> dict[UUID, UUID | None]:
        known = {**store.origins, **tx.origins}
        return {event_id: known[event_id].settled_by for event_id in event_ids if event_id in known}

    found: dict[UUID, UUID | None] = await connection.perform("origins.lock", apply, writes=False)
    return found


async def settle_origins(connection: SimulatedConnection, replays: Mapping[UUID, UUID]) -> None:
    store, tx = connection.store, connection.open_transaction()

    def apply() -> None:
        for event_id, replay in replays.items():
            row = tx.origins.get(event_id) or store.origins.get(event_id)
            if row is not None and row.settled_by is None:
                tx.origins[event_id] = replace(row, settled_by=replay)

    await connection.perform("origins.settle", apply)


# -- outbox ----------------------------------------------------------------------------------------------------------


async def insert_outbox(
    connection: SimulatedConnection, rows: Sequence[OutboxRow], lease: UUID, lease_for: timedelta
) -> None:
    schedule, tx = connection.schedule, connection.open_transaction()

    def apply() -> None:
        now = schedule.loop.now
        for row in rows:
            schedule.checks.row_written(row)
            delay = seconds(row.delay)
            if delay > 0:
                tx.outbox.append(StoredRow(row, now + delay, now + delay, None))
            else:
                tx.outbox.append(StoredRow(row, now, now + seconds(lease_for), lease))

    await connection.perform("outbox.insert", apply)


async def claim(
    connection: SimulatedConnection, limit: int, lease: UUID, lease_for: timedelta
) -> list[OutboxRow]:
    schedule, outbox = connection.schedule, connection.store.outbox

    def apply() -> list[OutboxRow]:
        now = schedule.loop.now
        due = sorted((each for each in outbox.values() if each.due_at <= now), key=lambda each: each.due_at)
        claimed: list[OutboxRow] = []
        for stored in due[:limit]:
            stored.due_at = now + seconds(lease_for)
            stored.lease = stored.granted_to = lease
            stored.attempts += 1
            row = stored.row
            claimed.append(
                OutboxRow(
                    exchange=row.exchange,
                    routing_key=row.routing_key,
                    event_id=row.event_id,
                    type=row.type,
                    correlation_id=row.correlation_id,
                    body=row.body,
                    headers=dict(row.headers),
                    id=row.id,
                    publish_attempts=stored.attempts,
                )
            )
        return claimed

    result: list[OutboxRow] = await connection.perform("outbox.claim", apply)
    return result


async def delete(connection: SimulatedConnection, ids: Collection[UUID], lease: UUID) -> None:
    schedule, outbox = connection.schedule, connection.store.outbox

    def apply() -> None:
        for row_id in ids:
            stored = outbox.get(row_id)
            if stored is not None and schedule.leased(stored.lease, lease):
                schedule.checks.row_touched(stored.granted_to, lease, "deleted")
                del outbox[row_id]

    await connection.perform("outbox.delete", apply, writes=False)


async def give_back(
    connection: SimulatedConnection, ids: Collection[UUID], lease: UUID, *, after: timedelta, error: str
) -> None:
    schedule, outbox = connection.schedule, connection.store.outbox

    def apply() -> str:
        for row_id in ids:
            stored = outbox.get(row_id)
            if stored is not None and schedule.leased(stored.lease, lease):
                schedule.checks.row_touched(stored.granted_to, lease, "given back")
                stored.due_at = schedule.loop.now + seconds(after)
                stored.lease = stored.granted_to = None
        return error

    await connection.perform("outbox.give_back", apply, writes=False)


async def pending(connection: SimulatedConnection, count_up_to: int, lease_for: timedelta) -> OutboxBacklog:
    schedule, outbox = connection.schedule, connection.store.outbox

    def apply() -> OutboxBacklog:
        now, leased = schedule.loop.now, seconds(lease_for)
        overdue = sum(1 for each in outbox.values() if each.due_at <= now + leased and each.deliver_at <= now)
        if not outbox:
            return OutboxBacklog(overdue=0, next_due=None)
        next_due = timedelta(seconds=min(each.due_at for each in outbox.values()) - now)
        return OutboxBacklog(overdue=min(overdue, count_up_to), next_due=next_due)

    result: OutboxBacklog = await connection.perform("outbox.pending", apply, writes=False)
    return result


# -- crash markers ---------------------------------------------------------------------------------------------------


async def try_turn(connection: SimulatedConnection, queue: str, event_id: UUID) -> bool:
    store, tx, key = connection.store, connection.open_transaction(), (f"turn {queue}", event_id)

    def apply() -> bool:
        return store.locks.setdefault(key, tx) is tx

    turn: bool = await connection.perform("crashes.try_turn", apply, writes=False)
    return turn


async def starts(connection: SimulatedConnection, queue: str, event_id: UUID) -> int:
    store = connection.store
    found: int = await connection.perform(
        "crashes.starts", lambda: store.markers.get((queue, event_id), 0), writes=False
    )
    return found


async def mark(connection: SimulatedConnection, queue: str, event_id: UUID) -> int:
    store, key = connection.store, (queue, event_id)

    def apply() -> int:
        earlier = store.markers.get(key, 0)
        store.markers[key] = earlier + 1
        store.marked_by[key] = connection.process
        return earlier

    while (holder := store.locks.get(key)) is not None:
        await connection.wait_for(holder)
    earlier: int = await connection.perform("crashes.mark", apply)
    return earlier


async def clear(connection: SimulatedConnection, queue: str, event_ids: Collection[UUID]) -> None:
    store, tx = connection.store, connection.tx
    for event_id in event_ids:
        while (holder := store.locks.get((queue, event_id), tx)) is not tx:
            assert holder is not None
            await connection.wait_for(holder)

    def apply() -> None:
        for event_id in event_ids:
            key = (queue, event_id)
            if key not in store.markers:
                continue
            if tx is None:  # outside a transaction: at once
                del store.markers[key]
            else:
                store.locks[key] = tx
                tx.cleared.append(key)

    await connection.perform("crashes.clear", apply, writes=False)


async def unmark(connection: SimulatedConnection, queue: str, event_ids: Collection[UUID]) -> None:
    store = connection.store

    def apply() -> None:
        for event_id in event_ids:
            key = (queue, event_id)
            if key in store.markers and key not in store.locks:
                store.markers[key] -= 1
                if not store.markers[key]:
                    del store.markers[key]

    await connection.perform("crashes.unmark", apply, writes=False)


async def forget_old(_: SimulatedConnection) -> None:
    """Nothing gets a week old here."""


# -- what the handlers of the simulation write -----------------------------------------------------------------------


async def write_effects(connection: SimulatedConnection, event_ids: Sequence[UUID]) -> None:
    tx = connection.open_transaction()
    await connection.perform("effects", lambda: tx.effects.extend(event_ids))


def _nothing() -> None:
    return None


FUNCTIONS: Final[dict[str, dict[str, Any]]] = {
    "inbox": {"insert": insert_inbox, "find_handled": known, "mark_dead": mark_dead, "release": release},
    "outbox": {
        "insert": insert_outbox,
        "claim": claim,
        "delete": delete,
        "release": give_back,
        "measure_backlog": pending,
    },
    # Its record of what was sent is for the ledger, which is not simulated, and that of attempts for people alone.
    "sent": {"delete_confirmed": delete},
    "attempts": {"note": note_attempts},
    "origins": {
        "insert": insert_origins,
        "find": find_origins,
        "died_before_upgrade": died_before_upgrade,
        "lock": lock_origins,
        "settle": settle_origins,
        "forget_old": forget_old,
    },
    "crashes": {
        "try_lock": try_turn,
        "starts": starts,
        "mark": mark,
        "clear": clear,
        "unmark": unmark,
        "forget_old": forget_old,
    },
}
"""Module of messaging → function → what stands for it."""
