"""Quiet hours: times of the day without automatic work. Pure: no I/O, no clock, no randomness.

They follow the clocks of a time zone. A skipped or repeated clock time may mean either of two moments: quiet hours
begin at the earlier and end at the later one, so they are never shorter than written.
"""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Self
from zoneinfo import ZoneInfo

from chassis.time_zones import UntimelyError, moments, zone_called

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open interval between two moments in UTC."""

    begins: datetime
    ends: datetime


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A daily interval between two clock times; it ends on the next day if `end` is not after `begin`."""

    begin: time
    end: time
    zone: ZoneInfo

    @classmethod
    def read(cls, begin: str, end: str, time_zone: str) -> Self:
        """Parse quiet hours. Raises UntimelyError: they never end, or the zone does not exist."""
        if begin == end:
            raise UntimelyError(
                "quiet hours must end; to have nothing done at any hour, pause the brand instead"
            )
        return cls(time.fromisoformat(begin), time.fromisoformat(end), zone_called(time_zone))

    def told(self) -> dict[str, str]:
        """Return the arguments of `read`: `{"begin": "22:00", "end": "07:00", "time_zone": "Europe/Berlin"}`."""
        return {"begin": f"{self.begin:%H:%M}", "end": f"{self.end:%H:%M}", "time_zone": self.zone.key}

    def holds(self, moment: datetime) -> bool:
        """Return whether a moment is within quiet hours."""
        return self.period(moment).begins <= moment

    def period(self, moment: datetime) -> Period:
        """Return the quiet period that contains a moment, or else the next one."""
        here = moment.astimezone(self.zone).date()
        # If clocks change by hours, a period may reach into the day after the next.
        periods = (self._beginning_on(here + days * _DAY) for days in range(-2, 3))
        return min((each for each in periods if each.ends > moment), key=lambda each: each.begins)

    def _beginning_on(self, day: date) -> Period:
        last_day = day if self.end > self.begin else day + _DAY
        begins, _ = moments(day, self.begin, self.zone)
        _, ends = moments(last_day, self.end, self.zone)
        return Period(begins, ends)
