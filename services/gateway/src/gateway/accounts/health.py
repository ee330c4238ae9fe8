"""Checks accounts: each once a day by one replica, a few at a time, and on request."""

from datetime import timedelta
from typing import Final

import structlog

from chassis import Connections, DatabaseUnavailableError, redaction
from gateway.accounts import fences, store
from gateway.accounts.kind import AccessRefused, NoAnswer, NotSent
from gateway.accounts.registry import CHECK_AGAIN, AccountRegistry, UnsealedAccount
from gateway.accounts.renewal import CredentialRenewal
from gateway.accounts.sender import RequestSender
from gateway.problems import CallProblemError

log = structlog.get_logger(__name__)

_AGAIN_IF_AWAY: Final = timedelta(hours=1)
_CLAIMED: Final = timedelta(minutes=5)
_AT_A_TICK: Final = 5


class AccountHealthChecker:
    """Checks accounts at their providers; the process has one.

    Args:
        connections: of the gateway's database.
        registry: of accounts.
        renewal: renews credentials that expire.
        sender: sends the requests.
    """

    def __init__(
        self,
        connections: Connections,
        registry: AccountRegistry,
        renewal: CredentialRenewal,
        sender: RequestSender,
    ) -> None:
        self._connections = connections
        self._registry = registry
        self._renewal = renewal
        self._sender = sender

    async def tick(self) -> None:
        """Checks up to five due accounts and deletes expired rows."""
        async with self._connections.connection() as connection:
            due = await store.claim_due(connection, _AT_A_TICK, _CLAIMED)
            await fences.forget(connection)
        for name in due:
            try:
                await self.check(name)
            except DatabaseUnavailableError:
                raise
            except CallProblemError as error:
                # Disconnected since the claim, or sealed with a missing key.
                log.warning("account_not_looked_at", account=name, why=error.problem.detail)

    async def check(self, name: str) -> None:
        """Asks the provider who the account is, and stores the answer.

        Raises:
            CallProblemError: no such account exists, or its credentials cannot be opened.
        """
        unsealed = await self._registry.find(name)
        try:
            unsealed = await self._renewal.fresh(unsealed)
            checked = await unsealed.kind.check(self._sender.asking(unsealed.kind.seconds), unsealed.context)
        except AccessRefused as error:
            await self._registry.mark_refused(unsealed.account, _masked(str(error), unsealed))
        except (NotSent, NoAnswer) as error:
            await self._note_trouble(unsealed, str(error))
        except CallProblemError as error:
            if (
                error.problem.type != "account.needs_reconnecting"
            ):  # Otherwise the renewal has stored the state
                # already.
                await self._note_trouble(unsealed, error.problem.detail)
        else:
            async with self._connections.connection() as connection:
                await store.mark_healthy(connection, unsealed.account, checked, CHECK_AGAIN)

    async def _note_trouble(self, unsealed: UnsealedAccount, why: str) -> None:
        detail = _masked(f"it could not be looked at: {why}", unsealed)
        async with self._connections.connection() as connection:
            await store.mark_unchecked(connection, unsealed.account, detail, _AGAIN_IF_AWAY)


def _masked(text: str, unsealed: UnsealedAccount) -> str:
    """Hides the account's secrets, which a provider may have echoed."""
    for secret in filter(None, unsealed.credentials.secrets()):
        text = text.replace(secret, redaction.HIDDEN)
    return redaction.text(text)
