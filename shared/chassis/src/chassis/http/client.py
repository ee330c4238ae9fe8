"""Client of another process's API; needs the extra `chassis[client]`.

It never retries: the caller decides about retries, as it knows what waits for the answer.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, Self, TypeVar

import httpcore2
from pydantic import SecretStr

from chassis.http import chain_headers
from chassis.http.conditional import http_date
from chassis.http.outgoing import BROKEN, NOT_CONNECTED, Origin, header, reason_of
from chassis.http.problem_codes import BLANK
from chassis.http.spans import Exchange, client_span

_CONNECT_SECONDS: Final = 10.0
"""A process that the machine holds up for seconds does not take the other side for away."""
_LONGEST_WAIT: Final = timedelta(hours=1)
"""Longer `Retry-After` values are cut to this: longer waits would look like lost work."""
_READY_SECONDS: Final = 2.0
"""Time limit for the readiness check of a service that did not answer in time."""
_REFUSED_KEY: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_OUT_OF_SERVICE: Final = {
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
_AnswerT = TypeVar("_AnswerT")
_PASSING: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.FAILED_DEPENDENCY, HTTPStatus.TOO_EARLY}


class PassingError(Exception):
    """There is no usable answer now; retry after `after`, or at any time if that is None."""

    def __init__(self, problem: str, *, after: timedelta | None = None) -> None:
        super().__init__(problem)
        self.after = after


class UnavailableError(PassingError):
    """The service is away or takes no requests: an outage, not an error of this request."""


class FailedError(PassingError):
    """The service is up, but failed on this request."""


class NotThereError(PassingError):
    """The service does not know the thing: not yet, or not after its restoration."""


class UnusableAnswerError(Exception):
    """The answer is unusable, and a retry would not change it."""


class GoneError(UnusableAnswerError):
    """The thing was removed for good."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another service: its address, its key, and its name in errors."""

    name: str
    """As the subject of a sentence: `the orchestrator`."""
    url: str
    url_setting: str
    """The setting of the address: `ORCHESTRATOR_URL`."""
    service_key: SecretStr | None
    """None: the service needs no key."""


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    body: bytes
    etag: str | None


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with any status; `document` is its JSON object, or empty for other bodies."""

    status: int
    body: bytes
    after: timedelta | None
    """The wait from `Retry-After`."""

    @property
    def document(self) -> dict[str, Any]:
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def problem(self) -> str | None:
        """The `type` of a refusal; None if it has only a status."""
        kind = self.document.get("type")
        return kind if isinstance(kind, str) and kind != BLANK else None


class Unchanged:
    """The thing still has the entity tag that the client sent."""


class ServiceClient:
    """Calls one peer: one client per process, to reuse connections.

    Args:
        peer: the service to call.
        timeout_seconds: limit for a whole exchange, from connecting to the last byte.
        max_bytes: maximum size of an answer.
        max_bytes_setting: the setting that changes it, if there is one.
    """

    def __init__(
        self, peer: Peer, *, timeout_seconds: float, max_bytes: int, max_bytes_setting: str | None = None
    ) -> None:
        self.peer = peer
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._if_too_large = f"; shorten it or raise {max_bytes_setting}" if max_bytes_setting else ""
        # Uncompressed, so that the limit on bytes also limits memory.
        plain = {"Accept": "application/json", "Accept-Encoding": "identity"}
        # Our own timeout bounds the whole exchange.
        self._origin = Origin(
            peer.url, plain | _key(peer.service_key), connect_seconds=min(_CONNECT_SECONDS, timeout_seconds)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._origin.aclose()

    async def get(self, path: str, *, about: str, known_etag: str | None = None) -> JsonAnswer | Unchanged:
        """GET the path; return the answer, or `Unchanged` if `known_etag` is still current.

        Args:
            path: path with query, `/v1/content?id=5`.
            about: name of the thing in errors: `content 5`.
            known_etag: entity tag of the caller's copy.

        Raises:
            UnavailableError: the service is unreachable, breaks off, does not answer in time and is not ready, is out of
                service (502, 503, 504), asks for a pause (429), or refuses our key.
            FailedError: it failed on this request (another 5xx, 408, 424, 425), or did not answer in time though ready.
            NotThereError: the service does not know the thing (yet).
            GoneError: the thing was removed for good.
            UnusableAnswerError: any other status, or an answer that is too large.
        """
        # Without the query, which may name things of other callers.
        place = path.partition("?")[0]
        headers = {} if known_etag is None else {"If-None-Match": known_etag}

        async def read(exchange: Exchange) -> JsonAnswer | Unchanged:
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
        """Send a request to a service with typed refusals; return its answer.

        A refusal with a `type` is a normal answer at any status; failures without a `type` raise.

        Raises:
            UnavailableError: the service is unreachable, breaks off, does not answer in time and is not ready, refuses
                our key, or is out of service (429, 502, 503, 504 without a `type`).
            FailedError: it failed on this request (another 5xx without a `type`), or did not answer in time though
                ready.
            UnusableAnswerError: the answer is too large.
        """
        place = path.partition("?")[0]

        given = dict(headers or {})

        async def read(exchange: Exchange) -> Reply:
            sent = given | exchange.headers | chain_headers.outgoing()
            async with self._origin.sent(method, path, sent, json) as response:
                exchange.answered(response.status)
                answered = await self._body(response, place)
                after = retry_after(header(response, b"retry-after"), datetime.now(UTC))
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
            # The client bounds each read, this timeout their sum: otherwise a slow trickle could go on forever.
            async with asyncio.timeout(self._timeout_seconds):
                with client_span(method, f"{self._origin.url}{path}") as exchange:
                    return await read(exchange)
        except NOT_CONNECTED as error:
            raise UnavailableError(
                f"{self.peer.name} does not answer at {self._origin.url}{place}: {reason_of(error)}"
            ) from error
        except (httpcore2.TimeoutException, TimeoutError) as error:
            # A healthy service may fail on one heavy request; as an outage, its wait would never end.
            problem = f"{self.peer.name} does not answer in time at {self._origin.url}{place}"
            if halfway.done() and halfway.result() and await self._is_ready():
                raise FailedError(f"{problem}; it was ready all the while") from error
            raise UnavailableError(problem) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise UnavailableError(
                f"{self.peer.name} broke off at {self._origin.url}{place}: {reason_of(error)}"
            ) from error
        finally:
            halfway.cancel()

    async def _is_ready(self, *, after: float = 0.0) -> bool:
        """Check readiness, halfway and at the end: a service that was down in between does not count as ready."""
        await asyncio.sleep(after)
        try:
            async with asyncio.timeout(_READY_SECONDS):
                async with self._origin.sent("GET", "/health/ready", {}) as answer:
                    return answer.status == HTTPStatus.OK
        except (*NOT_CONNECTED, *BROKEN, TimeoutError):
            return False

    async def _exchange(
        self, path: str, place: str, about: str, headers: Mapping[str, str], exchange: Exchange
    ) -> JsonAnswer | Unchanged:
        async with self._origin.sent("GET", path, {**headers, **exchange.headers}) as response:
            exchange.answered(response.status)
            if response.status == HTTPStatus.NOT_MODIFIED and headers:
                return Unchanged()
            self._check(response, place, about)
            return JsonAnswer(await self._body(response, place), header(response, b"etag"))

    async def _body(self, response: httpcore2.Response, place: str) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_stream():
            body += chunk
            if len(body) > self._max_bytes:
                raise UnusableAnswerError(
                    f"{self.peer.name}'s answer at {place} is larger than {self._max_bytes} bytes{self._if_too_large}"
                )
        return bytes(body)

    def _check(self, response: httpcore2.Response, place: str, about: str) -> None:
        status = response.status
        if status == HTTPStatus.OK:
            return
        problem = f"{self.peer.name} answered {status} at {place}"
        after = retry_after(header(response, b"retry-after"), datetime.now(UTC))
        # Others may fix a missing thing or a refused key, so these are worth a retry too.
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


def _is_server_error(status: int) -> bool:
    return status // 100 == 5  # noqa: PLR2004  (5xx)


def _key(key: SecretStr | None) -> dict[str, str]:
    return {} if key is None else {"X-Service-Key": key.get_secret_value()}


def retry_after(header: str | None, now: datetime) -> timedelta | None:
    """Parse `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3); None without a valid value."""
    value = (header or "").strip()
    if value.isascii() and value.isdigit():
        return timedelta(seconds=min(int(value[:9]), _LONGEST_WAIT.total_seconds()))
    moment = http_date(value)
    return None if moment is None else min(max(moment - now, timedelta()), _LONGEST_WAIT)
