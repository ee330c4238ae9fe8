"""What operators do with dead letters: replay and discard. One outcome each, however many ask at once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import structlog

from chassis.observing import chains
from envelope import new_event_id
from messaging import Database, Transaction
from messaging.headers import REPLAY_OF
from monitor.dead_letters import store
from monitor.dead_letters.domain import DeadMessageId, Refusal, refuse_discard, refuse_replay
from monitor.dead_letters.rewriting import replay_of

log = structlog.get_logger(__name__)

_CHUNK: Final = 50
"""Messages replayed in one transaction: at 128 kB each, what may be in memory at a time."""
_NOTHING_SAID: Final = store.Decision()


@dataclass(frozen=True, slots=True)
class Unknown:
    """There is no such dead letter."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """Dead letter → `event_id` of its replay."""

    replays: dict[DeadMessageId, UUID]
    last: UUID | None = None
    """Where to go on; None if no more of them are open."""


@dataclass(frozen=True, slots=True)
class Discarded:
    ids: list[UUID]
    last: UUID | None
    """Where to go on; None if no more of them are open."""


class Operations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def replay(
        self,
        dead: UUID,
        decision: store.Decision = _NOTHING_SAID,
        brands: Collection[str] | None = None,
    ) -> Replayed | Refusal | Unknown:
        """Sends a dead message again, to the queue it died in; of one that is about none of the brands it is said that there is none."""
        async with self._database.transaction() as tx:
            claimed = await store.claim(tx.connection, dead, brands)
            if claimed is None:
                return Unknown()
            refusal = refuse_replay(claimed.standing)
            if refusal is not None:
                return refusal
            return await _send_again(tx, [claimed], decision)

    async def replay_all(
        self, selection: store.Selection, limit: int, decision: store.Decision = _NOTHING_SAID
    ) -> Replayed:
        """Replays the selected open ones, oldest first, up to `limit`; those that cannot be replayed stay as they are."""
        replays: dict[DeadMessageId, UUID] = {}
        while len(replays) < limit:
            wanted = min(_CHUNK, limit - len(replays))
            async with self._database.transaction() as tx:
                claimed = await store.claim_open(tx.connection, selection, wanted)
                if claimed:
                    replays |= (await _send_again(tx, claimed, decision)).replays
            if len(claimed) < wanted:
                return Replayed(replays)
            selection = replace(selection, after=claimed[-1].standing.id)
        return Replayed(replays, selection.after)

    async def discard(
        self, dead: UUID, decision: store.Decision, brands: Collection[str] | None = None
    ) -> Refusal | Unknown | None:
        """Closes a dead letter for good; None if that was done. Of other brands', as above."""
        async with self._database.transaction() as tx:
            claimed = await store.claim(tx.connection, dead, brands)
            if claimed is None:
                return Unknown()
            refusal = refuse_discard(claimed.standing, now=claimed.now)
            if refusal is None:
                await store.mark_discarded(tx.connection, claimed.standing.id, decision)
                log.info(
                    "dead_letter_discarded", dead_letter_id=str(dead), reason=decision.why, by=decision.by
                )
            return refusal

    async def discard_all(
        self, selection: store.Selection, limit: int, decision: store.Decision
    ) -> Discarded:
        """Closes the selected open ones for good, oldest first, up to `limit`."""
        async with self._database.transaction() as tx:
            ids = await store.discard_open(tx.connection, selection, limit, decision)
        for dead in ids:
            log.info("dead_letter_discarded", dead_letter_id=str(dead), reason=decision.why, by=decision.by)
        return Discarded(ids, ids[-1] if len(ids) == limit else None)


async def _send_again(
    tx: Transaction, claimed: Sequence[store.Claimed], decision: store.Decision
) -> Replayed:
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
        log.info(
            "dead_letter_replayed",
            dead_letter_id=str(one.standing.id),
            replay_event_id=str(replay.event_id),
            queue=one.queue,
            type=replay.type,
            correlation_id=replay.correlation_id,
            reason=decision.why,
            by=decision.by,
        )
    await store.mark_replaying(tx.connection, replays, decision)
    return Replayed(replays)
