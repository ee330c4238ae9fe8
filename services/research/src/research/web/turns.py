"""Brands take turns at the web: one with many keywords on slow pages leaves room for the others.

Counted in this process alone: each replica has its own handlers to share out.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

from messaging import WaitFor

KEYWORDS: Final = 3
"""Of one brand whose pages are looked for at a time; a fourth of the handlers."""
PAGES: Final = 8
"""Of one brand that are in hand at a time, of the twelve there may be of all."""
TURN: Final = "its turn at the web"


class Turns:
    """One for the life of the process."""

    def __init__(self) -> None:
        self._in_hand: Counter[str] = Counter()
        self._rooms: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @contextmanager
    def take(self, brand: str, *, at_once: bool = False) -> Iterator[None]:
        """The block looks for the pages of one keyword; `at_once`: whoever else does.

        Raises:
            WaitFor: enough keywords of the brand are in hand. Its message goes back to the outbox, and those of other
                brands behind it come to the front.
        """
        if self._in_hand[brand] >= KEYWORDS and not at_once:
            raise WaitFor(TURN, f"{self._in_hand[brand]} other keywords of its brand are being looked for")
        self._in_hand[brand] += 1
        try:
            yield
        finally:
            self._in_hand[brand] -= 1
            if not self._in_hand[brand]:
                del self._in_hand[brand]

    def room(self, brand: str) -> asyncio.Semaphore:
        """For the pages of the brand, as long as somebody holds it."""
        return self._rooms.setdefault(brand, asyncio.Semaphore(PAGES))
