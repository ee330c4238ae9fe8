"""Fetches from the gateway which accounts soon expire. All replicas run the poller; one of them fetches each hour."""

import asyncio
from datetime import timedelta
from typing import Annotated, Final

import structlog
from pydantic import AwareDatetime, BaseModel, SecretStr, StringConstraints, ValidationError

from chassis.http.client import PassingError, Peer, ServiceClient, UnusableAnswerError
from messaging import Database
from orchestrator.accounts import store
from orchestrator.accounts.store import ReportedAccount

log = structlog.get_logger(__name__)

REST: Final = timedelta(minutes=1)
"""Pause between two checks whether the hour is over."""
_SECONDS: Final = 20.0
_MAX_BYTES: Final = 16_000_000
_MAX_DETAIL: Final = 300
_TROUBLES: Final = frozenset({"expiring", "needs_reconnecting"})
_Word = Annotated[str, StringConstraints(max_length=200)]


class _Account(BaseModel):
    """The fields of a gateway account that this service uses."""

    name: _Word
    kind: _Word
    brands: tuple[_Word, ...]
    state: str
    detail: str | None = None
    expires_at: AwareDatetime | None = None

    def seen(self) -> ReportedAccount:
        detail = (self.detail or "")[:_MAX_DETAIL]
        return ReportedAccount(self.name, self.kind, self.brands, self.state, detail, self.expires_at)


class _Accounts(BaseModel):
    items: tuple[_Account, ...]


class AccountHealthPoller:
    """Stores the state of all accounts every hour. `gateway_url` None: there are no accounts."""

    def __init__(self, database: Database, gateway_url: str | None, key: SecretStr) -> None:
        self._database = database
        self._gateway: ServiceClient | None = None
        if gateway_url is not None:
            peer = Peer("the gateway", gateway_url, "GATEWAY_URL", key)
            self._gateway = ServiceClient(peer, timeout_seconds=_SECONDS, max_bytes=_MAX_BYTES)

    async def aclose(self) -> None:
        if self._gateway is not None:
            await self._gateway.aclose()

    async def run(self) -> None:
        """Runs until cancelled; returns at once without a gateway."""
        while self._gateway is not None:
            await self.look()
            await asyncio.sleep(REST.total_seconds())

    async def look(self) -> bool:
        """Fetches and stores the accounts if an hour is over; returns whether something was stored."""
        if self._gateway is None:
            return False
        async with self._database.transaction() as tx:
            if not await store.claim_check(tx.connection):
                return False
        try:
            reply = await self._gateway.ask("GET", "/v1/accounts")
        except (PassingError, UnusableAnswerError) as error:
            return await self._not_seen(str(error))
        try:
            said = _Accounts.model_validate_json(reply.body)
        except ValidationError:
            return await self._not_seen(f"the gateway answered {reply.status}, and no list of accounts")
        seen = [each.seen() for each in said.items if each.state in _TROUBLES]
        async with self._database.transaction() as tx:
            await store.note_accounts(tx.connection, seen)
        return True

    async def _not_seen(self, why: str) -> bool:
        async with self._database.transaction() as tx:
            await store.note_trouble(tx.connection, why[:_MAX_DETAIL])
        log.warning("accounts_not_seen", why=why)
        return False
