"""Contents of the pages about schedules, from the orchestrator's answers, and requests from their forms. Pure: no I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, Final
from zoneinfo import ZoneInfo

from chassis.time_zones import UntimelyError, moments, zone_called
from console.money.views import typed_dollars
from console.pages import Form

WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
RHYTHMS: Final = ("daily", "weekly", "monthly", "once", "cron")
PRIORITIES: Final = ("high", "normal", "low")
TONES: Final = {"active": "good", "paused": "warn", "parked": "bad"}
WEEKLY_AUDIT: Final = "weekly-audit"
_WORD: Final = re.compile(r"[a-z0-9]+")
_LONGEST_NAME: Final = 63
_LONGEST_NUMBER: Final = 10
_MONTH_DAYS: Final = 31
_WORKING_DAYS: Final = WEEKDAYS[:5]


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When a schedule fires, in parts that a sentence or a form is made of."""

    kind: str
    """One of RHYTHMS."""
    clock: str = ""
    days: tuple[str, ...] = ()
    """Of the week, in its order."""
    day: int = 0
    """Of the month."""
    date: str = ""
    cron: str = ""

    @property
    def key(self) -> str:
        """Of its sentence, below `schedules.rhythm`."""
        if self.kind == "weekly" and self.days == _WORKING_DAYS:
            return "working_days"
        return self.kind


def rhythm_of(schedule: Mapping[str, Any]) -> Rhythm:
    """Reads a schedule's cron expression; one that has no plain words stays as it is."""
    cron = schedule["cron"]
    if cron is None:
        at = next(iter(schedule["next"]), None)
        local = datetime.fromisoformat(at) if at else None
        return Rhythm(
            "once",
            clock=f"{local:%H:%M}" if local else "",
            date=local.date().isoformat() if local else "",
        )
    fields = cron.split()
    plain = len(fields) == 5 and fields[0].isdigit() and fields[1].isdigit() and fields[3] == "*"  # noqa: PLR2004
    if plain:
        minute, hour, on_month, _, on_week = fields
        clock = f"{int(hour):02}:{int(minute):02}"
        if on_month == on_week == "*":
            return Rhythm("daily", clock, cron=cron)
        if on_month == "*" and (days := _weekdays(on_week)):
            return Rhythm("weekly", clock, days, cron=cron)
        if on_week == "*" and on_month.isdigit():
            return Rhythm("monthly", clock, day=int(on_month), cron=cron)
    return Rhythm("cron", cron=cron)


def _weekdays(written: str) -> tuple[str, ...]:
    """The days of a field such as `MON-FRI` or `1,3`; none if it is not as plain as that."""
    found: set[str] = set()
    for part in written.lower().split(","):
        begin, dash, end = part.partition("-")
        first, last = _weekday(begin), _weekday(end if dash else begin)
        if first is None or last is None or first > last:
            return ()
        found.update(WEEKDAYS[first : last + 1])
    return tuple(day for day in WEEKDAYS if day in found)


def _weekday(written: str) -> int | None:
    if written in WEEKDAYS:
        return WEEKDAYS.index(written)
    # Cron counts from Sunday, which is 0 and 7.
    return (int(written) - 1) % 7 if written.isdigit() and int(written) <= 7 else None  # noqa: PLR2004


def new_form(zone: str) -> dict[str, Any]:
    """The fields of the form for a new schedule."""
    return {
        "name": "",
        "keywords": "",
        "rhythm": Rhythm("weekly", "09:00", ("mon",)),
        "zone": zone,
        "take": "",
        "priority": "normal",
        "refresh": False,
        "deadline_hours": "",
        "max_cost": "",
    }


def form_of(schedule: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the form of a schedule."""
    return {
        "name": schedule["name"],
        "keywords": "\n".join(schedule["keyword_list"]),
        "rhythm": rhythm_of(schedule),
        "zone": schedule["time_zone"],
        "take": schedule["take"] or "",
        "priority": schedule["priority"],
        "refresh": schedule["refresh"],
        # An orchestrator of a version before knows no limits.
        "deadline_hours": schedule.get("deadline_hours") or "",
        "max_cost": f"{cost:g}" if (cost := schedule.get("max_cost")) else "",
    }


def typed_form(form: Form) -> dict[str, Any]:
    """The fields as a person typed them."""
    kind, day = form.text("rhythm"), form.text("month_day")
    return {
        "name": form.text("name"),
        "keywords": form.raw("keywords"),
        "rhythm": Rhythm(
            kind if kind in RHYTHMS else RHYTHMS[0],
            form.text("clock"),
            tuple(each for each in WEEKDAYS if each in form.all("days")),
            int(day) if day.isdecimal() and 0 < int(day[:3]) <= _MONTH_DAYS else 0,
            form.text("date"),
            form.text("cron"),
        ),
        "zone": form.text("zone"),
        "take": form.text("take"),
        "priority": form.text("priority"),
        "refresh": "refresh" in form,
        "deadline_hours": form.text("deadline_hours"),
        "max_cost": form.text("max_cost"),
    }


class ScheduleFormError(ValueError):
    """The form cannot be meant so; `key` names the sentence below `schedules.wrong`."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def is_name(name: str) -> bool:
    """Whether a name may be one of a schedule; it is part of an address, and so of words with hyphens between them."""
    words = name.split("-")
    return len(name) <= _LONGEST_NAME and all(_WORD.fullmatch(each) for each in words)


def request_of(typed: Mapping[str, Any], former: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The request to the orchestrator.

    Keywords keep the settings that the form does not show: their own priority, and whether they are subjects of their own.

    Raises:
        ScheduleFormError: a time is missing or does not exist.
    """
    rhythm: Rhythm = typed["rhythm"]
    is_audit = former is not None and former["kind"] == "audit"
    keywords = [] if is_audit else [line.strip() for line in typed["keywords"].splitlines() if line.strip()]
    if not keywords and not is_audit:
        raise ScheduleFormError("keywords")
    asked: dict[str, Any] = {
        "keywords": keywords,
        "priority": typed["priority"],
        "refresh": typed["refresh"],
        "time_zone": typed["zone"],
    }
    if typed["take"] and rhythm.kind != "once":
        # A number that is none is the orchestrator's to refuse, in its sentence.
        asked["take"] = int(typed["take"]) if str(typed["take"]).isdecimal() else typed["take"]
    # As typed: the orchestrator checks them.
    if hours := str(typed["deadline_hours"]):
        asked["deadline_hours"] = int(hours) if hours.isdecimal() and len(hours) < _LONGEST_NUMBER else hours
    if cost := typed_dollars(typed["max_cost"]):
        asked["max_cost"] = cost
    if rhythm.kind == "once":
        asked["at"] = _moment(rhythm, typed["zone"])
    else:
        asked["cron"] = _cron(rhythm)
    if former is not None and not is_audit:
        own, distinct = former["priorities"], set(former["distinct_keywords"])
        if own:
            asked["priorities"] = [own.get(each) for each in keywords]
        if distinct:
            asked["each_distinct"] = [each in distinct for each in keywords]
    return asked


def _cron(rhythm: Rhythm) -> str:
    if rhythm.kind == "cron":
        if not rhythm.cron:
            raise ScheduleFormError("cron")
        return rhythm.cron
    try:
        clock = time.fromisoformat(rhythm.clock)
    except ValueError:
        raise ScheduleFormError("clock") from None
    begin = f"{clock.minute} {clock.hour}"
    if rhythm.kind == "daily":
        return f"{begin} * * *"
    if rhythm.kind == "weekly":
        if not rhythm.days:
            raise ScheduleFormError("days")
        return f"{begin} * * {','.join(rhythm.days).upper()}"
    if not rhythm.day:
        raise ScheduleFormError("month_day")
    return f"{begin} {rhythm.day} * *"


def _moment(rhythm: Rhythm, zone: str) -> datetime:
    try:
        on, at = date.fromisoformat(rhythm.date), time.fromisoformat(rhythm.clock)
        found, _ = moments(on, at.replace(tzinfo=None), zone_called(zone))
    except UntimelyError:
        raise ScheduleFormError("zone") from None
    except (ValueError, OverflowError):
        raise ScheduleFormError("date") from None
    return found.astimezone(ZoneInfo(zone))


@dataclass(frozen=True, slots=True)
class ScheduleLine:
    """A schedule in the list."""

    name: str
    kind: str
    state: str
    tone: str
    rhythm: Rhythm
    zone: str
    keywords: int
    take: int | None
    handed_in: int
    next: Sequence[str]
    reason: str
    can_pause: bool
    can_resume: bool


def schedule_line(schedule: Mapping[str, Any]) -> ScheduleLine:
    state = schedule["state"]
    return ScheduleLine(
        schedule["name"],
        schedule["kind"],
        state,
        TONES.get(state, "quiet"),
        rhythm_of(schedule),
        schedule["time_zone"],
        schedule["keywords"],
        schedule["take"],
        schedule["handed_in"],
        schedule["next"],
        schedule["reason"] or "",
        can_pause=state == "active",
        can_resume=state in {"paused", "parked"},
    )
