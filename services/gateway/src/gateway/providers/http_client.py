"""Sends one request to a provider and reads its answer within limits.

It never retries: that decision is the caller's.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

import httpcore2
import httpx

from chassis import redaction
from chassis.http.client import retry_after
from chassis.http.outgoing import AsyncioConnections, reason_of
from chassis.http.spans import client_span
from gateway.egress.addresses import Network
from gateway.egress.connections import GuardedConnections, Resolve, system_resolver
from gateway.egress.errors import EgressError, EgressRefusedError
from gateway.outcomes import FailedCall
from gateway.problems import CallProblem, CallProblemError

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
        exceptions: private networks that addresses of people, too, may lead to.
        resolve: looks up names for people's addresses.
    """

    def __init__(
        self, user_agent: str, exceptions: Iterable[Network] = (), resolve: Resolve = system_resolver
    ) -> None:
        self._headers = _HEADERS | {"User-Agent": user_agent}
        self._guard = GuardedConnections(resolve, exceptions)
        trusted = httpx.create_ssl_context(trust_env=False)
        self._of_operator, self._of_people = (
            httpcore2.AsyncConnectionPool(
                ssl_context=trusted,
                max_connections=None,
                keepalive_expiry=_KEEPALIVE_SECONDS,
                network_backend=connections,
            )
            for connections in (AsyncioConnections(), self._guard)
        )

    async def close(self) -> None:
        await self._of_operator.aclose()
        await self._of_people.aclose()

    async def check_address(self, url: str) -> None:
        """Checks an address that a person gives. If its name cannot be looked up now, each request checks it again.

        Raises:
            CallProblemError: `provider.private_address`.
        """
        parsed = httpx.URL(url)
        try:
            await self._guard.checked(parsed.host, parsed.port or 443)
        except EgressRefusedError as error:
            if error.code == "private_address":
                raise CallProblemError(_private(parsed, HTTPStatus.UNPROCESSABLE_ENTITY)) from None
        except EgressError:
            pass

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
        may_be_private: bool = True,
    ) -> ProviderResponse:
        """Sends a request to the named provider; to a private address only if it may be, or the operator let its network in.

        Raises:
            FailedCall: `provider.away` and `provider.private_address`, free of charge; `provider.no_answer` after
                sending; `provider.unusable_answer`.
        """
        where = httpx.URL(url, params=dict(parameters)) if parameters else httpx.URL(url)
        given = {"Host": where.netloc.decode("ascii"), **self._headers, **(headers or {})}
        if body is not None:
            given["Content-Type"] = "application/json"
        asking = (self._of_operator if may_be_private else self._of_people).stream(
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
        except EgressRefusedError as error:
            if error.code == "private_address":
                raise FailedCall(_private(where, HTTPStatus.FAILED_DEPENDENCY)) from None
            raise FailedCall(_away(name, where, error)) from error
        except (
            EgressError,
            httpcore2.ConnectError,
            httpcore2.ConnectTimeout,
            httpcore2.UnsupportedProtocol,
        ) as error:
            raise FailedCall(_away(name, where, error)) from error
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


def _away(name: str, url: httpx.URL, error: Exception) -> CallProblem:
    return CallProblem(
        "provider.away",
        f"{name} cannot be reached at {url.scheme}://{url.netloc.decode('ascii')}: {reason_of(error)}. See whether it"
        " runs, and whether this address is right",
        HTTPStatus.SERVICE_UNAVAILABLE,
        transient=True,
        after=_AWAY_FOR,
    )


def _private(url: httpx.URL, status: HTTPStatus) -> CallProblem:
    return CallProblem(
        "provider.private_address",
        f"{url.host} is no address of the public internet. Only the operator lets such a one in: EGRESS_REACHABLE_NETWORKS"
        " in the configuration of the gateway has to name its network, such as 192.168.1.25/32",
        status,
    )


def _no_answer(name: str, error: Exception) -> CallProblem:
    # No automatic retry: a request too large for a healthy provider would be charged each time.
    return CallProblem(
        "provider.no_answer",
        f"{name} broke off or did not answer in time: {reason_of(error)}; the call counts as spent, because its outcome is"
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
