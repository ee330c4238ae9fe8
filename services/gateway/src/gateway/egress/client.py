"""Fetches web addresses: it checks every redirect, and limits time and size."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Self

import httpcore2
import httpx

from chassis.http.outgoing import reason_of
from gateway.egress.addresses import Network
from gateway.egress.connections import GuardedConnections, Resolve, system_resolver
from gateway.egress.decoding import ACCEPTED, decoder
from gateway.egress.errors import EgressRefusedError, EgressUnavailableError
from gateway.egress.urls import EgressUrl, parse

MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CONNECT_SECONDS: Final = 5.0
_AT_ONCE: Final = 16
"""Concurrent answers; each may be as large as its limit."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of one answer."""

    seconds: float
    """From the first connection to the last byte, redirects included; waits in `before` and for a free place do not count."""
    max_bytes: int
    """Size of the decoded body; 0: no body is read."""


@dataclass(frozen=True, slots=True)
class FetchedResponse:
    """The answer after all redirects."""

    target: EgressUrl
    status: int
    headers: Mapping[str, str]
    """Names are in lower case; repeated headers are joined with commas."""
    body: bytes
    """Only of status 200; other bodies are not read."""

    @property
    def media_type(self) -> str:
        return media_type_of(self.headers)


def media_type_of(headers: Mapping[str, str]) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`; empty without the header."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


async def _nothing(_: EgressUrl) -> None:
    pass


class EgressClient:
    """Fetches untrusted addresses; the process has one.

    Args:
        user_agent: the header `User-Agent`.
        exceptions: private networks that may be reached all the same.
        resolve: looks up names.
    """

    def __init__(
        self, user_agent: str, *, exceptions: Iterable[Network] = (), resolve: Resolve = system_resolver
    ) -> None:
        self._user_agent = user_agent
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=None,
            max_keepalive_connections=0,  # Each connection is checked anew, and sites cannot keep ours open.
            network_backend=GuardedConnections(resolve, exceptions),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def get(
        self,
        target: EgressUrl,
        limits: FetchLimits,
        *,
        media_types: Collection[str] | None = None,
        headers: Mapping[str, str] | None = None,
        before: Callable[[EgressUrl], Awaitable[None]] = _nothing,
        body: bool = True,
    ) -> FetchedResponse:
        """Fetches the URL, following redirects; returns answers of any status.

        Args:
            target: the first URL.
            limits: of all redirects together, and of the body.
            media_types: accepted types of the body; None: any.
            headers: additional headers.
            before: called with each URL before its request; it may wait, or raise.
            body: False: the connection closes after the headers. The request is a GET all the same, since many
                sites mishandle HEAD.

        Raises:
            EgressRefusedError: the URL is not permitted, or the answer is unusable.
            EgressUnavailableError: no complete answer came in time.
        """
        left = limits.seconds
        for _ in range(MAX_REDIRECTS + 1):
            await before(target)
            async with self._room:
                began = time.monotonic()
                bounds = FetchLimits(left, limits.max_bytes if body else 0)
                found = await self._hop(target, bounds, media_types, headers or {})
                left -= time.monotonic() - began
            if isinstance(found, FetchedResponse):
                return found
            target = found
        raise EgressRefusedError("redirects", f"The site redirects more than {MAX_REDIRECTS} times")

    async def _hop(
        self,
        target: EgressUrl,
        limits: FetchLimits,
        media_types: Collection[str] | None,
        headers: Mapping[str, str],
    ) -> FetchedResponse | EgressUrl:
        try:
            async with asyncio.timeout(max(limits.seconds, 0.0)), self._asked(target, headers) as answer:
                found = _headers(answer)
                if answer.status in _REDIRECTS and "location" in found:
                    return parse(found["location"], after=target)
                if answer.status != HTTPStatus.OK or not limits.max_bytes:
                    return FetchedResponse(target, answer.status, found, b"")
                if media_types is not None and media_type_of(found) not in media_types:
                    raise EgressRefusedError(
                        "media_type",
                        f"{target.host} has {media_type_of(found)[:80] or 'something unnamed'} there, not a text",
                    )
                return FetchedResponse(
                    target, answer.status, found, await _body(answer, found, limits.max_bytes)
                )
        except TimeoutError:
            raise EgressUnavailableError("timeout", f"{target.host} did not answer in time") from None

    @asynccontextmanager
    async def _asked(
        self, target: EgressUrl, headers: Mapping[str, str]
    ) -> AsyncIterator[httpcore2.Response]:
        sent = {
            "Host": target.authority,
            "User-Agent": self._user_agent,
            "Accept-Encoding": ACCEPTED,
            **headers,
        }
        url = httpcore2.URL(
            scheme=target.scheme.encode(),
            host=target.host.encode(),
            port=target.port,
            target=target.path.encode(),
        )
        waits = {"connect": _CONNECT_SECONDS}
        try:
            async with self._pool.stream(
                "GET", url, headers=list(sent.items()), extensions={"timeout": waits}
            ) as answer:
                yield answer
        except httpcore2.TimeoutException:
            raise EgressUnavailableError("timeout", f"{target.host} did not answer in time") from None
        except httpcore2.ConnectError as error:
            if _is_about_trust(error):
                raise EgressRefusedError(
                    "certificate", f"{target.host} has no certificate that can be trusted"
                ) from error
            raise EgressUnavailableError(
                "unreachable", f"{target.host} cannot be reached: {reason_of(error)}"
            ) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
            raise EgressUnavailableError(
                "broken_off", f"{target.host} broke off: {reason_of(error)}"
            ) from error


def _headers(answer: httpcore2.Response) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in answer.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


async def _body(answer: httpcore2.Response, headers: Mapping[str, str], max_bytes: int) -> bytes:
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > max_bytes:
        raise _too_large(max_bytes)
    decoding = decoder(headers.get("content-encoding"))
    body = bytearray()
    received = 0
    async for chunk in answer.aiter_stream():
        received += len(chunk)
        if received > max_bytes:
            raise _too_large(max_bytes)
        for part in decoding.feed(chunk):
            body += part
            if len(body) > max_bytes:
                raise _too_large(max_bytes)
    decoding.end()
    return bytes(body)


def _too_large(max_bytes: int) -> EgressRefusedError:
    return EgressRefusedError("too_large", f"What is there is larger than {max_bytes / 1e6:g} MB")


def _is_about_trust(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
