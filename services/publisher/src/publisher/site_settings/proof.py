"""Proves that a brand controls a host, by a file at the host that names the site.

The gateway reads the file, because it reaches only public addresses.
"""

import asyncio
from base64 import b64decode
from http import HTTPStatus
from secrets import token_hex
from typing import Final, Protocol
from urllib.parse import urlencode, urlsplit

from pydantic import SecretStr

from chassis.http.client import FailedError, Peer, ServiceClient, UnavailableError, UnusableAnswerError
from publisher.site_settings.store import host_name

_SECONDS: Final = 15.0
_AT_ONCE: Final = 2
"""Files read at a time: each request holds a database connection meanwhile."""
_MAX_BYTES: Final = 2_000_000


def proof_path(brand: str) -> str:
    """The path of the file. The publisher serves nothing at it, so a host that leads to the publisher proves nothing."""
    return f"/.well-known/brand-engine/{brand}.txt"


class HostProof(Protocol):
    async def problem(self, origin: str, brand: str, expected: str) -> str | None:
        """Why the file does not prove that the brand controls the host; None if it does."""
        ...


class GatewayHostProof:
    """Reads the file through the gateway. One for the life of the process.

    Args:
        gateway_url: `GATEWAY_URL`; None: no host can be proven.
        key: the service key for the gateway.
    """

    def __init__(self, gateway_url: str | None, key: SecretStr) -> None:
        self._gateway = None
        if gateway_url is not None:
            peer = Peer("the gateway", gateway_url, "GATEWAY_URL", key)
            self._gateway = ServiceClient(peer, timeout_seconds=_SECONDS, max_bytes=_MAX_BYTES)
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def aclose(self) -> None:
        if self._gateway is not None:
            await self._gateway.aclose()

    async def problem(self, origin: str, brand: str, expected: str) -> str | None:
        """As `HostProof.problem`; `expected` is the file's text without white space around it."""
        if self._gateway is None:
            return "the publisher has no GATEWAY_URL, so it cannot read the file"
        if self._room.locked():
            return "the publisher reads other files right now; try again in a minute"
        async with self._room:
            return await self._read(self._gateway, origin, brand, expected)

    async def _read(self, gateway: ServiceClient, origin: str, brand: str, expected: str) -> str | None:
        # Bypasses the gateway's cache: an earlier copy proves nothing.
        url = f"{origin}{proof_path(brand)}?{urlencode({'look': token_hex(8)})}"
        try:
            reply = await gateway.ask("GET", f"/v1/pages?{urlencode({'url': url})}")
        except (FailedError, UnavailableError, UnusableAnswerError) as error:
            return str(error)
        told = reply.document
        if reply.status != HTTPStatus.OK:
            return str(told.get("detail") or f"the gateway answered {reply.status}")
        final = str(told.get("final", ""))
        if (urlsplit(final).hostname or "") != host_name(origin):
            return f"it leads to another host, {final}"
        try:
            found = b64decode(str(told.get("body", ""))).decode().strip()
        except ValueError:
            return "it is not text"
        return None if found == expected else "it contains another text"
