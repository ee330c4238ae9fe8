"""Posting times of an account: slots, spacing and quiet hours. Pure: no I/O, no clock, no randomness.

A slot is a local time on a day of the week. A time that the clocks skip or repeat counts once (`chassis.time_zones.moment`); slots
within quiet hours do not exist.
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
"""Posts that are overdue by less count as on time."""
HORIZON: Final = timedelta(days=3660)
"""How far ahead the search for slots goes."""
_TWO_WEEKS: Final = timedelta(days=14)


class NoSlotError(LookupError):
    """No slot is free until the horizon."""


@dataclass(frozen=True, slots=True)
class PostingRules:
    """When an account posts; without slots, at any time outside quiet hours and apart from other posts."""

    zone: ZoneInfo
    week: tuple[tuple[time, ...], ...]
    """Sorted times for each day from Monday on, without duplicates."""
    spacing: timedelta
    """Least time between two posts; positive."""
    quiet: QuietHours | None = None
    month: tuple[tuple[str, tuple[time, ...]], ...] = ()
    """Days of the month in the form of `falls_on`, with their times."""

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Self:
        """Parses `{"time_zone", "slots": [{"days", "times"}], "spacing_minutes", "quiet_hours": {"begin", "end"} or None}`.

        Raises:
            UntimelyError: the zone is unknown, or quiet hours never end.
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
        """Sorted times of a day, without duplicates."""
        times = self.week[day.weekday()]
        if not self.month:
            return times
        return sorted({*times, *(time for on, some in self.month if falls_on(day, on) for time in some)})

    def slots(self, after: datetime, within: timedelta = HORIZON) -> Iterator[datetime]:
        """Slots after a moment and `within` a duration, in UTC and in order."""
        latest, end = after, after + within
        # A skipped local time may fall on the next day; starting a day early and checking `latest` yields each slot once.
        day = after.astimezone(self.zone).date() - timedelta(days=1)
        # Quiet periods and slots both ascend, so that few lookups suffice.
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
        """Whether the two weeks after a moment have a slot outside quiet hours."""
        return next(self.slots(after, _TWO_WEEKS), None) is not None


def week_of(lines: Iterable[Mapping[str, Any]]) -> tuple[tuple[time, ...], ...]:
    """The times of each weekday from lines such as `{"days": ["mon", "wed"], "times": ["09:00"]}`."""
    week: list[set[time]] = [set() for _ in DAYS]
    for line in lines:
        for day in line["days"]:
            week[DAYS.index(day)].update(map(time.fromisoformat, line["times"]))
    return tuple(tuple(sorted(times)) for times in week)


def month_of(lines: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, tuple[time, ...]], ...]:
    """Days of the month with their times, from lines such as `{"days": ["15", "last", "second-tue"], "times": ["09:00"]}`."""
    return tuple(
        (day, tuple(map(time.fromisoformat, line["times"]))) for line in lines for day in line["days"]
    )


def falls_on(day: date, written: str) -> bool:
    """Whether the day is the `15`, the `last`, the `second-tue` or the `last-fri` of its month.

    As in RFC 5545, a month without such a day has no substitute: June has no `31`.
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
    """The taken times of an account; finds and takes free ones."""

    def __init__(self, rules: PostingRules, taken: Iterable[datetime]) -> None:
        self._rules = rules
        self._taken = sorted(taken)

    def take(self, after: datetime) -> datetime:
        """Takes the next free slot after a moment, or without slots the next free time from it on.

        Raises:
            NoSlotError: no slot is free.
        """
        found = self._slot(after) if self._rules.has_slots else self.free_from(after)
        insort(self._taken, found)
        return found

    def too_close(self, at: datetime) -> datetime | None:
        """The first taken time that is closer than the spacing allows; None if all are far enough."""
        place = bisect_left(self._taken, at)
        near = self._taken[max(place - 1, 0) : place + 1]
        return next((each for each in near if abs(each - at) < self._rules.spacing), None)

    def free_from(self, begin: datetime) -> datetime:
        """The first time from then on outside quiet hours and far enough from taken times."""
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
    """New times of posts, some overdue: in the same order and with the account's spacing.

    Args:
        rules: posting rules of the account.
        last: time of the post before them, if any.
        due: their present times, the earliest first.
        now: the database's time.
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
