"""Slows callers down: addresses that send wrong keys, and keys with a used-up quota.

An address that has sent many wrong keys waits, longer after each further one. Its requests are answered before any key is looked
up, so that guessing costs the database nothing, and are counted. A right key never waits for others at the same address, as behind
one router; its length keeps it from being guessed. An API key shows by its checksum that it was issued, so it is looked up all the
while; only so many at a time.

`RateLimit` and `RateLimit-Policy` are those of the IETF's draft-ietf-httpapi-ratelimit-headers-10.
"""

import hashlib
import math
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

import prometheus_client
from prometheus_client.registry import Collector
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.api_keys import ApiKey
from chassis.http.callers import Caller, is_known
from chassis.http.problem_codes import QUOTA_EXCEEDED, TOO_MANY_WRONG_KEYS
from chassis.http.problems import ProblemResponse
from chassis.http.service_key import API_PREFIX
from chassis.networks import network_of

POLICY: Final = "requests"
"""The name of the one policy that there is."""
WINDOW_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class QuotaState:
    """The state of a key's quota at the current request."""

    quota: int
    """Requests in a minute."""
    remaining: int
    resets_in: int
    """Seconds until all of it is there again."""
    is_exceeded: bool = False
    """This request is one too many."""

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Policy": f'"{POLICY}";q={self.quota};w={WINDOW_SECONDS}',
            "RateLimit": f'"{POLICY}";r={self.remaining};t={self.resets_in}',
        }


Quotas: TypeAlias = Callable[[Caller], Awaitable[QuotaState | None]]
"""Counts a request of the caller; returns the state of the quota, None without a limit."""


def with_quota_headers(state: QuotaState, send: Send) -> Send:
    """Return a `send` that adds the quota headers to the answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(state.headers())
        await send(message)

    return sending


def quota_refusal(state: QuotaState) -> ProblemResponse:
    return ProblemResponse.coded(
        QUOTA_EXCEEDED,
        f"your key may ask {state.quota:,} times a minute, and has; ask again in {state.resets_in} seconds, or have its"
        " limit raised with `brandctl keys limit`",
        {"Retry-After": str(state.resets_in)},
        title="Request cannot be satisfied as assigned quota has been exceeded",
        **{"violated-policies": [POLICY]},
    )


FREE: Final = 20
"""Wrong keys that an address may send without a pause, for typing errors and replaced keys."""
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds; the pause doubles with each wrong key. The maximum is short, as a client with a new, valid key waits too."""
FORGOTTEN_AFTER: Final = 900.0
"""Seconds without another wrong key."""
LOOK_UPS_AT_A_TIME: Final = 16
"""Different API keys of a slowed address that are looked up at a time. A lookup takes milliseconds, so valid keys soon get a place."""
MAX_ADDRESSES: Final = 10_000
"""Latest addresses to remember; some 2 MB."""
MAX_RIGHT_KEYS: Final = 1_000
"""Valid keys to remember, the latest used."""
_REFUSED: Final = 401
_SLOWED: Final = 429


@dataclass(slots=True)
class _Address:
    wrong: int = 0
    last: float = 0.0
    until: float = 0.0


class WrongKeys:
    """Addresses that send wrong keys, and their pauses; each replica counts for itself.

    Args:
        prefix: prefix of the metric's name.
        right: SHA-256 of valid keys, such as the process's own service key.
        clock: monotonic seconds.
    """

    def __init__(
        self, prefix: str, right: Iterable[bytes] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._salt = secrets.token_bytes(32)
        self._addresses: OrderedDict[str, _Address] = OrderedDict()
        self._own = frozenset(right)
        self._looked_up: dict[str, Counter[str]] = {}
        """API keys that are being looked up, with how many requests have each, by network."""
        self._right: OrderedDict[bytes, None] = OrderedDict()
        self._counted = prometheus_client.Counter(
            f"{prefix}_wrong_keys",
            "Requests with a key that was refused, or that was not looked up because its address has sent many wrong ones.",
            ("answer",),
            registry=None,
        )
        for answer in ("refused", "slowed"):
            self._counted.labels(answer)

    def collector(self) -> Collector:
        """Return the collector for `/metrics`."""
        return self._counted

    def wait(self, address: str, key: str) -> float:
        """Return the seconds until this address may send a key; 0: now."""
        # Usually there are no wrong keys, and the address need not be parsed.
        network = network_of(address) if self._addresses else ""
        known = self._addresses.get(network)
        if known is None or (wait := known.until - self._clock()) <= 0 or self._is_right(key):
            return 0.0
        if is_api_key(key):
            under_way = self._looked_up.get(network, Counter())
            if key in under_way or len(under_way) < LOOK_UPS_AT_A_TIME:
                return 0.0
            wait = FIRST_PAUSE
        self._counted.labels("slowed").inc()
        return wait

    @contextmanager
    def looking_up(self, address: str, key: str) -> Iterator[None]:
        """Count the lookup of a key during the block."""
        if not is_api_key(key) or self._is_right(key):
            yield
            return
        network = network_of(address)
        under_way = self._looked_up.setdefault(network, Counter())
        under_way[key] += 1
        try:
            yield
        finally:
            under_way[key] -= 1
            if not under_way[key]:
                del under_way[key]
            if not under_way:
                self._looked_up.pop(network, None)

    def was_wrong(self, address: str) -> None:
        self._counted.labels("refused").inc()
        now, network = self._clock(), network_of(address)
        known = self._addresses.setdefault(network, _Address())
        if now - known.last > FORGOTTEN_AFTER:
            known.wrong = 0
        known.wrong += 1
        known.last = now
        if known.wrong > FREE:
            known.until = now + min(FIRST_PAUSE * 2.0 ** min(known.wrong - FREE - 1, 16), LONGEST_PAUSE)
        self._addresses.move_to_end(network)
        if len(self._addresses) > MAX_ADDRESSES:
            self._addresses.popitem(last=False)

    def was_right(self, key: str) -> None:
        seen = self._seen_as(key)
        self._right[seen] = None
        self._right.move_to_end(seen)
        if len(self._right) > MAX_RIGHT_KEYS:
            self._right.popitem(last=False)

    def _is_right(self, key: str) -> bool:
        if self._seen_as(key) in self._right:
            return True
        return bool(self._own) and hashlib.sha256(key.encode()).digest() in self._own

    def _seen_as(self, key: str) -> bytes:
        """Return a salted hash of the key, useless to other processes."""
        return hashlib.blake2b(key.encode(), key=self._salt, digest_size=16).digest()


class SlowedAddresses:
    """ASGI middleware around an application behind the guard: 429 for addresses that have to wait."""

    def __init__(self, app: ASGIApp, wrong_keys: WrongKeys) -> None:
        self._app = app
        self._wrong_keys = wrong_keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = _key_of(scope)
        if key is None:
            await self._app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        if wait := self._wrong_keys.wait(address, key):
            refusal = ProblemResponse.coded(
                TOO_MANY_WRONG_KEYS,
                "many wrong keys were sent from your address, so this one was not looked at; send the right one after the"
                " seconds of Retry-After",
                {"Retry-After": str(math.ceil(wait)), "Connection": "close"},
            )
            await refusal(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                if message["status"] == _REFUSED:
                    self._wrong_keys.was_wrong(address)
                elif is_known(scope):
                    self._wrong_keys.was_right(key)
            await send(message)

        with self._wrong_keys.looking_up(address, key):
            await self._app(scope, receive, sending)


def is_api_key(sent: str) -> bool:
    """Return whether a header contains a well-formed API key, valid or not."""
    scheme, _, text = sent.partition(" ")
    return scheme.lower() == "bearer" and ApiKey.read(text.strip()) is not None


def _key_of(scope: Scope) -> str | None:
    """Return the key in a request; None without one."""
    if scope["type"] != "http" or not scope["path"].startswith(API_PREFIX):
        return None
    headers = Headers(scope=scope)
    return headers.get("x-service-key") or headers.get("authorization") or None
