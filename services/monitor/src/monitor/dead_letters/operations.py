"""Operators' replay, discard and restoring of dead letters. If several operators decide at once, one decision takes effect."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog

from chassis.observing import chains
from envelope import NO_LIMITS, ChainLimits, new_event_id
from envelope.brand import CATALOGUE
from messaging import Database, Transaction
from messaging.headers import REPLAY_OF
from messaging.topology import work_queues
from monitor.dead_letters import decision_store, store
from monitor.dead_letters.domain import (
    DeadLetterRefusal,
    DeadLetterState,
    DeadMessageId,
    discard_refusal,
    handled_resolution,
    limit_refusal,
    queue_refusal,
    replay_refusal,
    restore_refusal,
)
from monitor.dead_letters.finished_work import finished_resolutions
from monitor.dead_letters.replays import read_head, replay_of

log = structlog.get_logger(__name__)

MOST_BYTES: Final = 8 * 1024 * 1024
"""Total size of the bodies that one request replays: memory holds each twice, before and after rewriting."""
QUEUES: Final = work_queues(CATALOGUE)
_NOTHING_SAID: Final = decision_store.OperatorDecision()


@dataclass(frozen=True, slots=True)
class UnknownDeadLetter:
    """No dead letter of this id is visible to the caller."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """Dead letter → `event_id` of its replay."""

    replays: dict[DeadMessageId, UUID]
    last: UUID | None = None
    """Id after which the next request continues; None if no more are open."""


@dataclass(frozen=True, slots=True)
class DiscardResult:
    ids: list[UUID]
    last: UUID | None
    """Id after which the next request continues; None if no more are open."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    ids: list[UUID]
    resolved: int
    """How many of them are resolved instead of open, because their work was done since."""
    last: UUID | None
    """Id after which the next request continues; None if no more are discarded."""


class DeadLetterOperations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def replay(
        self,
        dead: UUID,
        decision: decision_store.OperatorDecision = _NOTHING_SAID,
        brands: Collection[str] | None = None,
        limits: ChainLimits = NO_LIMITS,
        redirect_to: str | None = None,
    ) -> ReplayResult | DeadLetterRefusal | UnknownDeadLetter:
        """Sends a dead letter's message again, with new limits if given.

        Args:
            dead: the dead letter.
            decision: who decides, and why.
            brands: those of the caller; dead letters of others count as unknown. None: all.
            limits: that replace those of the message.
            redirect_to: the queue to which it goes instead of its own, which must be gone.
        """
        async with self._database.transaction() as tx:
            claimed = await decision_store.lock_dead_letter(tx.connection, dead, brands)
            if claimed is None:
                return UnknownDeadLetter()
            refusal = (
                replay_refusal(claimed.standing)
                or _queue_refusal(claimed, redirect_to)
                or limit_refusal(claimed.reason, limits)
            )
            if refusal is not None:
                return refusal
            replays = send_again(tx, [claimed], limits, redirect_to)
            await decision_store.mark_replaying(tx.connection, replays, decision, redirect_to)
            (sent,) = tx.outgoing
        log.info(
            "dead_letter_replayed",
            dead_letter_id=str(dead),
            replay_event_id=str(sent.event_id),
            queue=redirect_to or claimed.queue,
            type=sent.type,
            correlation_id=sent.correlation_id,
            reason=decision.why,
            by=decision.by,
        )
        return ReplayResult(replays)

    async def replay_all(
        self,
        selection: decision_store.DeadLetterSelection,
        limit: int,
        decision: decision_store.OperatorDecision = _NOTHING_SAID,
        limits: ChainLimits = NO_LIMITS,
        redirect_to: str | None = None,
    ) -> ReplayResult:
        """Replays up to `limit` of the selected open dead letters, the oldest first; those that no consumer could read stay open.

        So do those that were over a limit of their chain, unless `limits` has a new one, and those of a queue that is gone. With
        `redirect_to` only these are replayed, to that queue, if their type is handled from it.

        The total size of one call is bounded: fewer than `limit` may be replayed although more are open.
        """
        async with self._database.transaction() as tx:
            return await replay_some(tx, selection, limit, decision, limits, redirect_to)

    async def discard(
        self, dead: UUID, decision: decision_store.OperatorDecision, brands: Collection[str] | None = None
    ) -> DeadLetterRefusal | UnknownDeadLetter | None:
        """Closes a dead letter without handling it and returns None, or returns why not. `brands` as in `replay`."""
        async with self._database.transaction() as tx:
            claimed = await decision_store.lock_dead_letter(tx.connection, dead, brands)
            if claimed is None:
                return UnknownDeadLetter()
            refusal = discard_refusal(claimed.standing, now=claimed.now)
            if refusal is None:
                await decision_store.mark_discarded(tx.connection, claimed.standing.id, decision)
                log.info(
                    "dead_letter_discarded", dead_letter_id=str(dead), reason=decision.why, by=decision.by
                )
            return refusal

    async def discard_all(
        self,
        selection: decision_store.DeadLetterSelection,
        limit: int,
        decision: decision_store.OperatorDecision,
    ) -> DiscardResult:
        """Closes up to `limit` of the selected open dead letters without handling them, the oldest first."""
        async with self._database.transaction() as tx:
            ids = await discard_some(tx, selection, limit, decision)
        return DiscardResult(ids, ids[-1] if len(ids) == limit else None)

    async def restore(
        self, dead: UUID, decision: decision_store.OperatorDecision, brands: Collection[str] | None = None
    ) -> DeadLetterRefusal | UnknownDeadLetter | None:
        """Opens a discarded dead letter again and returns None, or returns why not. `brands` as in `replay`.

        It becomes resolved instead if its work was done since. An open one stays as it is.
        """
        async with self._database.transaction() as tx:
            # A report of its work comes before this, and is found, or waits, and then finds it open.
            await store.lock_shared(tx.connection)
            claimed = await decision_store.lock_dead_letter(tx.connection, dead, brands)
            if claimed is None:
                return UnknownDeadLetter()
            refusal = restore_refusal(claimed.standing)
            if refusal is None and claimed.standing.state is not DeadLetterState.OPEN:
                await _restore(
                    tx, [await decision_store.work_of(tx.connection, claimed.standing.id)], decision
                )
                log.info(
                    "dead_letter_restored", dead_letter_id=str(dead), reason=decision.why, by=decision.by
                )
            return refusal

    async def restore_all(
        self,
        selection: decision_store.DeadLetterSelection,
        limit: int,
        decision: decision_store.OperatorDecision,
    ) -> RestoreResult:
        """Opens up to `limit` of the selected discarded dead letters again, the oldest first; others stay as they are."""
        async with self._database.transaction() as tx:
            return await restore_some(tx, selection, limit, decision)


async def replay_some(
    tx: Transaction,
    selection: decision_store.DeadLetterSelection,
    limit: int,
    decision: decision_store.OperatorDecision,
    limits: ChainLimits = NO_LIMITS,
    redirect_to: str | None = None,
) -> ReplayResult:
    """See `DeadLetterOperations.replay_all`."""
    claimed, is_more = await decision_store.lock_open(
        tx.connection, selection, limit, MOST_BYTES, limits, redirect_to
    )
    if not claimed:
        return ReplayResult({})
    replays = send_again(tx, claimed, limits, redirect_to)
    await decision_store.mark_replaying(tx.connection, replays, decision, redirect_to)
    log.info("dead_letters_replayed", count=len(replays), reason=decision.why, by=decision.by)
    return ReplayResult(replays, claimed[-1].standing.id if is_more else None)


async def discard_some(
    tx: Transaction,
    selection: decision_store.DeadLetterSelection,
    limit: int,
    decision: decision_store.OperatorDecision,
) -> list[UUID]:
    """See `DeadLetterOperations.discard_all`."""
    ids = await decision_store.discard_open(tx.connection, selection, limit, decision)
    if ids:
        log.info("dead_letters_discarded", count=len(ids), reason=decision.why, by=decision.by)
    return ids


async def restore_some(
    tx: Transaction,
    selection: decision_store.DeadLetterSelection,
    limit: int,
    decision: decision_store.OperatorDecision,
) -> RestoreResult:
    """See `DeadLetterOperations.restore_all`."""
    await store.lock_shared(tx.connection)
    letters = await decision_store.lock_discarded(tx.connection, selection, limit)
    resolved = await _restore(tx, letters, decision) if letters else 0
    if letters:
        log.info("dead_letters_restored", count=len(letters), reason=decision.why, by=decision.by)
    last = letters[-1].id if len(letters) == limit else None
    return RestoreResult([each.id for each in letters], resolved, last)


async def _restore(
    tx: Transaction,
    letters: Sequence[decision_store.WorkOfDeadLetter],
    decision: decision_store.OperatorDecision,
) -> int:
    """Opens the dead letters again, under their locks; returns how many are resolved instead."""
    event_ids = [each.event_id for each in letters if each.event_id is not None]
    handled = await store.handled_messages(tx.connection, event_ids)
    resolutions = await finished_resolutions(tx.connection, letters)
    for each in letters:
        if each.event_id is not None and (by := handled.get((each.event_id, each.queue))) is not None:
            resolutions[each.id] = handled_resolution(by)
    await decision_store.mark_restored(tx.connection, letters, resolutions, decision)
    return len(resolutions)


def _queue_refusal(
    dead: decision_store.LockedDeadLetter, redirect_to: str | None
) -> DeadLetterRefusal | None:
    head = read_head(dead.payload)
    entry = CATALOGUE.get(head.type) if head else None
    return queue_refusal(
        CATALOGUE.name_today(dead.queue),
        redirect_to,
        head.type if head else "",
        handled_from=entry.queue if entry else None,
        queues=QUEUES,
    )


def send_again(
    tx: Transaction,
    claimed: Sequence[decision_store.LockedDeadLetter],
    limits: ChainLimits = NO_LIMITS,
    redirect_to: str | None = None,
) -> dict[DeadMessageId, UUID]:
    """Dead letter → `event_id` of its replay."""
    replays: dict[DeadMessageId, UUID] = {}
    for one in claimed:
        replay = replay_of(one.payload, event_id=new_event_id(), now=one.now, limits=limits)
        tx.send_raw(
            queue=redirect_to or one.queue,
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
