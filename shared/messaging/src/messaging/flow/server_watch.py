"""The loop that notices losses of commits. Every replica runs it; each loss is handled once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import structlog

from messaging.flow.transactions import Database, Transaction
from messaging.storage import server_history
from messaging.storage.server_history import CommitLoss

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 10.0
"""Between two looks: so much more than what is lost may be asked for again."""

OnCommitLoss: TypeAlias = Callable[[CommitLoss, Transaction], Awaitable[None]]


class ServerWatch:
    """`on_loss` is called in the transaction that notes the loss, and so once, however many replicas look."""

    def __init__(self, database: Database, on_loss: OnCommitLoss) -> None:
        self._database = database
        self._on_loss = on_loss

    async def run(self) -> None:
        """Goes on until it is cancelled, or until the database turns out not to say which server it is."""
        try:
            while True:
                await self.look()
                await asyncio.sleep(LOOK_SECONDS)
        except server_history.UnknownServerError as error:
            log.warning(
                "server_unknown",
                error=str(error),
                hint="after a fail-over that loses commits nobody asks again",
            )

    async def look(self) -> CommitLoss | None:
        """Returns the loss that it has found and handled.

        Raises:
            UnknownServerError: the database does not say which server it is.
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
