"""When a schedule is due, and its state after a firing. Pure: no I/O, no clock, no randomness.

The times of a cron expression are those of Debian's cron, daylight saving included: of a job at a fixed hour, a wall-clock time that
does not exist fires once, when the clock has been put forward, and one that exists twice fires once, the first time. A job
of every hour (`0 * * * *`) fires every hour that passes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import chain, dropwhile, islice
from typing import Final, Self
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from chassis.time_zones import UntimelyError, zone_called

FIELDS: Final = 5
RETRIES: Final = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30))
"""Pauses before a failed firing is tried again; after the last, it is given up."""
WEEKLY_AUDIT: Final = "weekly-audit"
"""Name of each brand's schedule that starts its audit."""
AUDIT_CRON: Final = "0 6 * * SUN"
"""Default times of the audit, in UTC."""
MOST_MISSED: Final = 1000
"""Missed firings are counted up to this number."""


class ScheduleKind(StrEnum):
    """The action of a schedule."""

    RESEARCH = "research"
    """Submits its keywords."""
    AUDIT = "audit"
    """Starts an audit; each brand has one such schedule."""


class ScheduleState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    """Paused until a person resumes it."""
    PARKED = "parked"
    """Its only firing failed, retries included: it waits for a person."""
    ENDED = "ended"
    """It has fired for the last time: once only, at the end of its list, or at its expression's last time."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """A cron expression of five fields, in a time zone."""

    cron: str
    zone: ZoneInfo

    @classmethod
    def read(cls, cron: str, zone_name: str) -> Self:
        """Raises UntimelyError: the expression is invalid or names no time, or there is no such time zone."""
        fields = cron.split()
        if len(fields) != FIELDS:
            raise UntimelyError(
                f"a cron expression has {FIELDS} fields (minute, hour, day of the month, month, day of the week), such as"
                " '0 6 * * SUN'"
            )
        timetable = cls(" ".join(fields).upper(), zone_called(zone_name))
        try:
            first = next(timetable._times(datetime(2000, 1, 1, tzinfo=UTC)), None)
        except CronSimError as error:
            raise UntimelyError(f"this is no cron expression: {str(error).lower()}") from None
        if first is None:
            raise UntimelyError("this cron expression names a day that never comes")
        return timetable

    def following(self, moment: datetime, count: int) -> tuple[datetime, ...]:
        """The next times after a moment, in UTC, earliest first; fewer if 50 years hold no more."""
        return tuple(islice(self._times(moment), count))

    def following_all(self, moment: datetime) -> Iterator[datetime]:
        """Iterates over the times after a moment, in UTC, earliest first."""
        return self._times(moment)

    def after(self, moment: datetime) -> datetime | None:
        return next(iter(self.following(moment, 1)), None)

    def missed(self, due_at: datetime, now: datetime) -> int:
        """The number of times after `due_at` up to `now`, at most `MOST_MISSED`."""
        count = 0
        for time in islice(self._times(due_at), MOST_MISSED):
            if time > now:
                break
            count += 1
        return count

    def _times(self, moment: datetime) -> Iterator[datetime]:
        latest = moment
        for time in CronSim(self._expression, moment.astimezone(self.zone)):
            # A start within an hour that the clock shows twice also yields times of the first pass, which are over.
            if (found := time.astimezone(UTC)) > latest:
                latest = found
                yield found

    @property
    def _expression(self) -> str:
        # A step in the minutes makes cron take the job for one of every so many minutes, whatever the clock shows, though its
        # hours are fixed: written as a range, it is a job of these hours.
        minute, hour, *days = self.cron.split()
        if minute.startswith("*") and not hour.startswith("*"):
            minute = "0-59" + minute.removeprefix("*")
        return " ".join((minute, hour, *days))


@dataclass(frozen=True, slots=True)
class ScheduleProgress:
    """The progress of a schedule: its next due time, retries, and position in its list."""

    state: ScheduleState
    due_at: datetime
    try_at: datetime
    position: int = 0
    """Keywords of the list that were submitted; 0 if each firing submits all."""
    failures: int = 0
    """Failures of the current firing."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """The plan of a schedule: which keywords it submits, and when."""

    keywords: tuple[str, ...]
    take: int | None
    timetable: Timetable | None
    """None: once."""

    def next_keywords(self, position: int) -> tuple[str, ...]:
        return self.keywords if self.take is None else self.keywords[position : position + self.take]

    def begun(self, first: datetime) -> ScheduleProgress:
        return ScheduleProgress(ScheduleState.ACTIVE, first, first)

    def fired(self, standing: ScheduleProgress, now: datetime) -> ScheduleProgress:
        """The progress after a firing, which also stands for times missed before it."""
        position = standing.position if self.take is None else standing.position + self.take
        if self.take is not None and position >= len(self.keywords):
            return replace(
                standing, state=ScheduleState.ENDED, position=len(self.keywords), failures=0, reason=None
            )
        return self._onward(replace(standing, position=position, failures=0, reason=None), now)

    def failed(self, standing: ScheduleProgress, why: str, now: datetime) -> ScheduleProgress:
        """The progress after a failure: retried, then given up. A recurring schedule continues; a single one is parked."""
        failures = standing.failures + 1
        if failures <= len(RETRIES):
            return replace(standing, failures=failures, try_at=now + RETRIES[failures - 1], reason=why)
        if self.timetable is None:
            return replace(standing, state=ScheduleState.PARKED, failures=failures, reason=why)
        return self._onward(replace(standing, failures=0, reason=why), now)

    def resumed(self, standing: ScheduleProgress, now: datetime) -> ScheduleProgress:
        """The progress after a resume: a recurring schedule continues at its next time; an undone single one is due now."""
        active = replace(standing, state=ScheduleState.ACTIVE, failures=0, reason=None)
        if self.timetable is None or standing.due_at > now:
            return replace(active, try_at=max(standing.due_at, now))
        return self._onward(active, now)

    def due_now(self, standing: ScheduleProgress, now: datetime) -> ScheduleProgress:
        """The progress of an active schedule that a person wants to fire now; its next time comes as it would have."""
        return replace(standing, due_at=min(standing.due_at, now), try_at=now, failures=0, reason=None)

    def missed(self, due_at: datetime, now: datetime) -> int:
        return self.timetable.missed(due_at, now) if self.timetable else 0

    def next_times(self, standing: ScheduleProgress, count: int) -> tuple[datetime, ...]:
        """The next planned firings; none unless it is active."""
        if standing.state is not ScheduleState.ACTIVE:
            return ()
        following = self.timetable.following(standing.due_at, count - 1) if self.timetable else ()
        times = (standing.due_at, *following)
        return times[: self._firings_left(standing)]

    def firings_from(self, standing: ScheduleProgress, begin: datetime) -> Iterator[datetime]:
        """Iterates over planned firings from a time on; none unless it is active."""
        if standing.state is not ScheduleState.ACTIVE:
            return
        left = self._firings_left(standing)
        if self.timetable is not None and left is None and begin > standing.due_at:
            yield from self.timetable.following_all(begin - timedelta(microseconds=1))
            return
        following = self.timetable.following_all(standing.due_at) if self.timetable else iter(())
        times = islice(chain((standing.due_at,), following), left)
        yield from dropwhile(lambda time: time < begin, times)

    def _firings_left(self, standing: ScheduleProgress) -> int | None:
        if self.take is None:
            return None
        return -(-(len(self.keywords) - standing.position) // self.take)

    def _onward(self, standing: ScheduleProgress, now: datetime) -> ScheduleProgress:
        due_at = self.timetable.after(max(now, standing.due_at)) if self.timetable else None
        if due_at is None:
            return replace(standing, state=ScheduleState.ENDED)
        return replace(standing, state=ScheduleState.ACTIVE, due_at=due_at, try_at=due_at)


def local(times: Sequence[datetime], zone: ZoneInfo) -> tuple[datetime, ...]:
    """The moments in a time zone."""
    return tuple(time.astimezone(zone) for time in times)
