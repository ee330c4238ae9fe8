"""Erases a brand's data at the gateway, after all other services have confirmed, and retries until the gateway confirms."""

from datetime import timedelta
from http import HTTPStatus
from typing import Final

import structlog
from pydantic import SecretStr

from chassis.http.client import PassingError, Peer, ServiceClient, UnusableAnswerError
from messaging import Database
from orchestrator.erasure import store
from orchestrator.erasure.store import GATEWAY, Erasure

log = structlog.get_logger(__name__)

_SHORTEST: Final = timedelta(seconds=5)
_LONGEST: Final = timedelta(minutes=5)
"""Longest pause between two attempts while the gateway is unreachable."""
_SECONDS: Final = 20.0
_MAX_BYTES: Final = 100_000


class GatewayErasure:
    """Erases brands at the gateway over HTTP. A repeated request changes nothing there.

    Args:
        gateway_url: None without a gateway; then no brand data is outside.
        everybody: services that confirm before the gateway.
    """

    def __init__(
        self, database: Database, gateway_url: str | None, key: SecretStr, everybody: frozenset[str]
    ) -> None:
        self._database = database
        self._everybody = everybody
        self._pause = _SHORTEST
        self._gateway = None
        if gateway_url is not None:
            peer = Peer("the gateway", gateway_url, "GATEWAY_URL", key)
            self._gateway = ServiceClient(peer, timeout_seconds=_SECONDS, max_bytes=_MAX_BYTES)

    async def aclose(self) -> None:
        if self._gateway is not None:
            await self._gateway.aclose()

    async def retry(self) -> timedelta:
        """Ends the erasures that wait for the gateway, and returns the pause before the next attempt."""
        self._pause = _SHORTEST if await self.finish() else min(self._pause * 2, _LONGEST)
        return self._pause

    async def finish(self) -> bool:
        """Ends the erasures that wait only for the gateway; False if the gateway did not answer."""
        async with self._database.connection() as connection:
            waiting = await store.waiting_for_the_gateway(connection, self._everybody)
        for erasure in waiting:
            removed = None
            if self._gateway is not None:
                try:
                    removed = await self._asked(self._gateway, erasure)
                except (PassingError, UnusableAnswerError) as error:
                    log.warning("accounts_not_erased", brand=erasure.brand_slug, error=str(error))
                    return False
            async with self._database.transaction() as tx:
                if await store.lock_erasure(tx.connection, erasure.erasure_id) is None:
                    continue
                if removed is not None:
                    await store.insert_receipt(tx.connection, erasure.erasure_id, GATEWAY, removed)
                await store.end_erasure(tx.connection, erasure.erasure_id)
            log.warning("brand_erased", brand=erasure.brand_slug, erasure_id=str(erasure.erasure_id))
        return True

    async def _asked(self, gateway: ServiceClient, erasure: Erasure) -> dict[str, int]:
        asked = {"brand": erasure.brand_slug}
        reply = await gateway.ask("PUT", f"/v1/erasures/{erasure.erasure_id}", json=asked)
        if reply.status != HTTPStatus.OK:
            raise UnusableAnswerError(f"the gateway answered {reply.status}: {reply.document.get('detail')}")
        removed: dict[str, int] = reply.document["removed"]
        return removed
