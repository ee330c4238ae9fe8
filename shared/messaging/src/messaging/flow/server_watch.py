"""Detects lost commits. Every replica checks; each loss is handled once."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeAlias

import structlog

from messaging.flow.transactions import Database, Transaction
from messaging.storage import server_history
from messaging.storage.server_history import CommitLoss

log = structlog.get_logger(__name__)

CHECK_EVERY: Final = timedelta(seconds=10)
"""The period of commits to repeat grows by as much."""

OnCommitLoss: TypeAlias = Callable[[CommitLoss, Transaction], Awaitable[None]]


class ServerWatch:
    """Calls `on_loss` in the transaction that notes the loss, so each loss is handled once by all replicas together."""

    def __init__(self, database: Database, on_loss: OnCommitLoss) -> None:
        self._database = database
        self._on_loss = on_loss
        self._can_tell = True

    async def check(self) -> None:
        """Checks once, unless the database has proved unable to identify its server."""
        try:
            if self._can_tell:
                await self.look()
        except server_history.UnknownServerError as error:
            self._can_tell = False
            log.warning(
                "server_unknown",
                error=str(error),
                hint="after a fail-over that loses commits nobody asks again",
            )

    async def look(self) -> CommitLoss | None:
        """Checks once; returns the loss that it has found and handled.

        Raises:
            UnknownServerError: the database does not identify its server.
        """
        if await self._note_same_server():
            return None
        async with self._database.transaction() as tx:
            loss = await server_history.note_server(tx.connection)
            if loss is not None:
                await self._on_loss(loss, tx)
        if loss is not None:
            log.error(
                "database_lost_commits",
                kept_until=loss.kept_until.isoformat(),
                hint="docs/operations/fail-over.md",
            )
        return loss

    async def _note_same_server(self) -> bool:
        """Notes the server in a plain transaction, without messages; takes the note back if commits are lost."""
        async with self._database.connection() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                loss = await server_history.note_server(connection)
            except BaseException:
                await transaction.rollback()
                raise
            await (transaction.commit() if loss is None else transaction.rollback())
        return loss is None
