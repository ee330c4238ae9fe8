"""Credentials that end by themselves, renewed by one process at a time, and stored before they are used."""

import asyncio
from datetime import timedelta
from http import HTTPStatus
from typing import Final

import structlog

from chassis import Connections
from gateway.accounts import store
from gateway.accounts.kind import AccessRefused, NoAnswer, NotSent
from gateway.accounts.oauth.apps import Apps
from gateway.accounts.registry import Opened, Registry, needs_reconnecting
from gateway.accounts.sending import Sender
from gateway.problems import Problem, ProblemError

log = structlog.get_logger(__name__)

_SECONDS: Final = 20.0
_CLAIMED: Final = timedelta(seconds=30)
"""Longer than a renewal takes: then its process is taken for dead, and another tries."""
_LOOK_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 35.0
_CHECK_AGAIN: Final = timedelta(days=1)


class Renewing:
    """One for the process.

    Args:
        connections: of the gateway's database.
        registry: of accounts.
        apps: what providers know this installation by.
        sender: the way out.
    """

    def __init__(self, connections: Connections, registry: Registry, apps: Apps, sender: Sender) -> None:
        self._connections = connections
        self._registry = registry
        self._apps = apps
        self._sender = sender

    async def fresh(self, opened: Opened) -> Opened:
        """The account with credentials that are good now.

        Raises:
            ProblemError: `account.needs_reconnecting`; `call.not_sent`: they cannot be had now.
        """
        if not opened.kind.is_stale(opened.own):
            return opened
        return await self._renewed(opened)

    async def again(self, opened: Opened) -> Opened | None:
        """The account with others than those that were just refused; None if there are none to be had now.

        Raises:
            ProblemError: `account.needs_reconnecting`.
        """
        try:
            return await self._renewed(opened)
        except ProblemError as error:
            if error.problem.type == "account.needs_reconnecting":
                raise
            return None

    async def _renewed(self, opened: Opened) -> Opened:
        name, generation = opened.account.name, opened.account.generation
        clock = asyncio.get_running_loop().time
        deadline = clock() + _PATIENCE_SECONDS
        while clock() < deadline:
            async with self._connections.connection() as connection:
                mine = await store.claim_renewal(connection, name, generation, _CLAIMED)
            if mine:
                # What began is carried to its end: half of it would be a token that nobody has.
                return await asyncio.shield(asyncio.ensure_future(self._renew(opened)))
            now = await self._registry.find(name)
            if now.account.generation != generation:
                return now
            await asyncio.sleep(_LOOK_SECONDS)
        raise ProblemError(_not_now(name, "somebody else renews its access, and takes long"))

    async def _renew(self, opened: Opened) -> Opened:
        name = opened.account.name
        app = await self._apps.find(opened.account.kind)
        try:
            new = await opened.kind.renewed(self._sender.asking(_SECONDS), opened.own, app)
        except AccessRefused as error:
            async with self._connections.connection() as connection:
                await store.end_renewal(connection, name, opened.account.generation)
                await store.found_refused(connection, opened.account, str(error), _CHECK_AGAIN)
            log.warning("account_refused", account=name, kind=opened.account.kind, why=str(error))
            raise ProblemError(needs_reconnecting(name, str(error))) from None
        except (NotSent, NoAnswer) as error:
            async with self._connections.connection() as connection:
                await store.end_renewal(connection, name, opened.account.generation)
            raise ProblemError(_not_now(name, str(error))) from None
        # Before anybody uses them: if this process ends here, the next one has them.
        await self._registry.replace(opened, new)
        log.info("account_renewed", account=name, kind=opened.account.kind)
        return await self._registry.find(name)


def _not_now(name: str, why: str) -> Problem:
    return Problem(
        "call.not_sent",
        f"nothing was sent to {name}: its access has to be renewed, which is not possible now ({why})",
        HTTPStatus.SERVICE_UNAVAILABLE,
        transient=True,
        after=timedelta(seconds=30),
    )
