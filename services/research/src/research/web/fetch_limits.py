"""Limits what one brand fetches at a time, so that its slow pages leave handlers for other brands.

Each replica counts for itself, as it has handlers of its own.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

from messaging import WaitFor

KEYWORDS: Final = 3
"""Keywords of one brand under way; a fourth of the handlers."""
PAGES: Final = 8
"""Pages of one brand under way, of the twelve of the process."""
TURN: Final = "its turn at the web"


class BrandFetchLimits:
    """Slots for the keywords and pages of each brand in this process."""

    def __init__(self) -> None:
        self._keywords_under_way: Counter[str] = Counter()
        self._page_slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @contextmanager
    def hold_keyword_slot(self, brand: str, *, at_once: bool = False) -> Iterator[None]:
        """Hold a keyword slot of the brand for the block; `at_once`: even without a free one.

        Raises:
            WaitFor: all slots of the brand are taken. The message returns to the outbox, and other brands' go first.
        """
        if self._keywords_under_way[brand] >= KEYWORDS and not at_once:
            raise WaitFor(
                TURN, f"{self._keywords_under_way[brand]} other keywords of its brand are under way"
            )
        self._keywords_under_way[brand] += 1
        try:
            yield
        finally:
            self._keywords_under_way[brand] -= 1
            if not self._keywords_under_way[brand]:
                del self._keywords_under_way[brand]

    def page_slots(self, brand: str) -> asyncio.Semaphore:
        """Return the brand's semaphore for pages; it lives while a caller holds it."""
        return self._page_slots.setdefault(brand, asyncio.Semaphore(PAGES))
