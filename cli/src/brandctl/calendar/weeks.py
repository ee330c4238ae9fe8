"""Times of the week as people type them: `mon-fri 09:00,17:30`. Pure."""

import re
from typing import Any, Final

from brandctl.errors import UsageError

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK: Final = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9]")


def times(typed: str) -> dict[str, list[str]]:
    """Of `mon-fri 09:00,17:30` or `09:00`, which is every day: `{"days": [...], "times": [...]}`.

    Raises:
        UsageError: it is no such thing.
    """
    days, _, clocks = typed.strip().lower().rpartition(" ")
    found = [each.strip() for each in clocks.split(",")]
    if not all(_CLOCK.fullmatch(each) for each in found):
        raise UsageError(f"{typed!a} names no times; write them like 'mon-fri 09:00,17:30'")
    line = {"times": [each.zfill(5) for each in found]}
    return line if not days else {"days": _days(days), **line}


def quiet(typed: str) -> dict[str, str]:
    """Of `22:00-07:00`.

    Raises:
        UsageError: it is no such thing.
    """
    begin, _, end = (each.strip() for each in typed.partition("-"))
    if not (_CLOCK.fullmatch(begin) and _CLOCK.fullmatch(end)):
        raise UsageError(f"{typed!a} names no hours; write them like '22:00-07:00'")
    return {"begin": begin.zfill(5), "end": end.zfill(5)}


def shown(line: dict[str, Any]) -> str:
    """As it is typed; days that follow each other as a range."""
    days = [day for day in DAYS if day in line["days"]]
    clocks = ",".join(line["times"])
    if len(days) == len(DAYS) or not days:
        return clocks
    first, last = DAYS.index(days[0]), DAYS.index(days[-1])
    if len(days) > 2 and last - first + 1 == len(days):  # noqa: PLR2004  (two days are named)
        return f"{days[0]}-{days[-1]} {clocks}"
    return f"{','.join(days)} {clocks}"


def _days(typed: str) -> list[str]:
    found: list[str] = []
    for part in typed.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last and last not in DAYS):
            raise UsageError(
                f"{part!a} is no day of the week; write mon, tue, wed, thu, fri, sat, sun or mon-fri"
            )
        begin, end = DAYS.index(first), DAYS.index(last or first)
        # From Friday to Monday is over the weekend.
        found += [DAYS[each % len(DAYS)] for each in range(begin, end + 1 + len(DAYS) * (end < begin))]
    return list(dict.fromkeys(found))
