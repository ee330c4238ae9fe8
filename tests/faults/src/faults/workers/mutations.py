"""Guarantees switched off in a worker process, one at a time, to show that the checker notices.

A checker that has never failed proves nothing. Each mutation replaces one function of `messaging` while the process
starts; production code knows nothing of it.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from chassis.database.pool import Connection, DatabaseUnavailableError
from messaging.broker import bulk_publish
from messaging.broker.bulk_publish import BulkPublisher, _PublishBatch
from messaging.errors import WaitFor
from messaging.flow.failures import failure_of
from messaging.flow.intake import IncomingMessage
from messaging.flow.runner import QueueRunner
from messaging.storage import crashes, inbox, outbox, sent
from messaging.storage.inbox import InboxRow


class MutationError(ValueError):
    """The mutation is unknown; the message lists the known ones."""


def _inbox() -> None:
    """Every delivery is taken for the first of its message."""
    insert = inbox.insert

    async def claims_all(connection: Connection, queue: str, rows: Sequence[InboxRow]) -> set[UUID]:
        await insert(connection, queue, rows)
        return {row.event_id for row in rows}

    async def knows_none(connection: Connection, event_ids: Collection[UUID]) -> set[UUID]:
        return set()

    inbox.insert = claims_all
    inbox.find_handled = knows_none


def _confirms() -> None:
    """Counts a message as published once it is handed to the connection."""

    async def wait(self: BulkPublisher, batch: _PublishBatch) -> None:
        self._batches.remove(batch)

    def outcomes(batch: _PublishBatch) -> list[Exception | None]:
        return [None] * len(batch.sent)

    BulkPublisher.wait = wait  # type: ignore[method-assign]
    BulkPublisher.outcomes = staticmethod(outcomes)  # type: ignore[method-assign]


def _mandatory() -> None:
    """The broker may drop what no queue is bound for."""
    bulk_publish._MANDATORY = b"\x00"  # type: ignore[misc]


def _lease_fencing() -> None:
    """Lets every former holder of a lease finish with the row."""

    async def delete(connection: Connection, ids: Collection[UUID], lease: UUID) -> None:
        await connection.execute("delete from outbox where id = any($1::uuid[])", list(ids))

    outbox.delete = sent.delete_confirmed = delete


def _batch_redo() -> None:
    """A batch that fails, fails for all that are in it."""

    async def fail_together(self: QueueRunner, batch: Sequence[IncomingMessage]) -> None:
        error = await self._try_commit(batch)
        if error is not None:
            for work in batch:
                if work.failure is not None:
                    raise DatabaseUnavailableError(repr(error)) from error
                work.record, work.failure = None, failure_of(error)
            await self._settle(batch)
            return
        await self._unsettled.ack([work.delivery for work in batch])

    QueueRunner._settle = fail_together  # type: ignore[method-assign]


def _crash_markers() -> None:
    """Drops the marks of messages on which a consumer died."""
    mark = crashes.mark

    async def forgets(connection: Connection, queue: str, event_id: UUID) -> int:
        await mark(connection, queue, event_id)
        return 0

    crashes.mark = forgets


def _waiting() -> None:
    """That something is away which a message needs, is a failure of the message."""
    init = WaitFor.__init__

    def blames(self: WaitFor, _: str, problem: str, *, after: timedelta | None = None) -> None:
        init(self, "", problem, after=after)

    WaitFor.__init__ = blames  # type: ignore[assignment]


NAMES: Final[dict[str, Callable[[], None]]] = {
    "inbox": _inbox,
    "confirms": _confirms,
    "mandatory": _mandatory,
    "lease_fencing": _lease_fencing,
    "batch_redo": _batch_redo,
    "crash_markers": _crash_markers,
    "waiting": _waiting,
}


def switch_off(name: str) -> None:
    """Takes a guarantee away from this process.

    Raises:
        MutationError: there is no such guarantee.
    """
    if name not in NAMES:
        raise MutationError(f"{name!r} is no guarantee that can be switched off: {', '.join(NAMES)}")
    NAMES[name]()
