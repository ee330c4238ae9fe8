"""What the page of throughput and times shows. Pure: no I/O."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, TypeAlias

SPANS: Final = (24, 72, 168)
"""Hours that the page offers."""
_MILLISECOND: Final = 0.001
_BAR: Final = 10
_HEIGHT: Final = 100
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)

Found: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Answers by service, of those that answered."""


@dataclass(frozen=True, slots=True)
class ActivityBar:
    at: datetime | date
    count: int
    failed: int
    """Attempts that failed, and messages that died."""
    parts: tuple[tuple[str, int], ...]
    """What the count is made of, the most first."""
    x: int
    y: int
    height: int
    """In a drawing that is a hundred high."""


@dataclass(frozen=True, slots=True)
class ActivityChart:
    bars: tuple[ActivityBar, ...]
    """One for each minute, hour or day, the oldest first."""
    width: int
    highest: int
    total: int


@dataclass(frozen=True, slots=True)
class TypeRow:
    service: str
    queue: str
    type: str
    handled: int
    retried: int
    set_aside: int
    dead: int
    chart: ActivityChart
    waiting: Mapping[str, Any] | None
    working: Mapping[str, Any] | None


def by_minute(found: Found) -> ActivityChart:
    """Draws the last 60 minutes of all services; the last one has only begun."""
    last = _minute(_end(found))
    return _draw([last - (59 - each) * _MINUTE for each in range(60)], _minutes(found))


def by_hour(found: Found) -> ActivityChart:
    """Draws the hours of the span, of all services."""
    return _draw(_hours(found), _of_hours(found))


def types(found: Found) -> list[TypeRow]:
    """The types of messages, those of the most first."""
    hours = _hours(found)
    rows: list[TypeRow] = []
    for service, part in found.items():
        times = {(each["queue"], each["type"]): each for each in part["times"]}
        places = dict.fromkeys([(each["queue"], each["type"]) for each in part["hours"]]) | dict.fromkeys(
            times
        )
        for queue, name in places:
            own = [each for each in part["hours"] if (each["queue"], each["type"]) == (queue, name)]
            known = times.get((queue, name))
            sums: dict[str, int] = {
                field: sum(each[field] for each in own)
                for field in ("handled", "retried", "set_aside", "dead")
            }
            counted = [(datetime.fromisoformat(each["hour"]), name, each["handled"], 0) for each in own]
            rows.append(
                TypeRow(
                    service,
                    queue,
                    name,
                    **sums,
                    chart=_draw(hours, counted),
                    waiting=_measured(known, "waiting"),
                    working=_measured(known, "working"),
                )
            )
    return sorted(rows, key=lambda row: (-row.handled, row.service, row.queue, row.type))


def by_day(answer: Mapping[str, Any]) -> ActivityChart:
    """Draws dead letters by day; those that wait for a decision are its `failed`."""
    first, today = (date.fromisoformat(answer[name]) for name in ("first_day", "today"))
    counted = [
        (date.fromisoformat(each["day"]), each["queue"], each["recorded"], each["open"])
        for each in answer["items"]
    ]
    return _draw([first + each * _DAY for each in range((today - first).days + 1)], counted)


def duration(seconds: float | None, language: str) -> str:
    """Writes seconds shortly: `12 ms`, `3.5 s`, `4 min`, `2.5 h`."""
    if seconds is None:
        return "\N{EN DASH}"
    if seconds < _MILLISECOND:
        return "< 1 ms"
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 120:  # noqa: PLR2004
        written = f"{seconds:.3g} s"
    elif seconds < 7200:  # noqa: PLR2004
        written = f"{seconds / 60:.0f} min"
    else:
        written = f"{seconds / 3600:.1f} h"
    return written.replace(".", ",") if language == "de" else written


def _measured(known: Mapping[str, Any] | None, name: str) -> Mapping[str, Any] | None:
    found = None if known is None else known[name]
    return found if found and found["count"] else None


def _end(found: Found) -> datetime:
    part = next(iter(found.values()))
    now, until = (datetime.fromisoformat(part[name]) for name in ("now", "until"))
    return min(now, until - _MINUTE)


def _minute(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(second=0, microsecond=0)


def _hours(found: Found) -> list[datetime]:
    part = next(iter(found.values()))
    since, last = datetime.fromisoformat(part["since"]), _minute(_end(found)).replace(minute=0)
    return [since + each * _HOUR for each in range(round((last - since) / _HOUR) + 1)]


_Counted: TypeAlias = tuple[Any, str, int, int]
"""When, of what, how many, and how many that failed."""


def _minutes(found: Found) -> Iterable[_Counted]:
    for part in found.values():
        for each in part["minutes"]:
            at = datetime.fromisoformat(each["minute"])
            yield at, each["queue"], each["handled"], each["retried"] + each["dead"]


def _of_hours(found: Found) -> Iterable[_Counted]:
    for part in found.values():
        for each in part["hours"]:
            at = datetime.fromisoformat(each["hour"])
            yield at, each["type"], each["handled"], each["retried"] + each["dead"]


def _draw(moments: Sequence[Any], counted: Iterable[_Counted]) -> ActivityChart:
    sums: dict[Any, Counter[str]] = {}
    failed: Counter[Any] = Counter()
    for at, what, count, of_failed in counted:
        sums.setdefault(at, Counter())[what] += count
        failed[at] += of_failed
    highest = max((sums[each].total() for each in moments if each in sums), default=0)
    bars = tuple(
        _bar(at, place, sums.get(at, Counter()), failed[at], highest) for place, at in enumerate(moments)
    )
    return ActivityChart(bars, max(len(bars), 1) * _BAR, highest, sum(each.count for each in bars))


def _bar(at: Any, place: int, parts: Counter[str], failed: int, highest: int) -> ActivityBar:
    count = parts.total()
    # What is there is seen.
    height = max(2, round(count * _HEIGHT / highest)) if count else 0
    shown = tuple(each for each in parts.most_common() if each[1])
    return ActivityBar(at, count, failed, shown, place * _BAR, _HEIGHT - height, height)
