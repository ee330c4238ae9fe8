"""Time zones by name, and the moments of their clock times. Pure, except that zone files are read once.

A clock time that is skipped or repeated may mean either of two moments.
"""

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones


class UntimelyError(ValueError):
    """The time or zone does not exist; the message says why."""


@cache
def zone_names() -> frozenset[str]:
    """Return the names of all time zones. They are searched once: that opens hundreds of files."""
    return frozenset(available_timezones())


def zone_called(name: str) -> ZoneInfo:
    """Return the time zone of this name. Raises UntimelyError: there is no such zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UntimelyError(
            f"there is no time zone {name[:40]!a}; write it like 'Europe/Berlin' or 'UTC'"
        ) from None


def moments(day: date, clock: time, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the earlier and the later moment, in UTC, of a clock time on a day; they are nearly always equal."""
    before, after = sorted(
        datetime.combine(day, clock.replace(fold=fold), zone).astimezone(UTC) for fold in (0, 1)
    )
    return before, after


def moment(day: date, clock: time, zone: ZoneInfo) -> datetime:
    """Return the moment, in UTC, at which something is due at a clock time on a day.

    Like Debian's cron: the first of a repeated time, and the moment of the clock change for a skipped one.
    """
    earlier, later = moments(day, clock, zone)
    if earlier.astimezone(zone).replace(tzinfo=None) == datetime.combine(day, clock):
        return earlier
    # The clocks skip it: search the moment between the two at which the offset from UTC changes.
    offset = earlier.astimezone(zone).utcoffset()
    while later - earlier > timedelta(seconds=1):
        middle = earlier + (later - earlier) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            earlier = middle
        else:
            later = middle
    return later.replace(microsecond=0)
