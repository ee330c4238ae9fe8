"""Slowing down whoever tries keys: an address that has sent many wrong ones waits, longer after each further one.

What waits is answered before any key is looked up, so that guessing costs the database nothing, and is counted. That a key is not
guessed is up to its length: whoever sends a right one is not kept waiting for others at the same address, as behind one router.
"""

import hashlib
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from prometheus_client import Counter
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.http.callers import is_known
from chassis.http.problem_codes import TOO_MANY_WRONG_KEYS
from chassis.http.problems import ProblemResponse
from chassis.http.service_key import API_PREFIX

FREE: Final = 20
"""Wrong keys of one address before it waits: somebody who has mistyped his, or not heard that it was changed."""
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds; doubled with each wrong key. No longer: a client that has got its new key meanwhile waits for it, too."""
FORGOTTEN_AFTER: Final = 900.0
"""Seconds without another wrong key."""
MAX_ADDRESSES: Final = 10_000
"""Of whom something is known, the latest; some 2 MB."""
MAX_RIGHT_KEYS: Final = 1_000
"""That are known by sight, the latest used."""
_NETWORK_BITS: Final = 64
"""Of an IPv6 address: the rest of it is the client's own choice."""
_REFUSED: Final = 401
_SLOWED: Final = 429


@dataclass(slots=True)
class _Address:
    wrong: int = 0
    last: float = 0.0
    until: float = 0.0


class WrongKeys:
    """What one process knows of addresses that send wrong keys; each replica counts for itself.

    Args:
        prefix: of the metric's name.
        right: keys that are known from the start, as the process's own service key.
        clock: seconds that only grow.
    """

    def __init__(
        self, prefix: str, right: Iterable[str] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._salt = secrets.token_bytes(32)
        self._addresses: OrderedDict[str, _Address] = OrderedDict()
        self._own = frozenset(map(self._seen_as, right))
        self._right: OrderedDict[bytes, None] = OrderedDict()
        self._counted = Counter(
            f"{prefix}_wrong_keys",
            "Requests with a key that was refused, or that was not looked up because its address has sent many wrong ones.",
            ("answer",),
            registry=None,
        )
        for answer in ("refused", "slowed"):
            self._counted.labels(answer)

    def collector(self) -> Collector:
        """What it has counted, for `/metrics`."""
        return self._counted

    def wait(self, address: str, key: str) -> float:
        """Seconds until a key of this address is looked at; 0: now."""
        # Mostly nobody has sent a wrong one, and no address is looked into.
        known = self._addresses.get(_network(address)) if self._addresses else None
        if known is None or (wait := known.until - self._clock()) <= 0 or self._is_right(key):
            return 0.0
        self._counted.labels("slowed").inc()
        return wait

    def was_wrong(self, address: str) -> None:
        self._counted.labels("refused").inc()
        now, network = self._clock(), _network(address)
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
        seen = self._seen_as(key)
        return seen in self._own or seen in self._right

    def _seen_as(self, key: str) -> bytes:
        """Not the key itself, and of no use to another process."""
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

        await self._app(scope, receive, sending)


def _key_of(scope: Scope) -> str | None:
    """What is sent as a key; None: nothing is, so that there is nothing to look up."""
    if scope["type"] != "http" or not scope["path"].startswith(API_PREFIX):
        return None
    headers = Headers(scope=scope)
    return headers.get("x-service-key") or headers.get("authorization") or None


def _network(address: str) -> str:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(IPv6Address(int(parsed) >> _NETWORK_BITS << _NETWORK_BITS))
    return str(parsed)
