"""What operators do with dead letters: replay and discard. One outcome each, however many ask at once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog

from chassis.observing import chains
from envelope import new_event_id
from messaging import Database, Transaction
from messaging.headers import REPLAY_OF
from monitor.dead_letters import store
from monitor.dead_letters.domain import DeadLetterRefusal, DeadMessageId, discard_refusal, replay_refusal
from monitor.dead_letters.replays import replay_of

log = structlog.get_logger(__name__)

_MOST_BYTES: Final = 8 * 1024 * 1024
"""Of the bodies that one request sends again: they are in memory together, as they were and as they will be."""
_NOTHING_SAID: Final = store.OperatorDecision()


@dataclass(frozen=True, slots=True)
class UnknownDeadLetter:
    """There is no such dead letter."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """Dead letter → `event_id` of its replay."""

    replays: dict[DeadMessageId, UUID]
    last: UUID | None = None
    """Where to go on; None if no more of them are open."""


@dataclass(frozen=True, slots=True)
class DiscardResult:
    ids: list[UUID]
    last: UUID | None
    """Where to go on; None if no more of them are open."""


class DeadLetterOperations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def replay(
        self,
        dead: UUID,
        decision: store.OperatorDecision = _NOTHING_SAID,
        brands: Collection[str] | None = None,
    ) -> ReplayResult | DeadLetterRefusal | UnknownDeadLetter:
        """Sends a dead message again, to the queue it died in; of one that is about none of the brands it is said that there is none."""
        async with self._database.transaction() as tx:
            claimed = await store.lock_dead_letter(tx.connection, dead, brands)
            if claimed is None:
                return UnknownDeadLetter()
            refusal = replay_refusal(claimed.standing)
            if refusal is not None:
                return refusal
            replays = _send_again(tx, [claimed])
            await store.mark_replaying(tx.connection, replays, decision)
            (sent,) = tx.outgoing
        log.info(
            "dead_letter_replayed",
            dead_letter_id=str(dead),
            replay_event_id=str(sent.event_id),
            queue=claimed.queue,
            type=sent.type,
            correlation_id=sent.correlation_id,
            reason=decision.why,
            by=decision.by,
        )
        return ReplayResult(replays)

    async def replay_all(
        self,
        selection: store.DeadLetterSelection,
        limit: int,
        decision: store.OperatorDecision = _NOTHING_SAID,
    ) -> ReplayResult:
        """Replays the selected open ones, oldest first, up to `limit`; those that cannot be replayed stay as they are.

        Large ones are sent in smaller pieces: there may be more of them than were replayed, although those are fewer than `limit`.
        """
        async with self._database.transaction() as tx:
            claimed, is_more = await store.lock_open(tx.connection, selection, limit, _MOST_BYTES)
            if not claimed:
                return ReplayResult({})
            replays = _send_again(tx, claimed)
            await store.mark_replaying(tx.connection, replays, decision)
        log.info("dead_letters_replayed", count=len(replays), reason=decision.why, by=decision.by)
        return ReplayResult(replays, claimed[-1].standing.id if is_more else None)

    async def discard(
        self, dead: UUID, decision: store.OperatorDecision, brands: Collection[str] | None = None
    ) -> DeadLetterRefusal | UnknownDeadLetter | None:
        """Closes a dead letter for good; None if that was done. Of other brands', as above."""
        async with self._database.transaction() as tx:
            claimed = await store.lock_dead_letter(tx.connection, dead, brands)
            if claimed is None:
                return UnknownDeadLetter()
            refusal = discard_refusal(claimed.standing, now=claimed.now)
            if refusal is None:
                await store.mark_discarded(tx.connection, claimed.standing.id, decision)
                log.info(
                    "dead_letter_discarded", dead_letter_id=str(dead), reason=decision.why, by=decision.by
                )
            return refusal

    async def discard_all(
        self, selection: store.DeadLetterSelection, limit: int, decision: store.OperatorDecision
    ) -> DiscardResult:
        """Closes the selected open ones for good, oldest first, up to `limit`."""
        async with self._database.transaction() as tx:
            ids = await store.discard_open(tx.connection, selection, limit, decision)
        if ids:
            log.info("dead_letters_discarded", count=len(ids), reason=decision.why, by=decision.by)
        return DiscardResult(ids, ids[-1] if len(ids) == limit else None)


def _send_again(tx: Transaction, claimed: Sequence[store.LockedDeadLetter]) -> dict[DeadMessageId, UUID]:
    """Dead letter → `event_id` of its replay."""
    replays: dict[DeadMessageId, UUID] = {}
    for one in claimed:
        replay = replay_of(one.payload, event_id=new_event_id(), now=one.now)
        tx.send_raw(
            queue=one.queue,
            body=replay.body,
            event_id=replay.event_id,
            type=replay.type,
            correlation_id=replay.correlation_id,
            headers={REPLAY_OF: str(replay.original)},
            continues=one.trace,
        )
        if len(claimed) == 1:
            chains.name_chain(replay.correlation_id)
        replays[one.standing.id] = replay.event_id
    return replays
