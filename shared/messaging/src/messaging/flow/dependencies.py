"""Dependencies of handlers beyond broker and database, with a circuit breaker for each.

During an outage, waiting costs a message no attempt, and only one probe at a time calls the dependency.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from random import uniform
from time import monotonic
from typing import Final

import structlog

from messaging.errors import WaitFor

log = structlog.get_logger(__name__)

SHORTEST_PAUSE: Final = 1.0
"""Seconds to the first probe, doubled for each one that fails."""
LONGEST_PAUSE: Final = 30.0
SET_ASIDE: Final = 200
"""Messages of a queue that return to the outbox between two probes; then the queue waits for the next probe. So short queues
stay open for messages that do not need the dependency, and long ones do not move into the database."""
_LONGEST_HOLD: Final = 60.0
"""Seconds that a queue waits at most, so that unsettled deliveries stay far from the broker's consumer timeout."""


class Dependency:
    """Another system that handlers of this process need, such as a service or a mail server.

    Args:
        name: for logs, metrics and people.
        outages: exceptions that mean an outage for any call; the dependency has answered if a call raises another one.
        shortest_pause: seconds before the first probe.
        longest_pause: seconds between probes at most, unless the dependency asked for more (`after` of an exception).
    """

    def __init__(
        self,
        name: str,
        *,
        outages: tuple[type[Exception], ...],
        shortest_pause: float = SHORTEST_PAUSE,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        self.name = name
        self._outages = outages
        self._shortest_pause = shortest_pause
        self._longest_pause = longest_pause
        self._away_since: float | None = None
        self._problem = ""
        self._pause = shortest_pause
        self._next_probe = 0.0
        self._probing = False
        self._set_aside: Counter[str] = Counter()
        self._changed = asyncio.Event()

    @property
    def away(self) -> bool:
        return self._away_since is not None

    @property
    def trouble(self) -> str | None:
        """The length and cause of the outage, for people, or None."""
        if self._away_since is None:
            return None
        return f"away for {monotonic() - self._away_since:.0f} s: {self._problem}"

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Guards one call of the dependency; the block holds only that call, with a time limit.

        Raises:
            WaitFor: this call found an outage, or one is known and this call is no probe.
        """
        probes = self._admit()
        try:
            yield
        except self._outages as error:
            raise self._note_outage(error, probed=probes) from error
        except Exception:
            self._note_answer()
            raise
        else:
            self._note_answer()
        finally:
            if probes:
                self._probing = False

    def set_aside(self, queue: str) -> None:
        """Counts a message of the queue that returned to the outbox to wait."""
        self._set_aside[queue] += 1

    async def wait_for_turn(self, queue: str) -> None:
        """Returns at once, unless enough messages of the queue wait and no probe is due yet."""
        give_up = monotonic() + _LONGEST_HOLD
        while self.away and self._set_aside[queue] >= SET_ASIDE:
            left = min(self._next_probe, give_up) - monotonic()
            if left <= 0:
                return
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                return

    def _admit(self) -> bool:
        """Whether the call is a probe; raises `WaitFor` if it must not be made."""
        if not self.away:
            return False
        left = self._next_probe - monotonic()
        if self._probing or left > 0:
            raise WaitFor(self.name, f"{self.name} is {self.trouble}", after=timedelta(seconds=max(left, 0)))
        self._probing = True
        self._set_aside.clear()
        return True

    def _note_outage(self, error: Exception, *, probed: bool) -> WaitFor:
        now = monotonic()
        self._problem = str(error) or type(error).__qualname__
        if self._away_since is None:
            self._away_since = now
            self._pause = self._shortest_pause
            self._set_aside.clear()
            log.warning("dependency_away", dependency=self.name, error=self._problem)
        elif probed:
            self._pause = min(self._pause * 2, self._longest_pause)
        asked: timedelta = getattr(error, "after", None) or timedelta()
        pause = max(self._pause * uniform(0.75, 1.25), asked.total_seconds())  # noqa: S311  (replicas take turns)
        if probed or self._next_probe <= now:
            self._next_probe = now + pause
        return WaitFor(self.name, self._problem, after=timedelta(seconds=self._next_probe - now))

    def _note_answer(self) -> None:
        if self._away_since is None:
            return
        log.info(
            "dependency_back", dependency=self.name, away_seconds=round(monotonic() - self._away_since, 1)
        )
        self._away_since = None
        self._next_probe = 0.0
        self._set_aside.clear()
        self._changed.set()
