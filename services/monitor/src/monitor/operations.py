"""What an operator does with dead letters; each operation is one transaction."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from envelope import new_event_id
from messaging import Database, Transaction
from monitor import store
from monitor.domain import NotPossibleError, check_discard, replay
from monitor.store import DeadMessage


class UnknownDeadLetterError(LookupError):
    pass


async def replay_one(database: Database, identity: UUID) -> UUID:
    """Sends a dead letter back to its queue as a new message; returns that message's `event_id`.

    Raises:
        UnknownDeadLetterError: there is none with this id.
        NotPossibleError: it cannot be replayed; says why.
    """
    async with database.transaction() as tx:
        return await _replay(tx, await _locked(tx, identity))


async def replay_many(
    database: Database, *, ids: Sequence[UUID] | None, queue: str | None, message_type: str | None, limit: int
) -> list[UUID]:
    """Replays up to `limit` open dead letters that match, oldest first; returns the ids of those dead letters."""
    async with database.transaction() as tx:
        chosen = await store.lock_open(
            tx.connection, ids=ids, queue=queue, message_type=message_type, limit=limit
        )
        for letter in chosen:
            await _replay(tx, letter)
        return [letter.id for letter in chosen]


async def discard(database: Database, identity: UUID, reason: str) -> None:
    """Closes a dead letter that will not be handled.

    Raises:
        UnknownDeadLetterError: there is none with this id.
        NotPossibleError: it is closed, or being replayed.
    """
    async with database.transaction() as tx:
        letter = await _locked(tx, identity)
        check_discard(letter.state)
        await store.mark_discarded(tx.connection, identity, reason)


async def _locked(tx: Transaction, identity: UUID) -> DeadMessage:
    letter = await store.lock(tx.connection, identity)
    if letter is None:
        raise UnknownDeadLetterError(f"there is no dead letter {identity}")
    return letter


async def _replay(tx: Transaction, letter: DeadMessage) -> UUID:
    message = replay(
        state=letter.state,
        body=letter.payload,
        event_id=letter.event_id,
        queue=letter.queue,
        new_event_id=new_event_id(),
        now=datetime.now(UTC),
    )
    tx.send_raw(
        queue=message.queue,
        body=message.body,
        event_id=message.event_id,
        type=message.type,
        correlation_id=message.correlation_id,
        headers={"replay-of": str(message.replay_of)},
    )
    await store.mark_replaying(tx.connection, letter.id, message.event_id)
    return message.event_id


__all__ = ["NotPossibleError", "UnknownDeadLetterError", "discard", "replay_many", "replay_one"]
