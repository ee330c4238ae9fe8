"""Authentication with API keys in services without a key database: they ask the service that has it.

Each replica counts the requests of each key for itself, without a database.
"""

import asyncio
import math
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
from chassis.http.problem_codes import UNAUTHORIZED, UNAVAILABLE, RefusalError
from chassis.http.service_key import ServiceKey
from chassis.http.throttling import WINDOW_SECONDS, QuotaState

KEY_HASH: Final = "x-key-hash"
"""The header with the hash of a secret; the hash itself does not work as a key."""
GOOD_FOR_SECONDS: Final = 10.0
"""How long an answer is cached: a revoked key works for up to this time."""
_MOST_KNOWN: Final = 1_000
_ASKING_SECONDS: Final = 5.0
"""Time limit of a lookup, as a request waits for it."""
_AT_A_TIME: Final = 8
"""Concurrent lookups; others queue, so that a flood of wrong keys delays valid ones only for moments."""
_MOST_ANSWERED: Final = 2_000_000
"""Bytes of an answer: a key may be for many brands."""
_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="Brand Engine"'}


class IntrospectedKeys:
    """Authorises callers by API key, others by `otherwise`.

    It sends the keeper a key's public id and the hash of its secret, never the secret.

    Args:
        keeper: client of the service that stores the keys, with `GET /v1/keys/{key_id}/introspection`.
        otherwise: authorises by `X-Service-Key`; this works without the keeper.
        clock: monotonic seconds.
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
        """Return the caller. Raises HTTPException: 401 for an invalid key, 503 while the keeper is away."""
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
            # The limit includes the queue, so that a hanging keeper costs every request the same.
            async with asyncio.timeout(_ASKING_SECONDS), self._places:
                # Another request may have looked the same key up meanwhile.
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
        return RefusalError(
            UNAVAILABLE,
            f"{self._keeper.peer.name}, which knows API keys, does not say whose this one is; try again in a few seconds",
            {"Retry-After": "5"},
        )


def callers_by_key(
    keeper: Peer | None, service_key: SecretStr, closes: Callable[[ServiceClient], None]
) -> Authorise:
    """Build the authorisation by service key and, with a keeper, by API key.

    Args:
        keeper: the service that stores the API keys; None: only the service key opens.
        service_key: the service key or its hash.
        closes: registers the client for closing at shutdown.
    """
    with_service_key = ServiceKey(service_key)
    if keeper is None:
        return with_service_key
    client = ServiceClient(keeper, timeout_seconds=_ASKING_SECONDS, max_bytes=_MOST_ANSWERED)
    closes(client)
    return IntrospectedKeys(client, with_service_key)


def _caller(key_id: str, told: dict[str, Any]) -> Caller:
    brands = told["brands"]
    # Scopes of later versions are ignored.
    scopes = frozenset(Scope(each) for each in told["scopes"] if each in set(Scope))
    return Caller(
        told["name"],
        scopes,
        None if brands is None else frozenset(brands),
        key_id=key_id,
        per_minute=told["per_minute"],
    )


def _refused(detail: str) -> HTTPException:
    return RefusalError(UNAUTHORIZED, detail, _CHALLENGE)


class ReplicaQuotas:
    """Counts the requests of callers with a limit; each replica counts for itself.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked: dict[str, int] = {}
        self._until = 0.0

    async def __call__(self, caller: Caller) -> QuotaState | None:
        """Count a request; return the state of the caller's quota, None without a limit."""
        if caller.per_minute is None:
            return None
        now = self._clock()
        if now >= self._until or len(self._asked) >= _MOST_KNOWN:
            self._asked.clear()
            self._until = now + WINDOW_SECONDS
        asked = self._asked[caller.key_id] = self._asked.get(caller.key_id, 0) + 1
        return QuotaState(
            caller.per_minute,
            max(caller.per_minute - asked, 0),
            max(1, math.ceil(self._until - now)),
            asked > caller.per_minute,
        )
