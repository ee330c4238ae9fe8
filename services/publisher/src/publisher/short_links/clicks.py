"""Counts clicks on short links without storing data about visitors."""

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
"""Clicks per visitor's address, article and hour; further clicks redirect without being counted."""
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
        """Counts a click unless the headers show a program.

        `address` limits repeated clicks, and is not stored.
        """
        if method == "GET" and is_person(headers) and self._visitors.may_count(address, content_id):
            self.count(LinkClick(content_id, mark, self._clock().date()))


class VisitLimiter:
    """Limits how often one address counts for an article.

    Holds 65,536 small counters; an address and an article map to two of them, by a key that changes every hour. The counters
    reset with the key, and reveal no address. A collision at both counters can only lower a count.
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
        digest = blake2b(f"{_network_of(address)} {article}".encode(), key=self._key, digest_size=4).digest()
        first, second = (int.from_bytes(part, "big") for part in (digest[:2], digest[2:]))
        if min(self._counts[first], self._counts[second]) >= self._most:
            return False
        for place in {first, second}:
            self._counts[place] = min(self._counts[place] + 1, self._most)
        return True


def _network_of(address: str) -> str:
    """The address, shortened to its first half for IPv6: one household may use all the others."""
    try:
        return str(IPv6Address(int(IPv6Address(address)) >> 64 << 64))
    except AddressValueError:
        return address
