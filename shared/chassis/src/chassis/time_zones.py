"""Time zones by their names, and what the clocks in them mean. Pure but for the zones' own files, which are read once.

A time of the day that the clocks skip, or show twice, may mean either of two moments.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class UntimelyError(ValueError):
    """There is no such time; the message says what is wrong with the expression or the zone."""


def zone_called(name: str) -> ZoneInfo:
    """Raises UntimelyError: there is no such zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UntimelyError(
            f"there is no time zone {name[:40]!a}; write it like 'Europe/Berlin' or 'UTC'"
        ) from None


def moments(day: date, clock: time, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The earlier and the later moment, in UTC, that a time on a day may mean; nearly always one and the same."""
    before, after = sorted(
        datetime.combine(day, clock.replace(fold=fold), zone).astimezone(UTC) for fold in (0, 1)
    )
    return before, after


def moment(day: date, clock: time, zone: ZoneInfo) -> datetime:
    """The one moment, in UTC, at which something is due at a time on a day.

    As Debian's cron has it: of a time that exists twice the first, and of one that does not exist that at which the clocks are
    put forward.
    """
    earlier, later = moments(day, clock, zone)
    if earlier.astimezone(zone).replace(tzinfo=None) == datetime.combine(day, clock):
        return earlier
    # The clocks skip it: between the two they are put forward, which is where the difference to UTC changes.
    offset = earlier.astimezone(zone).utcoffset()
    while later - earlier > timedelta(seconds=1):
        middle = earlier + (later - earlier) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            earlier = middle
        else:
            later = middle
    return later.replace(microsecond=0)
