"""Counting who follows short links, without keeping who."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from ipaddress import AddressValueError, IPv6Address
from secrets import token_bytes
from typing import Final
from uuid import UUID

from starlette.datastructures import Headers

from messaging import Database
from publisher.short_links import store
from publisher.short_links.store import LinkClick
from publisher.views import WriteBehindCounter, is_person

MOST: Final = 10
"""Of one address and article in an hour: more of them lead on, and are not counted."""
_FORGOTTEN_AFTER_SECONDS: Final = 3600.0
_PLACES: Final = 1 << 16


def _now() -> datetime:
    return datetime.now(UTC)


class LinkClickCounter(WriteBehindCounter[LinkClick]):
    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], datetime] = _now,
        visitors: "VisitLimiter | None" = None,
    ) -> None:
        super().__init__(database, store.add)
        self._clock = clock
        self._visitors = visitors or VisitLimiter()

    def record(self, content_id: UUID, mark: str, *, method: str, headers: Headers, address: str) -> None:
        """A link is followed; whether somebody does is told by the headers, and how often by the address, which is kept nowhere."""
        if method == "GET" and is_person(headers) and self._visitors.may_count(address, content_id):
            self.count(LinkClick(content_id, mark, self._clock().date()))


class VisitLimiter:
    """Whether an address may still count for an article.

    Kept are 65,536 small numbers, at two of which an address and an article meet; which two, only a key tells that is made anew every hour,
    when all begin at nought. Nothing of it can be read back, and two that meet by chance at both are counted too little, never too much.
    """

    def __init__(self, most: int = MOST, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._key = token_bytes(16)
        self._counts = bytearray(_PLACES)
        self._until = self._clock() + _FORGOTTEN_AFTER_SECONDS

    def may_count(self, address: str, article: UUID) -> bool:
        if self._clock() >= self._until:
            self._begin()
        digest = blake2b(f"{_household(address)} {article}".encode(), key=self._key, digest_size=4).digest()
        first, second = (int.from_bytes(part, "big") for part in (digest[:2], digest[2:]))
        if min(self._counts[first], self._counts[second]) >= self._most:
            return False
        for place in {first, second}:
            self._counts[place] = min(self._counts[place] + 1, self._most)
        return True


def _household(address: str) -> str:
    """Whoever has an IPv6 address has as many as he likes with the same first half."""
    try:
        return str(IPv6Address(int(IPv6Address(address)) >> 64 << 64))
    except AddressValueError:
        return address
