"""Writes the figures of this process to its database, from counts in memory."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import uuid4

from chassis.database.pool import Connections
from messaging.broker.queue_depths import QueueDepth
from messaging.flow.intake import utc_now
from messaging.flow.runner import QueueRunner
from messaging.observing.counting import QueueCounts
from messaging.storage import figures
from messaging.storage.figures import HourRow, MinuteRow

NOTE_EVERY: Final = timedelta(seconds=15)
"""What is done in the meantime counts for the minute, and for the hour, in which it began."""

ReadDepths = Callable[[], Awaitable[Mapping[str, QueueDepth]]]


class _Totals(NamedTuple):
    """Of a type, since the start of the process."""

    handled: int
    retried: int
    set_aside: int
    dead: int
    waited: tuple[int, ...]
    worked: tuple[int, ...]

    def after(self, before: "_Totals | None") -> "_Totals":
        if before is None:
            return self
        return _Totals(
            self.handled - before.handled,
            self.retried - before.retried,
            self.set_aside - before.set_aside,
            self.dead - before.dead,
            tuple(now - then for now, then in zip(self.waited, before.waited, strict=True)),
            tuple(now - then for now, then in zip(self.worked, before.worked, strict=True)),
        )

    @property
    def has_any(self) -> bool:
        return bool(self.handled or self.retried or self.set_aside or self.dead or any(self.worked))


_Place = tuple[str, str]
"""Queue and type."""


class FigureNotes:
    """Writes the rows of the present minute and hour.

    A minute or an hour whose rows cannot be written stays the present one until they can.
    """

    def __init__(
        self,
        connections: Connections,
        runners: Sequence[QueueRunner],
        read_depths: ReadDepths,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._connections = connections
        self._runners = runners
        self._read_depths = read_depths
        self._clock = clock
        self._process = uuid4()
        self._minute, self._hour = self._present()
        self._at_minute: dict[_Place, _Totals] = {}
        self._at_hour: dict[_Place, _Totals] = {}
        self._longest: dict[_Place, tuple[float, float]] = {}
        """Of the present hour: waited and worked."""
        self._ready: dict[str, int | None] = {}
        self._ready_before: dict[str, int | None] = {}
        self._written: set[MinuteRow | HourRow] = set()

    async def note(self) -> None:
        """Writes what has changed, then begins the next minute or hour if it has come.

        Raises:
            DatabaseUnavailableError: the database is unavailable.
        """
        minute, hour = self._present()
        totals = self._totals()
        await self._write(totals)
        if minute != self._minute:
            self._minute, self._at_minute = minute, totals
            self._ready_before = self._ready
            depths = await self._read_depths()
            self._ready = {
                runner.queue: depths[runner.queue].ready if runner.queue in depths else None
                for runner in self._runners
            }
        if hour != self._hour:
            self._hour, self._at_hour, self._longest = hour, totals, {}

    def _present(self) -> tuple[datetime, datetime]:
        minute = self._clock().replace(second=0, microsecond=0)
        return minute, minute.replace(minute=0)

    async def _write(self, totals: Mapping[_Place, _Totals]) -> None:
        minutes, hours = self._minutes(self._minute, totals), self._hours(self._hour, totals)
        new = {*minutes, *hours} - self._written
        if not new:
            return
        async with self._connections.connection() as connection:
            await figures.write(
                connection,
                self._process,
                [row for row in minutes if row in new],
                [row for row in hours if row in new],
            )
        self._written = {*minutes, *hours}

    def _totals(self) -> dict[_Place, _Totals]:
        found: dict[_Place, _Totals] = {}
        for runner in self._runners:
            counts = runner.settlement.counts
            for name in dict.fromkeys((*runner.table, *counts.handler_seconds, *counts.dead_types)):
                found[runner.queue, name] = _totals_of(counts, name)
        return found

    def _minutes(self, minute: datetime, totals: Mapping[_Place, _Totals]) -> list[MinuteRow]:
        rows: list[MinuteRow] = []
        for runner in self._runners:
            done = [
                each.after(self._at_minute.get(place))
                for place, each in totals.items()
                if place[0] == runner.queue
            ]
            ready = self._ready.get(runner.queue)
            # A minute without a row had no messages in the queue.
            if any(each.has_any for each in done) or ready != 0 or self._ready_before.get(runner.queue) != 0:
                rows.append(
                    MinuteRow(
                        minute,
                        runner.queue,
                        sum(each.handled for each in done),
                        sum(each.retried for each in done),
                        sum(each.set_aside for each in done),
                        sum(each.dead for each in done),
                        ready,
                    )
                )
        return rows

    def _hours(self, hour: datetime, totals: Mapping[_Place, _Totals]) -> list[HourRow]:
        rows: list[HourRow] = []
        counts = {runner.queue: runner.settlement.counts for runner in self._runners}
        for place, each in totals.items():
            done = each.after(self._at_hour.get(place))
            if not done.has_any:
                continue
            queue, name = place
            waited, worked = self._longest.get(place, (0.0, 0.0))
            self._longest[place] = longest = (
                max(waited, counts[queue].waiting_seconds[name].take_largest()),
                max(worked, counts[queue].handler_seconds[name].take_largest()),
            )
            rows.append(
                HourRow(
                    hour,
                    queue,
                    name,
                    done.handled,
                    done.retried,
                    done.set_aside,
                    done.dead,
                    done.waited,
                    longest[0],
                    done.worked,
                    longest[1],
                )
            )
        return rows


def _totals_of(counts: QueueCounts, name: str) -> _Totals:
    return _Totals(
        counts.processed[name],
        counts.retried[name],
        counts.set_aside[name],
        counts.dead_types[name],
        counts.waiting_seconds[name].counts,
        counts.handler_seconds[name].counts,
    )
