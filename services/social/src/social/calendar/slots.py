"""When an account may post: its slots, and how far apart posts are kept. Pure: no I/O, no clock, no randomness.

A slot is a time of the day on a day of the week, by the clocks of a zone. Where those clocks skip it, or show it twice, it is there once
(`chassis.time_zones.moment`); where it lies within quiet hours, it is not there at all.
"""

from bisect import bisect_left, insort
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Any, Final, Self
from zoneinfo import ZoneInfo

from chassis.quiet_hours import QuietHours
from chassis.time_zones import moment, zone_called

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LAST: Final = "last"
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")
LATE: Final = timedelta(minutes=1)
"""What is overdue by less is on time."""
HORIZON: Final = timedelta(days=3660)
"""How far ahead slots are looked for; whatever has none until then has none."""
_TWO_WEEKS: Final = timedelta(days=14)


class NoSlotError(LookupError):
    """All slots until the horizon are taken, or there are none."""


@dataclass(frozen=True, slots=True)
class PostingRules:
    """When an account posts; without slots, at any time that is far enough from others and not within quiet hours."""

    zone: ZoneInfo
    week: tuple[tuple[time, ...], ...]
    """Of each day, the first being Monday, the times in their order; no time stands twice."""
    spacing: timedelta
    """Two posts are never closer; more than nothing."""
    quiet: QuietHours | None = None
    month: tuple[tuple[str, tuple[time, ...]], ...] = ()
    """Days of the month, as `falls_on` reads them, with their times."""

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Self:
        """Of `{"time_zone", "slots": [{"days", "times"}], "spacing_minutes", "quiet_hours": {"begin", "end"} or None}`.

        Raises:
            UntimelyError: there is no such zone, or quiet hours never end.
        """
        zone, quiet = written["time_zone"], written["quiet_hours"]
        return cls(
            zone=zone_called(zone),
            week=week_of(written["slots"]),
            spacing=timedelta(minutes=written["spacing_minutes"]),
            quiet=None if quiet is None else QuietHours.read(quiet["begin"], quiet["end"], zone),
        )

    @property
    def has_slots(self) -> bool:
        return any(self.week) or bool(self.month)

    def times_on(self, day: date) -> Sequence[time]:
        """In their order, each once."""
        times = self.week[day.weekday()]
        if not self.month:
            return times
        return sorted({*times, *(time for on, some in self.month if falls_on(day, on) for time in some)})

    def slots(self, after: datetime, within: timedelta = HORIZON) -> Iterator[datetime]:
        """Those later than a moment, in UTC and in their order, `within` so long of it."""
        latest, end = after, after + within
        # What the clocks skip may be a moment of the next day: none is forgotten, and none comes twice.
        day = after.astimezone(self.zone).date() - timedelta(days=1)
        # Periods follow each other as slots do: few are looked up.
        quiet = None if self.quiet is None else self.quiet.period(after)
        while self.has_slots:
            for clock in self.times_on(day):
                slot = moment(day, clock, self.zone)
                if slot > end:
                    return
                if slot > latest:
                    latest = slot
                    if self.quiet and quiet and slot >= quiet.ends:
                        quiet = self.quiet.period(slot)
                    if quiet is None or slot < quiet.begins:
                        yield slot
            day += timedelta(days=1)

    def is_quiet(self, at: datetime) -> bool:
        return self.quiet is not None and self.quiet.holds(at)

    def has_any(self, after: datetime) -> bool:
        """Whether quiet hours leave a slot in the two weeks after a moment."""
        return next(self.slots(after, _TWO_WEEKS), None) is not None


def week_of(lines: Iterable[Mapping[str, Any]]) -> tuple[tuple[time, ...], ...]:
    """Of each day the times that its lines name: `{"days": ["mon", "wed"], "times": ["09:00"]}`."""
    week: list[set[time]] = [set() for _ in DAYS]
    for line in lines:
        for day in line["days"]:
            week[DAYS.index(day)].update(map(time.fromisoformat, line["times"]))
    return tuple(tuple(sorted(times)) for times in week)


def month_of(lines: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, tuple[time, ...]], ...]:
    """Days of the month with their times: of `{"days": ["15", "last", "second-tue"], "times": ["09:00"]}`."""
    return tuple(
        (day, tuple(map(time.fromisoformat, line["times"]))) for line in lines for day in line["days"]
    )


def falls_on(day: date, written: str) -> bool:
    """Whether it is the `15`, the `last`, the `second-tue` or the `last-fri` of its month.

    A month that has no such day has none, as RFC 5545 has it: the `31` of June is not the 30.
    """
    length = monthrange(day.year, day.month)[1]
    if written == LAST:
        return day.day == length
    if written.isdigit():
        return day.day == int(written)
    which, _, weekday = written.partition("-")
    if DAYS[day.weekday()] != weekday:
        return False
    return day.day > length - 7 if which == LAST else (day.day - 1) // 7 == ORDINALS.index(which)


class AccountSlots:
    """An account's times that are taken, to which more are added."""

    def __init__(self, rules: PostingRules, taken: Iterable[datetime]) -> None:
        self._rules = rules
        self._taken = sorted(taken)

    def take(self, after: datetime) -> datetime:
        """The next free slot later than a moment, or without slots the next free time from it on; from now on it is taken.

        Raises:
            NoSlotError: there is none.
        """
        found = self._slot(after) if self._rules.has_slots else self.free_from(after)
        insort(self._taken, found)
        return found

    def too_close(self, at: datetime) -> datetime | None:
        """What is taken and nearer than posts may be to each other; the first such time."""
        place = bisect_left(self._taken, at)
        near = self._taken[max(place - 1, 0) : place + 1]
        return next((each for each in near if abs(each - at) < self._rules.spacing), None)

    def free_from(self, begin: datetime) -> datetime:
        """The first time from then on that is neither quiet nor too close to what is taken."""
        free = begin
        while True:
            if (quiet := self._rules.quiet) is not None and quiet.holds(free):
                free = quiet.period(free).ends
            near = self.too_close(free)
            if near is None:
                return free
            free = near + self._rules.spacing

    def _slot(self, after: datetime) -> datetime:
        for slot in self._rules.slots(after):
            if self.too_close(slot) is None:
                return slot
        raise NoSlotError


def spaced_times(
    rules: PostingRules, last: datetime | None, due: Sequence[datetime], now: datetime
) -> list[datetime]:
    """When posts go out of which some may be overdue: in their order, and never closer to each other than they may be.

    Args:
        rules: of the account.
        last: when the one before them went out, if there is one.
        due: their times, the earliest first.
        now: of the database.
    """
    times: list[datetime] = []
    for each in due:
        earliest = each if now - each <= LATE else now
        if last is not None:
            earliest = max(earliest, last + rules.spacing)
        if earliest != each and (quiet := rules.quiet) is not None and quiet.holds(earliest):
            earliest = quiet.period(earliest).ends
        times.append(earliest)
        last = earliest
    assert all(earlier <= later for earlier, later in pairwise(times))
    return times
