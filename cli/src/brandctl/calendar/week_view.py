"""Text of a calendar by days. Pure: no I/O, no clock."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from brandctl.terminal import printable

_LONGEST_TITLE: Final = 48
_DAYS: Final = 7


def span(of: date, weeks: int, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Returns the begin of the day's week (Monday 00:00 in the zone), and the end of the last of the weeks.

    Raises:
        OverflowError: the dates are out of range.
    """
    monday = of - timedelta(days=of.weekday())
    return (
        datetime.combine(monday, time(), zone),
        datetime.combine(monday + timedelta(days=_DAYS * weeks), time(), zone),
    )


def lines(entries: Iterable[dict[str, Any]], begin: datetime, end: datetime) -> Iterator[str]:
    """Yields a heading for each day and its entries, in `begin`'s time zone; an empty day has a dash."""
    rows: dict[date, list[tuple[str, ...]]] = {}
    for entry in entries:
        at = datetime.fromisoformat(entry["at"]).astimezone(begin.tzinfo)
        title = printable(entry["title"])
        cut = title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1].rstrip()}…"
        name = entry.get("post_id") or entry.get("content_id") or ""
        rows.setdefault(at.date(), []).append((f"{at:%H:%M}", where(entry), state(entry), cut, name))
    widths = _widths([row for of_day in rows.values() for row in of_day])
    day = begin.date()
    while day < end.date():
        yield f"{day:%a %-d %b}"
        for row in rows.get(day, ()):
            yield (
                "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            )
        if day not in rows:
            yield "  -"
        day += timedelta(days=1)


def where(entry: dict[str, Any]) -> str:
    """The account or channel of a post, the site of an article, the name of a schedule."""
    return printable(entry.get("account") or entry.get("channel") or entry.get("schedule") or "site")


def state(entry: dict[str, Any]) -> str:
    """The state of an entry, with how it got its time."""
    if "state" not in entry:
        return "scheduled"
    how = entry["repeats"] or ("slot" if entry["in_queue"] else "")
    return printable(f"{entry['state'].replace('_', ' ')}{f' ({how})' if how else ''}")


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)] or [0]
