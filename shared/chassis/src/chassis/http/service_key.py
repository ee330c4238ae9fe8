"""Keys of the header `X-Service-Key`: the operator's service key, and pair keys between processes."""

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import compile_path

from chassis.http.callers import SERVICE, Authorise, Caller, Scope
from chassis.service_keys import hash_of, keys_of

API_PREFIX: Final = "/v1/"
"""Everything under it needs a key."""
API_KEY_BEGINS: Final = "be_"


class ServiceKey:
    """Authorises requests with the right `X-Service-Key` for every route; raises HTTP 401 otherwise.

    `key` is the key or its hash; the hash can check a key, but not be sent as one.
    """

    def __init__(self, key: SecretStr) -> None:
        self._hash = hash_of(key)

    async def __call__(self, request: Request) -> Caller:
        if not hmac.compare_digest(_hash_given(request), self._hash):
            raise HTTPException(401, _what_was_wrong(request))
        return SERVICE


@dataclass(frozen=True, slots=True)
class PairAccess:
    """The routes of this process that another one may use with their pair key."""

    caller: str
    keys: SecretStr | None
    """Accepted keys; None: the other process sends the service key."""
    opens: frozenset[str]
    """Routes such as `GET /v1/research/{research_id}`; the keys open no others."""
    scopes: frozenset[Scope] = frozenset({Scope.READ, Scope.SUBMIT})
    """Scopes that these routes need."""


OPERATORS_READING: Final = frozenset({Scope.READ, Scope.SUBMIT, Scope.OPERATE})
"""For a process that also reads what only operators see."""


class PairKeys:
    """Authorises processes by their pair keys for their routes, and others by `otherwise`."""

    def __init__(self, otherwise: Authorise, pairs: Iterable[PairAccess]) -> None:
        self._otherwise = otherwise
        self._known = [
            (
                pair,
                [hashlib.sha256(key.encode()).digest() for key in keys_of(pair.keys)],
                _routes(pair.opens),
            )
            for pair in pairs
            if pair.keys is not None
        ]

    async def __call__(self, request: Request) -> Caller:
        given = _hash_given(request)
        refused = ""
        for pair, hashes, routes in self._known:
            if not any(hmac.compare_digest(given, each) for each in hashes):
                continue
            # During a key rotation two pairs may share a key.
            if any(method == request.method and path.match(request.url.path) for method, path in routes):
                return Caller(pair.caller, pair.scopes, key_id=pair.caller)
            refused = pair.caller
        if refused:
            raise HTTPException(
                403, f"the key of {refused} opens what {refused} reads, and not this; send the service key"
            )
        return await self._otherwise(request)


def _what_was_wrong(request: Request) -> str:
    """Return the error for the kind of key that was sent."""
    given = request.headers.get("x-service-key", "")
    if given.startswith(API_KEY_BEGINS):
        return "this is an API key, not the service key; send it in the header Authorization, as “Bearer be_…”, without X-Service-Key"
    if given:
        return (
            "this is not the service key of this process; send the one of its SERVICE_KEY in the header X-Service-Key, or an API"
            " key in the header Authorization, as “Bearer be_…”"
        )
    if request.headers.get("authorization", "").lower().startswith(f"bearer {API_KEY_BEGINS}"):
        return "this process takes no API keys; send the service key in the header X-Service-Key"
    return "no key was sent that this process takes; send the service key in the header X-Service-Key"


def _routes(opens: Iterable[str]) -> list[tuple[str, re.Pattern[str]]]:
    split = (each.split(" ", 1) for each in opens)
    return [(method, compile_path(path)[0]) for method, path in split]


def _hash_given(request: Request) -> bytes:
    return hashlib.sha256(request.headers.get("x-service-key", "").encode()).digest()
