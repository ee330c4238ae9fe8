"""Looking at accounts: each once a day, by one replica, a few at a time; and whenever somebody asks."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from chassis import Connections, DatabaseUnavailableError
from gateway.accounts import fences, store
from gateway.accounts.kind import AccessRefused, NoAnswer, NotSent
from gateway.accounts.registry import Opened, Registry
from gateway.accounts.renewing import Renewing
from gateway.accounts.sending import Sender
from gateway.problems import ProblemError

log = structlog.get_logger(__name__)

_AGAIN: Final = timedelta(days=1)
_AGAIN_IF_AWAY: Final = timedelta(hours=1)
_CLAIMED: Final = timedelta(minutes=5)
_AT_A_TICK: Final = 5
_TICK_SECONDS: Final = 30.0


class Health:
    """One for the process.

    Args:
        connections: of the gateway's database.
        registry: of accounts.
        renewing: of credentials that end by themselves.
        sender: the way out.
    """

    def __init__(
        self, connections: Connections, registry: Registry, renewing: Renewing, sender: Sender
    ) -> None:
        self._connections = connections
        self._registry = registry
        self._renewing = renewing
        self._sender = sender

    async def run(self) -> None:
        """Looks at what is due, for the life of the process."""
        while True:
            await self.tick()
            await asyncio.sleep(_TICK_SECONDS)

    async def tick(self) -> None:
        """Looks at some of those that are due, and forgets what is old."""
        async with self._connections.connection() as connection:
            due = await store.claim_due(connection, _AT_A_TICK, _CLAIMED)
            await fences.forget(connection)
        for name in due:
            try:
                await self.look(name)
            except DatabaseUnavailableError:
                raise
            except ProblemError as error:
                # Disconnected meanwhile, or sealed with a key that is not there.
                log.warning("account_not_looked_at", account=name, why=error.problem.detail)

    async def look(self, name: str) -> None:
        """Asks the account's own side who it is, and keeps what it says.

        Raises:
            ProblemError: there is no such account, or its credentials cannot be opened.
        """
        opened = await self._registry.find(name)
        try:
            opened = await self._renewing.fresh(opened)
            looked = await opened.kind.look(self._sender.asking(opened.kind.seconds), opened.own)
        except AccessRefused as error:
            await self._note_refusal(opened, str(error))
        except (NotSent, NoAnswer) as error:
            await self._note_trouble(opened, str(error))
        except ProblemError as error:
            if error.problem.type != "account.needs_reconnecting":  # otherwise it is noted already
                await self._note_trouble(opened, error.problem.detail)
        else:
            async with self._connections.connection() as connection:
                await store.found_well(connection, opened.account, looked, _AGAIN)

    async def _note_refusal(self, opened: Opened, why: str) -> None:
        log.warning("account_refused", account=opened.account.name, kind=opened.account.kind, why=why)
        async with self._connections.connection() as connection:
            await store.found_refused(connection, opened.account, why, _AGAIN)

    async def _note_trouble(self, opened: Opened, why: str) -> None:
        detail = f"it could not be looked at: {why}"
        async with self._connections.connection() as connection:
            await store.not_looked_at(connection, opened.account, detail, _AGAIN_IF_AWAY)
