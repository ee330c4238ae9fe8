"""A cache of answers in memory, by address and version."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from publisher.page_cache.answer import CachedAnswer

MOST_BYTES: Final = 16_000_000
"""About two thousand articles."""
_BYTES_BESIDE: Final = 2_000
"""Approximate overhead of an entry: its key, its version and the objects themselves."""


class PageCache:
    """The most recently used answers, up to `most_bytes`; one version of a page at a time."""

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._answers: OrderedDict[Hashable, tuple[Hashable, CachedAnswer]] = OrderedDict()

    def get(self, place: Hashable, version: Hashable) -> CachedAnswer | None:
        """The stored answer, if it was made from this version; else None."""
        known = self._answers.get(place)
        if known is None or known[0] != version:
            return None
        self._answers.move_to_end(place)
        return known[1]

    def put(self, place: Hashable, version: Hashable, answer: CachedAnswer) -> None:
        """Stores an answer.

        The caller must read `version` before all other data of the answer: after a later change, the versions then differ.
        """
        self.drop(place)
        size = _size(answer)
        if size > self._most_bytes:
            return
        self._answers[place] = version, answer
        self._bytes += size
        while self._bytes > self._most_bytes:
            self.drop(next(iter(self._answers)))

    def drop(self, place: Hashable) -> None:
        if (known := self._answers.pop(place, None)) is not None:
            self._bytes -= _size(known[1])


def _size(answer: CachedAnswer) -> int:
    return answer.size + _BYTES_BESIDE
