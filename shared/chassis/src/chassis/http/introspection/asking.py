"""Who has an API key, as the service says that keeps their hashes."""

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import Request

from chassis.api_keys import ApiKey
from chassis.http.callers import Authorise, Caller, Scope
from chassis.http.client import PassingError, Peer, ServiceClient, UnusableAnswerError
from chassis.http.service_key import ServiceKey

KEY_HASH: Final = "x-key-hash"
"""The header in which the hash of a secret is shown: who sees it cannot use it as a key."""
GOOD_FOR_SECONDS: Final = 10.0
"""How long an answer is relied on: a key that is revoked opens for so long yet."""
_MOST_KNOWN: Final = 1_000
_ASKING_SECONDS: Final = 5.0
"""Somebody waits for the answer."""
_AT_A_TIME: Final = 8
"""Keys that are asked about; the others wait in order, so that a flood of wrong ones holds a right one up for moments."""
_MOST_ANSWERED: Final = 2_000_000
"""Bytes: a key may be for many brands."""
_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="Brand Engine"'}


class KeysKeptElsewhere:
    """Knows callers by their API keys, and others by `otherwise`.

    The keeper is sent a key's public id and the hash of its secret, never the secret.

    Args:
        keeper: the service that keeps the keys; `GET /v1/keys/{key_id}/introspection` is asked of it.
        otherwise: knows who sends `X-Service-Key`; the keeper need not be there for that.
        clock: seconds that only grow.
    """

    def __init__(
        self, keeper: ServiceClient, otherwise: Authorise, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._keeper = keeper
        self._otherwise = otherwise
        self._clock = clock
        self._known: dict[ApiKey, tuple[Caller, float]] = {}
        self._places = asyncio.Semaphore(_AT_A_TIME)

    async def __call__(self, request: Request) -> Caller:
        """Raises HTTPException: 401 for a key that opens nothing, 503 while the keeper is away."""
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        if "x-service-key" in request.headers:
            return await self._otherwise(request)
        if scheme.lower() != "bearer":
            raise _refused(
                "send an API key in the header Authorization, as “Bearer be_…”, or the service key in the header X-Service-Key"
            )
        key = ApiKey.read(text.strip())
        if key is None:
            raise _refused("this is no API key: one begins with “be_”; copy all of it")
        if (caller := self._remembered(key)) is not None:
            return caller
        try:
            # With the wait for a place: a keeper that hangs costs nobody more than one that was asked at once.
            async with asyncio.timeout(_ASKING_SECONDS), self._places:
                # While this request waited, another one may have had the same key looked up.
                return self._remembered(key) or await self._learned(key)
        except TimeoutError as error:
            raise self._away() from error

    def _remembered(self, key: ApiKey) -> Caller | None:
        caller, until = self._known.get(key, (None, 0.0))
        if caller is not None and self._clock() >= until:
            del self._known[key]
            return None
        return caller

    async def _learned(self, key: ApiKey) -> Caller:
        caller = await self._asked(key)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = caller, self._clock() + GOOD_FOR_SECONDS
        return caller

    async def _asked(self, key: ApiKey) -> Caller:
        path, headers = f"/v1/keys/{key.id}/introspection", {KEY_HASH: key.hashed().hex()}
        try:
            reply = await self._keeper.ask("GET", path, headers=headers)
        except (PassingError, UnusableAnswerError) as error:
            raise self._away() from error
        if reply.status != HTTPStatus.OK:
            raise self._away()
        told = reply.document
        if not told.get("active"):
            raise _refused(str(told.get("detail") or "this API key is not known"))
        return _caller(key.id, told)

    def _away(self) -> HTTPException:
        return HTTPException(
            HTTPStatus.SERVICE_UNAVAILABLE,
            f"{self._keeper.peer.name}, which knows API keys, does not say whose this one is; try again in a few seconds",
            {"Retry-After": "5"},
        )


def callers_by_key(
    keeper: Peer | None, service_key: SecretStr, closes: Callable[[ServiceClient], None]
) -> Authorise:
    """Who has the service key and, of those with an API key, whom the keeper knows.

    Args:
        keeper: the service that keeps the keys; None: the service key alone opens.
        service_key: or its hash.
        closes: told of the client that asks, so that it is closed in the end.
    """
    with_service_key = ServiceKey(service_key)
    if keeper is None:
        return with_service_key
    client = ServiceClient(keeper, timeout_seconds=_ASKING_SECONDS, max_bytes=_MOST_ANSWERED)
    closes(client)
    return KeysKeptElsewhere(client, with_service_key)


def _caller(key_id: str, told: dict[str, Any]) -> Caller:
    brands = told["brands"]
    # A scope of a later version opens nothing here.
    scopes = frozenset(Scope(each) for each in told["scopes"] if each in set(Scope))
    return Caller(
        told["name"],
        scopes,
        None if brands is None else frozenset(brands),
        key_id=key_id,
        per_minute=told["per_minute"],
    )


def _refused(detail: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNAUTHORIZED, detail, _CHALLENGE)
