"""The keys of the header `X-Service-Key`: that of whoever runs the system, and those that processes of ours send each other."""

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
"""Everything under it asks for a key."""
API_KEY_BEGINS: Final = "be_"


class ServiceKey:
    """Knows who sends the right `X-Service-Key`, which opens every route; raises HTTP 401 otherwise.

    `key` is the key, or its hash: then who is given it can tell the key, and not send it.
    """

    def __init__(self, key: SecretStr) -> None:
        self._hash = hash_of(key)

    async def __call__(self, request: Request) -> Caller:
        if not hmac.compare_digest(_hash_given(request), self._hash):
            raise HTTPException(401, _what_was_wrong(request))
        return SERVICE


@dataclass(frozen=True, slots=True)
class Pair:
    """What one process may ask of this one."""

    caller: str
    keys: SecretStr | None
    """All of them open; None: it has none of its own, and sends the service key."""
    opens: frozenset[str]
    """`GET /v1/research/{research_id}`; nothing else."""
    scopes: frozenset[Scope] = frozenset({Scope.READ, Scope.SUBMIT})
    """That these routes need."""


class PairKeys:
    """Knows each process by the key that it shares with this one, which opens what that process reads; others by `otherwise`."""

    def __init__(self, otherwise: Authorise, pairs: Iterable[Pair]) -> None:
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
            # During a change, two pairs may share what is going to be the former key of both.
            if any(method == request.method and path.match(request.url.path) for method, path in routes):
                return Caller(pair.caller, pair.scopes, key_id=pair.caller)
            refused = pair.caller
        if refused:
            raise HTTPException(
                403, f"the key of {refused} opens what {refused} reads, and not this; send the service key"
            )
        return await self._otherwise(request)


def _what_was_wrong(request: Request) -> str:
    """Says what is true of the kind of key that was sent."""
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
