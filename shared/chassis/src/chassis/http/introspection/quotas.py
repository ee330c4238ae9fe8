"""Counts the requests of each key per replica and minute, without a database."""

import math
import time
from collections.abc import Callable
from typing import Final

from chassis.http.callers import Caller
from chassis.http.throttling.quotas import WINDOW_SECONDS, QuotaState

_MOST_KNOWN: Final = 1_000


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
