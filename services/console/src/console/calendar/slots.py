"""The form of an account's weekly slots, read and written. Pure: no I/O."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from console.pages import Form

WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_PART: Final = re.compile(r"[a-z0-9]+")
"""What stands between hyphens in the name of an account."""
_SETTINGS: Final = ("time_zone", "slots", "spacing_minutes", "quiet_hours", "duplicates_days")
_LONGEST: Final = 63
_SEPARATORS: Final = re.compile(r"[\s,;]+")
SPACING_MINUTES: Final = 10
DUPLICATES_DAYS: Final = 30


def is_account(name: str) -> bool:
    return len(name) <= _LONGEST and all(map(_PART.fullmatch, name.split("-")))


def form_of(found: Mapping[str, Any] | None, zone: str) -> dict[str, Any]:
    """The fields of the form: the times of each day as one text."""
    given = found or {}
    lines = given.get("slots", ())
    times = {
        day: sorted({at for line in lines if day in line["days"] for at in line["times"]}) for day in WEEKDAYS
    }
    quiet = given.get("quiet_hours") or {}
    return {
        "days": {day: ", ".join(found) for day, found in times.items()},
        "zone": given.get("time_zone", zone),
        "spacing": given.get("spacing_minutes", SPACING_MINUTES),
        "begin": quiet.get("begin", ""),
        "end": quiet.get("end", ""),
        "duplicates": given.get("duplicates_days", DUPLICATES_DAYS),
    }


def typed_form(form: Form) -> dict[str, Any]:
    """The fields as a person typed them."""
    return {
        "days": {day: form.text(day) for day in WEEKDAYS},
        "zone": form.text("zone"),
        "spacing": form.text("spacing"),
        "begin": form.text("begin"),
        "end": form.text("end"),
        "duplicates": form.text("duplicates"),
    }


def asked_of(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The request to the service, which refuses malformed times and numbers; days with the same times are one line."""
    by_times: dict[tuple[str, ...], list[str]] = {}
    for day in WEEKDAYS:
        times = tuple(sorted({_clock(each) for each in _SEPARATORS.split(typed["days"][day]) if each}))
        if times:
            by_times.setdefault(times, []).append(day)
    quiet = {"begin": typed["begin"], "end": typed["end"]}
    return {
        "time_zone": typed["zone"],
        "slots": [{"days": days, "times": list(times)} for times, days in by_times.items()],
        "spacing_minutes": _number(typed["spacing"]),
        "quiet_hours": quiet if any(quiet.values()) else None,
        "duplicates_days": _number(typed["duplicates"]),
    }


def settings_of(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What brings these slots back; None if there are none."""
    return None if found is None else {name: found[name] for name in _SETTINGS if name in found}


def moved(ids: Sequence[str], move: str) -> list[str]:
    """The order after one post, named as `id:up`, `id:down` or `id:first`, is moved; the same for anything else."""
    post, _, way = move.partition(":")
    order = list(ids)
    if post not in order or way not in {"up", "down", "first"}:
        return order
    at = order.index(post)
    order.remove(post)
    to = {"up": max(at - 1, 0), "down": at + 1, "first": 0}[way]
    order.insert(to, post)
    return order


def _clock(text: str) -> str:
    """`9:00` as `09:00`."""
    return text.zfill(5) if re.fullmatch(r"\d:\d\d", text) else text


def _number(text: Any) -> Any:
    # A number that is none is the service's to refuse, in its sentence.
    return int(text) if str(text).isdecimal() and len(str(text)) < 9 else text  # noqa: PLR2004
