"""Renews expiring credentials: one process at a time, and stored before their first use."""

import asyncio
from datetime import timedelta
from http import HTTPStatus
from typing import Final

import structlog

from chassis import Connections
from gateway.accounts import store
from gateway.accounts.kind import AccessRefused, NoAnswer, NotSent
from gateway.accounts.oauth.apps import OAuthApps
from gateway.accounts.registry import AccountRegistry, UnsealedAccount, needs_reconnecting
from gateway.accounts.sender import RequestSender
from gateway.problems import CallProblem, CallProblemError

log = structlog.get_logger(__name__)

_SECONDS: Final = 20.0
_CLAIMED: Final = timedelta(seconds=30)
"""A renewal takes less. After this time another process takes over."""
_LOOK_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 35.0


class CredentialRenewal:
    """Renews credentials; the process has one.

    Args:
        connections: of the gateway's database.
        registry: of accounts.
        apps: the OAuth apps of this installation.
        sender: sends the requests.
    """

    def __init__(
        self, connections: Connections, registry: AccountRegistry, apps: OAuthApps, sender: RequestSender
    ) -> None:
        self._connections = connections
        self._registry = registry
        self._apps = apps
        self._sender = sender

    async def fresh(self, unsealed: UnsealedAccount) -> UnsealedAccount:
        """Returns the account with valid credentials, renewing them if necessary.

        Raises:
            CallProblemError: `account.needs_reconnecting`; `call.not_sent`: renewal fails now.
        """
        if not unsealed.kind.is_stale(unsealed.context):
            return unsealed
        return await self._renewed(unsealed)

    async def again(self, unsealed: UnsealedAccount) -> UnsealedAccount | None:
        """Returns the account with renewed credentials after a refusal; None if renewal fails now.

        Raises:
            CallProblemError: `account.needs_reconnecting`.
        """
        try:
            return await self._renewed(unsealed)
        except CallProblemError as error:
            if error.problem.type == "account.needs_reconnecting":
                raise
            return None

    async def _renewed(self, unsealed: UnsealedAccount) -> UnsealedAccount:
        name, generation = unsealed.account.name, unsealed.account.generation
        clock = asyncio.get_running_loop().time
        deadline = clock() + _PATIENCE_SECONDS
        while clock() < deadline:
            async with self._connections.connection() as connection:
                mine = await store.claim_renewal(connection, name, generation, _CLAIMED)
            if mine:
                # Shielded: an interrupted renewal would lose the only valid token.
                return await asyncio.shield(asyncio.ensure_future(self._renew(unsealed)))
            now = await self._registry.find(name)
            if now.account.generation != generation:
                return now
            await asyncio.sleep(_LOOK_SECONDS)
        raise CallProblemError(_not_now(name, "another process is renewing its access and takes long"))

    async def _renew(self, unsealed: UnsealedAccount) -> UnsealedAccount:
        name = unsealed.account.name
        app = await self._apps.find(unsealed.account.kind)
        try:
            new = await unsealed.kind.renew_credentials(self._sender.asking(_SECONDS), unsealed.context, app)
        except AccessRefused as error:
            async with self._connections.connection() as connection:
                await store.end_renewal(connection, name, unsealed.account.generation)
            await self._registry.mark_refused(unsealed.account, str(error))
            raise CallProblemError(needs_reconnecting(name, str(error))) from None
        except (NotSent, NoAnswer) as error:
            async with self._connections.connection() as connection:
                await store.end_renewal(connection, name, unsealed.account.generation)
            raise CallProblemError(_not_now(name, str(error))) from None
        # Stored before use: if this process dies, the next one has them.
        await self._registry.replace(unsealed, new)
        log.info("account_renewed", account=name, kind=unsealed.account.kind)
        return await self._registry.find(name)


def _not_now(name: str, why: str) -> CallProblem:
    return CallProblem(
        "call.not_sent",
        f"nothing was sent to {name}: its access must be renewed, which fails now ({why})",
        HTTPStatus.SERVICE_UNAVAILABLE,
        transient=True,
        after=timedelta(seconds=30),
    )
