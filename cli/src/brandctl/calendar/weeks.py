"""Times of the week and the month as people type them: `mon-fri 09:00,17:30`, `15,last 09:00`. Pure."""

import re
from collections.abc import Iterable
from typing import Any, Final

from brandctl.errors import UsageError

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "last")
_DAY_OF_MONTH: Final = re.compile(rf"[1-9]|[12][0-9]|3[01]|last|({'|'.join(_ORDINALS)})-({'|'.join(DAYS)})")
_CLOCK: Final = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9]")


def times(typed: str) -> dict[str, list[str]]:
    """Parses `mon-fri 09:00,17:30`, or `09:00` for every day, into `{"days": [...], "times": [...]}`.

    Raises:
        UsageError: the text has another form.
    """
    days, line = _parts(typed)
    return line if not days else {"days": _days(days), **line}


def recurring(typed: Iterable[str]) -> dict[str, list[dict[str, list[str]]]]:
    """Parses `mon 09:00` (week) and `15,last 09:00` or `second-tue 09:00` (month) into `{"times": [...], "monthly": [...]}`.

    Raises:
        UsageError: one of the texts has another form.
    """
    weekly, monthly = [], []
    for each in typed:
        days, line = _parts(each)
        named = [day.strip() for day in days.split(",")] if days else []
        if any(map(_DAY_OF_MONTH.fullmatch, named)):
            if wrong := [day for day in named if not _DAY_OF_MONTH.fullmatch(day)]:
                raise UsageError(
                    f"{wrong[0]!a} is no day of the month; write 1 to 31, last, first-mon, last-fri; give days of the week in another --at"
                )
            monthly.append({"days": list(dict.fromkeys(named)), **line})
        else:
            weekly.append({"days": _days(days), **line} if days else line)
    return {"times": weekly, "monthly": monthly}


def quiet(typed: str) -> dict[str, str]:
    """Parses `22:00-07:00` into `{"begin": ..., "end": ...}`.

    Raises:
        UsageError: the text has another form.
    """
    begin, _, end = (each.strip() for each in typed.partition("-"))
    if not (_CLOCK.fullmatch(begin) and _CLOCK.fullmatch(end)):
        raise UsageError(f"{typed!a} names no hours; write them like '22:00-07:00'")
    return {"begin": begin.zfill(5), "end": end.zfill(5)}


def shown(line: dict[str, Any]) -> str:
    """Formats a line as users type it; consecutive days become a range."""
    days = [day for day in DAYS if day in line["days"]]
    clocks = ",".join(line["times"])
    if len(days) == len(DAYS) or not days:
        return clocks
    first, last = DAYS.index(days[0]), DAYS.index(days[-1])
    if len(days) > 2 and last - first + 1 == len(days):  # noqa: PLR2004  (two days are named)
        return f"{days[0]}-{days[-1]} {clocks}"
    return f"{','.join(days)} {clocks}"


def _parts(typed: str) -> tuple[str, dict[str, list[str]]]:
    """Splits the text into the typed days and the times."""
    days, _, clocks = typed.strip().lower().rpartition(" ")
    found = [each.strip() for each in clocks.split(",")]
    if not all(_CLOCK.fullmatch(each) for each in found):
        raise UsageError(f"{typed!a} names no times; write them like 'mon-fri 09:00,17:30'")
    return days, {"times": [each.zfill(5) for each in found]}


def _days(typed: str) -> list[str]:
    found: list[str] = []
    for part in typed.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last and last not in DAYS):
            raise UsageError(
                f"{part!a} is no day of the week; write mon, tue, wed, thu, fri, sat, sun or mon-fri"
            )
        begin, end = DAYS.index(first), DAYS.index(last or first)
        # fri-mon wraps over the weekend.
        found += [DAYS[each % len(DAYS)] for each in range(begin, end + 1 + len(DAYS) * (end < begin))]
    return list(dict.fromkeys(found))
