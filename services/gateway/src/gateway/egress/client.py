"""Getting what is at an address: every hop checked, everything bounded."""

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

from gateway.egress.addresses import Network
from gateway.egress.connecting import GuardedConnections, Resolve, system_resolver
from gateway.egress.decoding import ACCEPTED, decoder
from gateway.egress.errors import PassingError, RefusedError
from gateway.egress.urls import Target, parse

MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CONNECT_SECONDS: Final = 5.0
_AT_ONCE: Final = 16
"""Answers that are read at a time, each of which may be as large as its limit says."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one answer may take."""

    seconds: float
    """From the first connection to the last byte, redirects included; what `before` waits, or the turn takes to come, does not count."""
    max_bytes: int
    """Of a body, as it is before compression; 0: none is read."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer at the end of the redirects."""

    target: Target
    status: int
    headers: Mapping[str, str]
    """By names in lower case; one that came several times is joined with commas."""
    body: bytes
    """Of 200 alone: nobody has a use for what comes with another status, and it is not read."""

    @property
    def media_type(self) -> str:
        return media_type_of(self.headers)


def media_type_of(headers: Mapping[str, str]) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`; empty if the site does not say."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


async def _nothing(_: Target) -> None:
    pass


class Egress:
    """One for the life of the process.

    Args:
        user_agent: how it introduces itself.
        exceptions: networks that are not public and may be reached nevertheless.
        resolve: how names are looked up.
    """

    def __init__(
        self, user_agent: str, *, exceptions: Iterable[Network] = (), resolve: Resolve = system_resolver
    ) -> None:
        self._user_agent = user_agent
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=None,
            max_keepalive_connections=0,  # each is checked anew, and strangers hold none of ours open
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
        target: Target,
        limits: Limits,
        *,
        media_types: Collection[str] | None = None,
        headers: Mapping[str, str] | None = None,
        before: Callable[[Target], Awaitable[None]] = _nothing,
        body: bool = True,
    ) -> Fetched:
        """What is at the target, or where it leads; answers of any status.

        Args:
            target: where to begin.
            limits: of all hops together, and of the body.
            media_types: of a body that is wanted; None: any.
            headers: to be sent too.
            before: called with the target of each hop before it is asked; it may wait, or raise.
            body: whether it is read; if not, the connection is closed as soon as the headers are there. That is a GET all the same:
                many sites answer HEAD otherwise, or not at all.

        Raises:
            RefusedError: an address that may not be asked, or an answer that is not wanted.
            PassingError: no whole answer in time.
        """
        left = limits.seconds
        for _ in range(MAX_REDIRECTS + 1):
            await before(target)
            async with self._room:
                began = time.monotonic()
                bounds = Limits(left, limits.max_bytes if body else 0)
                found = await self._hop(target, bounds, media_types, headers or {})
                left -= time.monotonic() - began
            if isinstance(found, Fetched):
                return found
            target = found
        raise RefusedError("redirects", f"The site redirects more than {MAX_REDIRECTS} times")

    async def _hop(
        self, target: Target, limits: Limits, media_types: Collection[str] | None, headers: Mapping[str, str]
    ) -> Fetched | Target:
        try:
            async with asyncio.timeout(max(limits.seconds, 0.0)), self._asked(target, headers) as answer:
                found = _headers(answer)
                if answer.status in _REDIRECTS and "location" in found:
                    return parse(found["location"], after=target)
                if answer.status != HTTPStatus.OK or not limits.max_bytes:
                    return Fetched(target, answer.status, found, b"")
                if media_types is not None and media_type_of(found) not in media_types:
                    raise RefusedError(
                        "media_type",
                        f"{target.host} has {media_type_of(found)[:80] or 'something unnamed'} there, not a text",
                    )
                return Fetched(target, answer.status, found, await _body(answer, found, limits.max_bytes))
        except TimeoutError:
            raise PassingError("timeout", f"{target.host} did not answer in time") from None

    @asynccontextmanager
    async def _asked(self, target: Target, headers: Mapping[str, str]) -> AsyncIterator[httpcore2.Response]:
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
            raise PassingError("timeout", f"{target.host} did not answer in time") from None
        except httpcore2.ConnectError as error:
            if _is_about_trust(error):
                raise RefusedError(
                    "certificate", f"{target.host} has no certificate that can be trusted"
                ) from error
            raise PassingError("unreachable", f"{target.host} cannot be reached: {error}") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
            raise PassingError("broken_off", f"{target.host} broke off: {error}") from error


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


def _too_large(max_bytes: int) -> RefusedError:
    return RefusedError("too_large", f"What is there is larger than {max_bytes / 1e6:g} MB")


def _is_about_trust(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
