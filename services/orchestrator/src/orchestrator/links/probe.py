"""Probes an address: external ones through the gateway, pages of the built-in sites at the publisher."""

from datetime import timedelta
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode, urlsplit

from pydantic import SecretStr

from chassis.http.client import FailedError, Peer, ServiceClient, UnavailableError, UnusableAnswerError
from orchestrator.links.domain import LinkKind, ProbeAnswer, ProbeOutcome, answered, together

_SECONDS: Final = 120.0
"""The gateway waits for its rate limits, follows redirects and reads robots.txt first."""
_MAX_BYTES: Final = 4_000_000
_NOT_CONFIGURED: Final = "page.not_configured"
_BUSY: Final = "page.busy"
_SITES: Final = "/sites/"


class ProberUnavailableError(Exception):
    """The gateway or the publisher cannot be asked now; the message says why and what to do."""


class ProbeLaterError(Exception):
    """The site's rate limit is reached; retry after `after`."""

    def __init__(self, after: timedelta) -> None:
        super().__init__(f"again after {after}")
        self.after = after


class LinkProbe:
    """Probes links; create one per process. Gateway or publisher may be missing."""

    def __init__(self, gateway_url: str | None, pages_url: str | None, key: SecretStr) -> None:
        self._gateway = _client("the gateway", gateway_url, "GATEWAY_URL", key)
        self._pages = _client("the publisher", pages_url, "PAGES_URL", None)

    async def aclose(self) -> None:
        for client in (self._gateway, self._pages):
            if client is not None:
                await client.aclose()

    async def look(self, kind: LinkKind, address: str) -> ProbeAnswer:
        """Probes an address.

        Raises:
            ProberUnavailableError: the gateway or the publisher is away or not configured.
            ProbeLaterError: the site's rate limit is reached.
        """
        if kind is LinkKind.SOURCE:
            return await self._outside(address)
        inside = await self._inside(address)
        if inside is not None and inside.outcome is not ProbeOutcome.THERE:
            return inside
        try:
            outside = await self._outside(address)
        except ProberUnavailableError:
            if inside is None:
                raise
            outside = None
        return together(inside, outside)

    async def _inside(self, address: str) -> ProbeAnswer | None:
        """Asks the publisher; None without a publisher, or if the address is no page of the built-in sites."""
        _, sites, place = urlsplit(address).path.partition(_SITES)
        if self._pages is None or not sites:
            return None
        try:
            reply = await self._pages.ask("GET", f"{_SITES}{place}")
        except UnavailableError as error:
            raise ProberUnavailableError(str(error)) from error
        except (FailedError, UnusableAnswerError) as error:
            return ProbeAnswer(ProbeOutcome.UNSURE, str(error))
        return answered("the publisher", reply.status)

    async def _outside(self, address: str) -> ProbeAnswer:
        if self._gateway is None:
            raise ProberUnavailableError("no gateway is configured: set GATEWAY_URL")
        try:
            reply = await self._gateway.ask("GET", f"/v1/pages/answer?{urlencode({'url': address})}")
        except UnavailableError as error:
            raise ProberUnavailableError(str(error)) from error
        except (FailedError, UnusableAnswerError) as error:
            return ProbeAnswer(ProbeOutcome.UNSURE, str(error))
        told = reply.document
        detail = str(told.get("detail") or f"the gateway answered {reply.status}")
        if reply.problem == _NOT_CONFIGURED or (reply.status != HTTPStatus.OK and reply.problem is None):
            raise ProberUnavailableError(f"the gateway says: {detail}")
        if reply.problem == _BUSY:
            raise ProbeLaterError(reply.after or timedelta(minutes=1))
        if reply.status != HTTPStatus.OK:
            return ProbeAnswer(ProbeOutcome.UNSURE, detail)
        status = told.get("status")
        return (
            answered("its site", status)
            if isinstance(status, int)
            else ProbeAnswer(ProbeOutcome.UNSURE, detail)
        )


def _client(name: str, url: str | None, setting: str, key: SecretStr | None) -> ServiceClient | None:
    if url is None:
        return None
    return ServiceClient(Peer(name, url, setting, key), timeout_seconds=_SECONDS, max_bytes=_MAX_BYTES)
