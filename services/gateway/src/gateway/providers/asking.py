"""Sending one request to a provider that an operator has connected, and reading its answer within bounds.

Nothing is tried again here: whoever asked knows what waits for the answer.
"""

import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any, Final

import httpcore2
import httpx
from pydantic import BaseModel, ConfigDict, Field

from chassis import WebAddress, redaction
from chassis.http.outgoing import AsyncioConnections
from chassis.http.spans import client_span
from gateway.limits import Bounds
from gateway.outcomes import Failed
from gateway.problems import Problem

_CONNECT_SECONDS: Final = 5.0
_KEEPALIVE_SECONDS: Final = 2.0
"""Connections are let go before a server, many of which close idle ones after 5, can close one under a request: nobody could
know whether it was answered, so it would count as spent."""
_MAX_BYTES: Final = 4_000_000
_HEADERS: Final = {
    "Accept": "application/json",
    # Uncompressed, so that the limit on bytes is one on memory too.
    "Accept-Encoding": "identity",
}
_QUOTED: Final = 300
_AWAY_FOR: Final = timedelta(seconds=30)

Dollars = Annotated[Decimal, Field(ge=0, le=1000)]


class AccountSettings(BaseModel):
    """What an operator says of an account, besides its key. Prices are dollars."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: WebAddress
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 60
    """Requests that the account may make, evenly."""
    together: Annotated[int, Field(ge=1, le=1000)] = 1
    """So many of them may come at the same moment."""
    brand_per_minute: Annotated[int | None, Field(ge=1, le=100_000)] = None
    """Of these, what one brand may take; unset: as much as there is."""
    at_once: Annotated[int, Field(ge=1, le=1000)] = 8
    """Requests under way at a time, over all replicas."""
    seconds: Annotated[float, Field(ge=1, le=600)] = 20.0
    """For one answer."""

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.per_minute, self.brand_per_minute, self.together, self.at_once, self.seconds)


@dataclass(frozen=True, slots=True)
class Response:
    """What a provider answered, whatever its status."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def document(self) -> Any:
        """The JSON in the body; None if there is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def quoted(self) -> str:
        """The beginning of the body, for people."""
        return quoted(self.body[: 4 * _QUOTED].decode(errors="replace"))


def quoted(said: object) -> str:
    """The beginning of what a provider says, for people. Secrets go first: half a key is not known for what it is."""
    return redaction.text(str(said or ""))[:_QUOTED].strip()


class Http:
    """Connections to providers, for the life of the process.

    Args:
        user_agent: how it introduces itself: some refuse those who do not say what they are.
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
    ) -> Response:
        """Asks the provider of that name.

        Raises:
            Failed: `provider.away`, free of charge; `provider.no_answer` to what was sent; `provider.unusable_answer`.
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
            # Its trace ends here: what ours are called is no business of strangers, so no header is sent.
            with client_span(method, url) as exchange:
                response = await _exchange(name, asking)
                exchange.answered(response.status)
                return response
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.UnsupportedProtocol) as error:
            raise Failed(_away(name, error)) from error
        except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            # It was sent, and may have been answered.
            raise Failed(_no_answer(name, error), spent=None) from error


async def _exchange(name: str, asking: AbstractAsyncContextManager[httpcore2.Response]) -> Response:
    async with asking as response:
        headers = httpx.Headers(response.headers)
        if headers.get("Content-Encoding", "identity").lower() not in {"", "identity"}:
            raise Failed(unusable(name, "it is compressed, which it was not asked to be"), spent=None)
        body = bytearray()
        async for chunk in response.aiter_stream():
            body += chunk
            if len(body) > _MAX_BYTES:
                raise Failed(unusable(name, f"it is larger than {_MAX_BYTES:,} bytes"), spent=None)
        return Response(response.status, headers, bytes(body))


def _as_json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _away(name: str, error: Exception) -> Problem:
    return Problem(
        "provider.away",
        f"{name} cannot be reached: {error!r}",
        HTTPStatus.SERVICE_UNAVAILABLE,
        transient=True,
        after=_AWAY_FOR,
    )


def _no_answer(name: str, error: Exception) -> Problem:
    # One request may be too much for a provider that is well, and each time it is sent it may be charged.
    return Problem(
        "provider.no_answer",
        f"{name} broke off or did not answer in time: {error!r}; the call counts as spent, because nobody knows whether it"
        " was answered",
        HTTPStatus.FAILED_DEPENDENCY,
        transient=True,
        after=_AWAY_FOR,
    )


def unusable(name: str, why: str) -> Problem:
    return Problem(
        "provider.unusable_answer",
        f"the answer of {name} cannot be used: {why}; check that the address of `brandctl providers list` is the"
        " provider's",
        HTTPStatus.FAILED_DEPENDENCY,
    )


def limited(name: str, after: timedelta, said: str = "") -> Problem:
    return Problem(
        "provider.limited",
        f"{name} takes no more requests for now{f': {said}' if said else ''}",
        HTTPStatus.TOO_MANY_REQUESTS,
        transient=True,
        after=after,
    )


def quota_exhausted(name: str, said: str) -> Problem:
    return Problem(
        "provider.quota_exhausted",
        f"the account of {name} is used up{f' ({said})' if said else ''}: raise its plan or its credit with the provider",
        HTTPStatus.FAILED_DEPENDENCY,
    )


def key_refused(name: str, said: str) -> Problem:
    return Problem(
        "provider.key_refused",
        f"{name} refuses our key{f' ({said})' if said else ''}: give a good one with `brandctl providers connect`",
        HTTPStatus.FAILED_DEPENDENCY,
    )


def refused(name: str, status: int, said: str) -> Problem:
    return Problem(
        "provider.refused_request",
        f"{name} refuses this request ({status}{f': {said}' if said else ''}): the same again would be refused too",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def failure(name: str, response: Response, after: timedelta | None) -> Problem:
    """What a status says that the provider gives no better words for.

    Args:
        name: of the account.
        response: no success.
        after: the wait that it asked for.
    """
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
            return Problem(
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
