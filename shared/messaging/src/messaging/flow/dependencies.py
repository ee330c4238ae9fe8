"""What handlers need beside broker and database, and whether it can be reached: a breaker for each.

While such a thing is away, waiting costs a message no attempt, and nobody but one probe at a time calls in vain.
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
"""Messages of a queue that go back to the outbox between two probes; then the queue waits for the next one. Short queues
stay open that way to what does not need the dependency, and long ones do not move into the database."""
_LONGEST_HOLD: Final = 60.0
"""Seconds that a queue waits at most: what is in hand must not come near the broker's consumer timeout."""


class Dependency:
    """Something outside that handlers of this process need: another service, a mail server.

    Args:
        name: for logs, metrics and people.
        outages: exceptions that say that it is away, whatever it was asked; any other is an answer of its own.
        shortest_pause: seconds before the first probe.
        longest_pause: seconds between probes at most, unless it asked for more (`after` of an exception).
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
        """Since when it is away, and why, for people; None while it is not."""
        if self._away_since is None:
            return None
        return f"away for {monotonic() - self._away_since:.0f} s: {self._problem}"

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Put a call of it, bounded in time, into the block; nothing that could fail for other reasons.

        Raises:
            WaitFor: it is away; found out by this call, or known and not this call's turn to find out.
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
        """Notes that a message of the queue has gone back to the outbox to wait."""
        self._set_aside[queue] += 1

    async def wait_for_turn(self, queue: str) -> None:
        """Returns at once, unless enough messages of the queue wait and it is no time for a probe yet."""
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
        """Whether the call is a probe."""
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
