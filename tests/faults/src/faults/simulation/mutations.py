"""Guarantees switched off one at a time: a simulation that finds nothing then would prove nothing."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final
from uuid import UUID

import messaging.broker.bulk_publish
import messaging.storage.crashes
import messaging.storage.inbox
import messaging.storage.outbox
from chassis.database.pool import DatabaseUnavailableError
from faults.simulation.database import tables
from faults.simulation.database.store import SimulatedConnection
from faults.simulation.schedule import SimulatedSchedule
from faults.simulation.seams import Replacement
from messaging.broker import frame_writing
from messaging.broker.deliveries import Delivery, UnsettledDeliveries
from messaging.flow.failures import failure_of
from messaging.flow.intake import IncomingMessage
from messaging.flow.runner import QueueRunner
from messaging.storage.inbox import InboxRow
from messaging.storage.outbox import OutboxRow

_settle: Final = QueueRunner._settle
_try_commit: Final = QueueRunner._try_commit


async def _insert_always_fresh(
    connection: SimulatedConnection, queue: str, rows: Sequence[InboxRow]
) -> set[UUID]:
    await tables.insert_inbox(connection, queue, rows)
    return {row.event_id for row in rows}


async def _known_nothing(_: SimulatedConnection, __: Collection[UUID]) -> set[UUID]:
    return set()


async def _wait_for_nothing(_: object, __: object) -> None:
    await asyncio.sleep(0)


def _all_well(batch: Any) -> list[None]:
    return [None] * len(batch.sent)


async def _settle_together(self: QueueRunner, batch: Sequence[IncomingMessage]) -> None:
    """A failed batch is one failure of all of its messages."""
    if len(batch) > 1 and not any(work.failure for work in batch):
        error = await self._try_commit(batch)
        if error is None:
            await self._unsettled.ack([work.delivery for work in batch])
            return
        for work in batch:
            work.record = None
            work.failure = failure_of(error)
    await _settle(self, batch)


async def _mark_nothing(_: SimulatedConnection, __: str, ___: UUID) -> int:
    return 0


async def _settle_acknowledged(self: QueueRunner, batch: Sequence[IncomingMessage]) -> None:
    await self._unsettled.ack([work.delivery for work in batch])
    await _settle(self, batch)


async def _settle_taken_off(
    self: UnsettledDeliveries,
    channel: Any,
    deliveries: Sequence[Delivery],
    frames: Callable[[Any, Sequence[int]], bytes],
) -> None:
    """Deliveries are taken off before there is room to write what becomes of them."""
    tags = sorted(each.tag for each in deliveries if each in self._deliveries)
    for delivery in deliveries:
        self._deliveries.pop(delivery, None)
    if await frame_writing.wait_for_room(channel) and tags:
        frame_writing.write(channel, frames(channel, tags))


def _ack_all_up_to(_: UnsettledDeliveries, channel: Any, tags: Sequence[int]) -> bytes:
    return frame_writing.ack(channel, tags[-1], multiple=True)


async def _try_commit_whatever(self: QueueRunner, batch: Sequence[IncomingMessage]) -> Exception | None:
    try:
        return await _try_commit(self, batch)
    except DatabaseUnavailableError as error:
        return error


async def _claim_nothing(*_: object) -> list[OutboxRow]:
    return []


MUTATIONS: Final[dict[str, Callable[[], tuple[Replacement, ...]]]] = {
    "inbox": lambda: (
        (messaging.storage.inbox, "insert", _insert_always_fresh),
        (messaging.storage.inbox, "find_handled", _known_nothing),
    ),
    "confirms": lambda: (
        (messaging.broker.bulk_publish.BulkPublisher, "wait", _wait_for_nothing),
        (messaging.broker.bulk_publish.BulkPublisher, "outcomes", staticmethod(_all_well)),
    ),
    "mandatory": lambda: ((SimulatedSchedule, "mandatory_ignored", True),),
    "lease_fencing": lambda: ((SimulatedSchedule, "lease_fencing", False),),
    "batch_redo": lambda: ((QueueRunner, "_settle", _settle_together),),
    "crash_markers": lambda: ((messaging.storage.crashes, "mark", _mark_nothing),),
    "ack_after_commit": lambda: ((QueueRunner, "_settle", _settle_acknowledged),),
    "outages_not_counted": lambda: ((QueueRunner, "_try_commit", _try_commit_whatever),),
    "ack_of_the_oldest_only": lambda: ((UnsettledDeliveries, "_acks", _ack_all_up_to),),
    "settled_in_one_step": lambda: ((UnsettledDeliveries, "_settle", _settle_taken_off),),
    "sweeper": lambda: ((messaging.storage.outbox, "claim", _claim_nothing),),
}
"""Guarantee → what takes it away."""
