"""Hours of the day in which nothing is done by itself. Pure: no I/O, no clock, no randomness.

They are those of the clocks in a time zone. A time that those clocks skip, or show twice, may mean either of two moments: quiet hours
begin at the earlier and end at the later one, so that they are never shorter than they read.
"""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Self
from zoneinfo import ZoneInfo

from chassis.time_zones import UntimelyError, moments, zone_called

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Period:
    """From one moment up to another one, in UTC."""

    begins: datetime
    ends: datetime


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From one time of the day up to another one, which is on the next day if it is not later."""

    begin: time
    end: time
    zone: ZoneInfo

    @classmethod
    def read(cls, begin: str, end: str, time_zone: str) -> Self:
        """Raises UntimelyError: they never end, or there is no such zone."""
        if begin == end:
            raise UntimelyError(
                "quiet hours must end; to have nothing done at any hour, pause the brand instead"
            )
        return cls(time.fromisoformat(begin), time.fromisoformat(end), zone_called(time_zone))

    def told(self) -> dict[str, str]:
        """As they are read: `{"begin": "22:00", "end": "07:00", "time_zone": "Europe/Berlin"}`."""
        return {"begin": f"{self.begin:%H:%M}", "end": f"{self.end:%H:%M}", "time_zone": self.zone.key}

    def holds(self, moment: datetime) -> bool:
        """Whether a moment is in a period of them."""
        return self.period(moment).begins <= moment

    def period(self, moment: datetime) -> Period:
        """The one that a moment is in, or else the next one after it."""
        here = moment.astimezone(self.zone).date()
        # Where clocks were put forward or back by hours, a period may reach into the day after the next.
        periods = (self._beginning_on(here + days * _DAY) for days in range(-2, 3))
        return min((each for each in periods if each.ends > moment), key=lambda each: each.begins)

    def _beginning_on(self, day: date) -> Period:
        last_day = day if self.end > self.begin else day + _DAY
        begins, _ = moments(day, self.begin, self.zone)
        _, ends = moments(last_day, self.end, self.zone)
        return Period(begins, ends)
