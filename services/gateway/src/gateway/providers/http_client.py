"""Sends one request to a provider and reads its answer within limits.

It never retries: that decision is the caller's.
"""

import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

import httpcore2
import httpx

from chassis import redaction
from chassis.http.client import retry_after
from chassis.http.outgoing import AsyncioConnections
from chassis.http.spans import client_span
from gateway.outcomes import FailedCall
from gateway.problems import CallProblem

_CONNECT_SECONDS: Final = 5.0
_KEEPALIVE_SECONDS: Final = 2.0
"""Idle connections close after this time. Many servers close them after 5 seconds; a request lost that way would
count as spent."""
_MAX_BYTES: Final = 4_000_000
_HEADERS: Final = {
    "Accept": "application/json",
    # Uncompressed, so the byte limit also limits memory.
    "Accept-Encoding": "identity",
}
_QUOTED: Final = 300
_AWAY_FOR: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class ProviderResponse:
    """A provider's answer, including error statuses."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def document(self) -> Any:
        """The JSON in the body, or None."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def quoted(self) -> str:
        """The beginning of the body, for error messages."""
        return quoted(self.body[: 4 * _QUOTED].decode(errors="replace"))


def quoted(said: object) -> str:
    """The beginning of a provider's text, for error messages. Secrets are masked before the cut, which could split one."""
    return redaction.text(str(said or ""))[:_QUOTED].strip()


class ProviderHttpClient:
    """Sends requests to providers; the process has one.

    Args:
        user_agent: the header `User-Agent`; some providers refuse requests without it.
    """

    def __init__(self, user_agent: str) -> None:
        self._headers = _HEADERS | {"User-Agent": user_agent}
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            max_connections=None,
            keepalive_expiry=_KEEPALIVE_SECONDS,
            network_backend=AsyncioConnections(),
        )

    async def close(self) -> None:
        await self._pool.aclose()

    async def send(
        self,
        name: str,
        method: str,
        url: str,
        *,
        seconds: float,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> ProviderResponse:
        """Sends a request to the named provider.

        Raises:
            FailedCall: `provider.away`, free of charge; `provider.no_answer` after sending;
                `provider.unusable_answer`.
        """
        where = httpx.URL(url, params=dict(parameters)) if parameters else httpx.URL(url)
        given = {"Host": where.netloc.decode("ascii"), **self._headers, **(headers or {})}
        if body is not None:
            given["Content-Type"] = "application/json"
        asking = self._pool.stream(
            method,
            httpcore2.URL(
                scheme=where.raw_scheme, host=where.raw_host, port=where.port, target=where.raw_path
            ),
            headers=[(header.encode("ascii"), value.encode("ascii")) for header, value in given.items()],
            content=None if body is None else _as_json(body),
            extensions={
                "timeout": {
                    "connect": min(_CONNECT_SECONDS, seconds),
                    "read": seconds,
                    "write": seconds,
                }
            },
        )
        try:
            # The trace ends here: trace ids stay private, so no header carries them.
            with client_span(method, url) as exchange:
                response = await _exchange(name, asking)
                exchange.answered(response.status)
                return response
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.UnsupportedProtocol) as error:
            raise FailedCall(_away(name, error)) from error
        except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            # The request was sent, and may have been answered.
            raise FailedCall(_no_answer(name, error), spent=None) from error


async def _exchange(name: str, asking: AbstractAsyncContextManager[httpcore2.Response]) -> ProviderResponse:
    async with asking as response:
        headers = httpx.Headers(response.headers)
        if headers.get("Content-Encoding", "identity").lower() not in {"", "identity"}:
            raise FailedCall(
                unusable(name, "it is compressed, although the request forbade that"), spent=None
            )
        body = bytearray()
        async for chunk in response.aiter_stream():
            body += chunk
            if len(body) > _MAX_BYTES:
                raise FailedCall(unusable(name, f"it is larger than {_MAX_BYTES:,} bytes"), spent=None)
        return ProviderResponse(response.status, headers, bytes(body))


def _as_json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _away(name: str, error: Exception) -> CallProblem:
    return CallProblem(
        "provider.away",
        f"{name} cannot be reached: {error!r}",
        HTTPStatus.SERVICE_UNAVAILABLE,
        transient=True,
        after=_AWAY_FOR,
    )


def _no_answer(name: str, error: Exception) -> CallProblem:
    # No automatic retry: a request too large for a healthy provider would be charged each time.
    return CallProblem(
        "provider.no_answer",
        f"{name} broke off or did not answer in time: {error!r}; the call counts as spent, because its outcome is"
        " unknown",
        HTTPStatus.FAILED_DEPENDENCY,
        transient=True,
        after=_AWAY_FOR,
    )


def unusable(name: str, why: str) -> CallProblem:
    return CallProblem(
        "provider.unusable_answer",
        f"the answer of {name} cannot be used: {why}; check that the address of `brandctl providers list` is the"
        " provider's",
        HTTPStatus.FAILED_DEPENDENCY,
    )


def limited(name: str, after: timedelta, said: str = "") -> CallProblem:
    return CallProblem(
        "provider.limited",
        f"{name} takes no more requests for now{f': {said}' if said else ''}",
        HTTPStatus.TOO_MANY_REQUESTS,
        transient=True,
        after=after,
    )


def quota_exhausted(name: str, said: str) -> CallProblem:
    return CallProblem(
        "provider.quota_exhausted",
        f"the account of {name} is used up{f' ({said})' if said else ''}: raise its plan or its credit with the provider",
        HTTPStatus.FAILED_DEPENDENCY,
    )


def key_refused(name: str, said: str) -> CallProblem:
    return CallProblem(
        "provider.key_refused",
        f"{name} refuses our key{f' ({said})' if said else ''}: give a good one with `brandctl providers connect`",
        HTTPStatus.FAILED_DEPENDENCY,
    )


def refused(name: str, status: int, said: str) -> CallProblem:
    return CallProblem(
        "provider.refused_request",
        f"{name} refuses this request ({status}{f': {said}' if said else ''}): the same again would be refused too",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def failure(name: str, response: ProviderResponse, pause: timedelta | None = None) -> CallProblem:
    """Maps a status to a problem, where the provider's own error says nothing better.

    Args:
        name: of the account.
        response: an unsuccessful one.
        pause: the wait that other headers than `Retry-After` ask for.
    """
    after = retry_after(response.headers.get("Retry-After"), datetime.now(UTC)) or pause
    said = response.quoted
    match response.status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return key_refused(name, said)
        case HTTPStatus.PAYMENT_REQUIRED:
            return quota_exhausted(name, said)
        case HTTPStatus.TOO_MANY_REQUESTS:
            return limited(name, after or _AWAY_FOR, said)
        case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in {
            HTTPStatus.REQUEST_TIMEOUT,
            HTTPStatus.TOO_EARLY,
        }:
            return CallProblem(
                "provider.away",
                f"{name} answered {status}{f': {said}' if said else ''}",
                HTTPStatus.SERVICE_UNAVAILABLE,
                transient=True,
                after=after or _AWAY_FOR,
            )
        case status if status >= HTTPStatus.BAD_REQUEST:
            return refused(name, status, said)
        case status:
            return unusable(name, f"its status is {status}")
