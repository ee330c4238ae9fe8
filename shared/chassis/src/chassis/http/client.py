"""Asking another process of ours over its API; takes the extra `chassis[client]`.

Nothing is tried again here: that is the business of whoever asks, who knows what waits for the answer.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, urlsplit

import httpcore2
from pydantic import SecretStr

from chassis.http.conditional import http_date
from chassis.http.outgoing import AsyncioConnections
from chassis.http.problems import BLANK
from chassis.http.spans import Exchange, client_span

_CONNECT_SECONDS: Final = 3.0
_KEEPALIVE_SECONDS: Final = 2.0
"""Connections are let go before the other service, which closes idle ones after 5, can close one under a request."""
_LONGEST_WAIT: Final = timedelta(hours=1)
"""A service that asks for more is obeyed no further: what waits for it would seem lost."""
_READY_SECONDS: Final = 2.0
"""For the question whether a service that did not answer in time is there at all."""
_REFUSED_KEY: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_OUT_OF_SERVICE: Final = {
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
_IN_PATHS: Final = "/?&=%:;,@+$!*'()"
"""What stays as it is in a path with its query, apart from letters and digits."""
_AnswerT = TypeVar("_AnswerT")
_BROKEN: Final = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
)
_PASSING: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.FAILED_DEPENDENCY, HTTPStatus.TOO_EARLY}


class PassingError(Exception):
    """No usable answer, for a reason that passes: ask again after `after`, or when it suits."""

    def __init__(self, problem: str, *, after: timedelta | None = None) -> None:
        super().__init__(problem)
        self.after = after


class UnavailableError(PassingError):
    """The service is away or takes no requests: an outage, which says nothing about what was asked."""


class FailedError(PassingError):
    """The service is there, and failed over this request."""


class NotThereError(PassingError):
    """The service does not know what was asked for: not yet, or not since it was restored."""


class UnusableAnswerError(Exception):
    """An answer that no later attempt would better."""


class GoneError(UnusableAnswerError):
    """What was asked for was there once, and will not be again."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another service: where it is found, and how errors speak of it."""

    name: str
    """As the subject of a sentence: `the orchestrator`."""
    url: str
    url_setting: str
    """What people set to change the address: `ORCHESTRATOR_URL`."""
    service_key: SecretStr | None
    """None: what is read there is open to everybody."""


@dataclass(frozen=True, slots=True)
class Answer:
    body: bytes
    etag: str | None


@dataclass(frozen=True, slots=True)
class Reply:
    """Whatever was answered; `document` is its JSON object, or empty if it is none."""

    status: int
    body: bytes
    after: timedelta | None
    """What `Retry-After` asks for."""

    @property
    def document(self) -> dict[str, Any]:
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def problem(self) -> str | None:
        """The `type` of a refusal; None if it has none but its status."""
        kind = self.document.get("type")
        return kind if isinstance(kind, str) and kind != BLANK else None


class Unchanged:
    """What was asked for is still the one with the entity tag that was sent."""


class ServiceClient:
    """One for the life of the process, so that connections are used again.

    Args:
        peer: whom it asks.
        timeout_seconds: for one whole exchange, from connecting to the last byte.
        max_bytes: an answer that is larger is not read to its end.
        max_bytes_setting: what people set to change that, if they can.
    """

    def __init__(
        self, peer: Peer, *, timeout_seconds: float, max_bytes: int, max_bytes_setting: str | None = None
    ) -> None:
        self.peer = peer
        self._url = peer.url.rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._if_too_large = f"; shorten it or raise {max_bytes_setting}" if max_bytes_setting else ""
        self._origin = _Origin.of(self._url)
        # Uncompressed, so that the limit on bytes is one on memory too.
        self._headers = _encoded(
            {"Host": self._origin.authority, "Accept": "application/json", "Accept-Encoding": "identity"}
            | _key(peer.service_key)
        )
        # The whole exchange is bounded by ours.
        self._extensions = {"timeout": {"connect": min(_CONNECT_SECONDS, timeout_seconds)}}
        self._http = httpcore2.AsyncConnectionPool(
            # Certificates of all authorities take a megabyte: for nothing where none is shown.
            ssl_context=httpcore2.default_ssl_context() if self._origin.scheme == "https" else None,
            max_connections=None,
            keepalive_expiry=_KEEPALIVE_SECONDS,
            network_backend=AsyncioConnections(),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def get(self, path: str, *, about: str, known_etag: str | None = None) -> Answer | Unchanged:
        """What is found under the path, or `Unchanged` if `known_etag` still names it.

        Args:
            path: with its query, `/v1/content?id=5`.
            about: what is asked for, as errors call it: `content 5`.
            known_etag: entity tag of what is there already.

        Raises:
            UnavailableError: it cannot be reached or breaks off, does not answer in time and is not ready either, is out
                of service (502, 503, 504), asks for a rest (429), or refuses our key.
            FailedError: it failed over this request (another 5xx, 408, 424, 425), or did not answer it in time though ready.
            NotThereError: the service does not know it (yet).
            GoneError: it was there, and was removed for good.
            UnusableAnswerError: any other status, or an answer that is too large.
        """
        # A query names what others want too, and the error may be about one of them alone.
        place = path.partition("?")[0]
        headers = {} if known_etag is None else {"If-None-Match": known_etag}

        async def read(exchange: Exchange) -> Answer | Unchanged:
            return await self._exchange(path, place, about, headers, exchange)

        return await self._in_time("GET", path, place, read)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        json: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """For a process whose refusals say more than their status: each has a `type` of its own.

        Such a refusal is an answer, whatever its status; what is none says nothing about what was asked.

        Raises:
            UnavailableError: it cannot be reached or breaks off, does not answer in time and is not ready either, refuses
                our key, or is out of service (429, 502, 503, 504 without a `type`).
            FailedError: it failed over this request (another 5xx without a `type`), or did not answer it in time though
                ready.
            UnusableAnswerError: an answer that is too large.
        """
        place = path.partition("?")[0]

        body = None if json is None else _as_json(json)
        given = dict(headers or {}) | ({} if body is None else {"Content-Type": "application/json"})

        async def read(exchange: Exchange) -> Reply:
            async with self._sent(method, path, given | exchange.headers, body) as response:
                exchange.answered(response.status)
                answered = await self._body(response, place)
                after = retry_after(_header(response, b"retry-after"), datetime.now(UTC))
                reply = Reply(response.status, answered, after)
                away = response.status in _OUT_OF_SERVICE or _is_server_error(response.status)
                if response.status in _REFUSED_KEY or (away and reply.problem is None):
                    self._check(response, place, "this")
                return reply

        return await self._in_time(method, path, place, read)

    async def _in_time(
        self, method: str, path: str, place: str, read: Callable[[Exchange], Awaitable[_AnswerT]]
    ) -> _AnswerT:
        halfway = asyncio.create_task(self._is_ready(after=self._timeout_seconds / 2))
        try:
            # Each read is bounded by the client, their sum by this: a slow trickle would keep it content for ever.
            async with asyncio.timeout(self._timeout_seconds):
                with client_span(method, f"{self._url}{path}") as exchange:
                    return await read(exchange)
        except (httpcore2.ConnectTimeout, httpcore2.ConnectError, httpcore2.UnsupportedProtocol) as error:
            raise UnavailableError(
                f"{self.peer.name} does not answer at {self._url}{place}: {error!r}"
            ) from error
        except (httpcore2.TimeoutException, TimeoutError) as error:
            # One request may be too much for a service that is well: waiting would never end for it.
            problem = f"{self.peer.name} does not answer in time at {self._url}{place}: {error!r}"
            if halfway.done() and halfway.result() and await self._is_ready():
                raise FailedError(f"{problem}; it was ready all the while") from error
            raise UnavailableError(problem) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise UnavailableError(f"{self.peer.name} broke off at {self._url}{place}: {error!r}") from error
        finally:
            halfway.cancel()

    async def _is_ready(self, *, after: float = 0.0) -> bool:
        """Asked halfway and at the end: a service that comes back or goes away in between is no proof of anything."""
        await asyncio.sleep(after)
        try:
            async with asyncio.timeout(_READY_SECONDS):
                async with self._sent("GET", "/health/ready", {}) as answer:
                    return answer.status == HTTPStatus.OK
        except (*_BROKEN, TimeoutError):
            return False

    async def _exchange(
        self, path: str, place: str, about: str, headers: Mapping[str, str], exchange: Exchange
    ) -> Answer | Unchanged:
        async with self._sent("GET", path, {**headers, **exchange.headers}) as response:
            exchange.answered(response.status)
            if response.status == HTTPStatus.NOT_MODIFIED and headers:
                return Unchanged()
            self._check(response, place, about)
            return Answer(await self._body(response, place), _header(response, b"etag"))

    async def _body(self, response: httpcore2.Response, place: str) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_stream():
            body += chunk
            if len(body) > self._max_bytes:
                raise UnusableAnswerError(
                    f"{self.peer.name}'s answer at {place} is larger than {self._max_bytes} bytes{self._if_too_large}"
                )
        return bytes(body)

    def _sent(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AbstractAsyncContextManager[httpcore2.Response]:
        return self._http.stream(
            method,
            self._origin.url(path),
            headers=[*self._headers, *_encoded(headers)],
            content=body,
            extensions=self._extensions,
        )

    def _check(self, response: httpcore2.Response, place: str, about: str) -> None:
        status = response.status
        if status == HTTPStatus.OK:
            return
        problem = f"{self.peer.name} answered {status} at {place}"
        after = retry_after(_header(response, b"retry-after"), datetime.now(UTC))
        # What is missing or refused is put right by someone else, so these are worth another attempt too.
        if status == HTTPStatus.NOT_FOUND:
            raise NotThereError(f"{problem}: it does not know {about} (yet)", after=after)
        if status in _REFUSED_KEY:
            raise UnavailableError(
                f"{problem}: it refused our key; give both services the same key and restart this one",
                after=after,
            )
        if status in _OUT_OF_SERVICE:
            raise UnavailableError(problem, after=after)
        if _is_server_error(status) or status in _PASSING:
            raise FailedError(problem, after=after)
        if status == HTTPStatus.GONE:
            raise GoneError(f"{problem}: {about} was removed for good")
        raise UnusableAnswerError(
            f"{problem} for {about}; check that {self.peer.url_setting} names {self.peer.name}"
        )


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a service is, taken apart once."""

    scheme: str
    host: str
    port: int | None
    authority: str
    """As the header Host has it."""
    prefix: str
    """Of every path."""

    @classmethod
    def of(cls, url: str) -> Self:
        parts = urlsplit(url)
        authority = parts.netloc.rpartition("@")[2]
        return cls(parts.scheme.lower(), parts.hostname or "", parts.port, authority, parts.path)

    def url(self, path: str) -> httpcore2.URL:
        target = quote(f"{self.prefix}{path}", safe=_IN_PATHS).encode()
        return httpcore2.URL(scheme=self.scheme, host=self.host, port=self.port, target=target)


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]


def _header(response: httpcore2.Response, name: bytes) -> str | None:
    """By its name in lower case; the first, if there are several."""
    for given, value in response.headers:
        if given.lower() == name:
            return value.decode("latin-1")
    return None


def _as_json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _is_server_error(status: int) -> bool:
    return status // 100 == 5  # noqa: PLR2004  (5xx)


def _key(key: SecretStr | None) -> dict[str, str]:
    return {} if key is None else {"X-Service-Key": key.get_secret_value()}


def retry_after(header: str | None, now: datetime) -> timedelta | None:
    """The wait that `Retry-After` asks for, in seconds or as a date (RFC 9110, 10.2.3); None if it says nothing."""
    value = (header or "").strip()
    if value.isascii() and value.isdigit():
        return timedelta(seconds=min(int(value[:9]), _LONGEST_WAIT.total_seconds()))
    moment = http_date(value)
    return None if moment is None else min(max(moment - now, timedelta()), _LONGEST_WAIT)
