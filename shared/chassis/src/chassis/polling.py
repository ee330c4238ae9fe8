"""Periodic work: repeated at an interval, when rows fall due, or when an alarm rings."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

import structlog
from prometheus_client import Counter

from chassis.database.pool import Connection, Connections, DatabaseUnavailableError, outage_in

log = structlog.get_logger(__name__)

Work = Callable[[], Awaitable[object]]
"""One round. A `timedelta` that it returns may shorten the interval to the next."""
NextDue = Callable[[Connection], Awaitable[timedelta | None]]
"""Reads from the database in what time work falls due; None: there is none to wait for."""

SHORTEST_PAUSE: Final = timedelta(milliseconds=20)
_JITTER: Final = 0.1
"""The first interval is up to this share shorter, so that replicas that start together do not work in step."""
_EARLY: Final = 0.002
"""Timers of the event loop fire up to a millisecond early: a round that starts just before its time is the one of that time."""
_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 60.0


class Alarm:
    """Ends the pauses of the pollers that have it."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def ring(self) -> None:
        """Start the next round of each poller now, or right after its present one."""
        rung, self._next = self._next, asyncio.Event()
        rung.set()

    def next(self) -> asyncio.Event:
        """Return the event of the next ring; a poller gets it before its round, so that it misses no ring."""
        return self._next


class Poller:
    """Repeats one piece of work until it is cancelled. Every replica has one; rows share out the work.

    An outage of the database pauses it until the database is back. Any other error is logged, and the work is repeated after
    1 second, then 2, 4 and so on up to a minute, until a round succeeds.

    Args:
        name: of the work, in logs, metrics and the name of the task.
        work: one round. Cancelling it has to be safe, as a killed process stops anywhere, too.
        connections: of the process's database.
        every: interval between the starts of two rounds; rounds that it would miss are left out. None: one round that succeeds.
        next_due: may shorten an interval, down to `shortest`.
        alarm: starts a round at once.
        once_more: whether to do the work once more when cancelled, unless the database is away.
        rounds: counts rounds by name and outcome.
    """

    def __init__(
        self,
        name: str,
        work: Work,
        connections: Connections,
        *,
        every: timedelta | None,
        next_due: NextDue | None = None,
        shortest: timedelta = SHORTEST_PAUSE,
        alarm: Alarm | None = None,
        once_more: bool = False,
        rounds: Counter | None = None,
    ) -> None:
        self.name = name
        self._work = work
        self._connections = connections
        self._every = every
        self._next_due = next_due
        self._shortest = shortest
        self._alarm = alarm or Alarm()
        self._once_more = once_more
        self._rounds = rounds

    async def run(self) -> None:
        """Work until cancelled."""
        clock = asyncio.get_running_loop().time
        origin = clock() - random.uniform(0.0, _JITTER) * self._seconds()  # noqa: S311  (no secret)
        retry = 0.0
        try:
            while True:
                rung = self._alarm.next()
                try:
                    result = await self._work()
                    pause = await self._pause(clock() - origin, result)
                except Exception as error:
                    if outage := outage_in(error):
                        self._count("paused")
                        log.warning("background_task_paused", task=self.name, error=str(outage))
                        await self._connections.wait_until_available()
                        continue
                    self._count("failed")
                    pause = retry = min(retry * 2, _LONGEST_RETRY) or _FIRST_RETRY
                    log.exception("background_task_failed", task=self.name, retry_seconds=retry)
                else:
                    self._count("done")
                    retry = 0.0
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await rung.wait()
        finally:
            if self._once_more:
                with suppress(DatabaseUnavailableError):
                    await self._work()

    def _seconds(self) -> float:
        return 0.0 if self._every is None else self._every.total_seconds()

    async def _pause(self, since_origin: float, result: object) -> float | None:
        """Return the seconds until the next round; None: none comes unless the alarm rings."""
        if self._every is None:
            return None
        pause = self._seconds() - (since_origin + _EARLY) % self._seconds() + _EARLY
        due = result if isinstance(result, timedelta) else None
        if self._next_due is not None:
            async with self._connections.connection() as connection:
                due = await self._next_due(connection)
        return pause if due is None else min(pause, max(due, self._shortest).total_seconds())

    def _count(self, outcome: str) -> None:
        if self._rounds is not None:
            self._rounds.labels(self.name, outcome).inc()
