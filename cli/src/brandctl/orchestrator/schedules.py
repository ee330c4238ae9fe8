"""`brandctl schedules`: rules that submit keywords at set times."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from brandctl.commands import Group, Result, table
from brandctl.listing import Listing
from brandctl.options import Brand, Positive
from brandctl.orchestrator import brand_times
from brandctl.orchestrator.keyword_files import AsCsv, ListedKeyword, ListFile, read_keywords
from brandctl.settings import given
from brandctl.times import with_offset
from client.pages import items_of
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from client.services.orchestrator import answers

app = Group(
    "schedules",
    """Sets schedules, which submit keywords at set times: weekly, some a day, or once.

Each due time begins one cycle, even after a crash. Times that pass while the system is down are caught up once.

For example:

    brandctl schedules set acme weekly-basics --cron "0 6 * * SUN" --time-zone Europe/Berlin "cold brew" "moka pot"
    brandctl schedules set acme one-a-day --cron "0 9 * * MON-FRI" --take 1 --file keywords.txt
    brandctl schedules list acme
    brandctl schedules firings acme weekly-basics
""",
    Orchestrator,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule.")]


def _when(schedule: dict[str, Any]) -> str:
    return f"{schedule['cron']} {schedule['time_zone']}" if schedule["cron"] else "once"


def _keywords(schedule: dict[str, Any]) -> str:
    if schedule["kind"] == "audit":
        return "-"
    if schedule["take"] is None:
        return str(schedule["keywords"])
    return f"{schedule['handed_in']}/{schedule['keywords']}, {schedule['take']} a time"


_SCHEDULES: Final = Listing(
    {
        "name": "name",
        "state": "state",
        "when": _when,
        "keywords": _keywords,
        "next": lambda schedule: with_offset(schedule["next"][0]) if schedule["next"] else "-",
    },
    nothing="there is no schedule; make one with brandctl schedules set",
    colours={"active": "green", "paused": "yellow", "parked": "red", "ended": "dim"},
)
_FIRINGS: Final = Listing(
    {
        "due": lambda firing: with_offset(firing["due_at"]),
        "fired": lambda firing: with_offset(firing["at"]),
        "began": lambda firing: firing["cycle_id"] or firing["audit_id"] or "-",
        "keywords": "keywords",
        "missed": "missed",
        "given up because": lambda firing: firing["failure"] or "-",
    },
    nothing="it was not due yet",
)


@app.command("set")
def set_schedule(
    orchestrator: Orchestrator,
    brand: Brand,
    name: Name,
    keywords: Annotated[list[str] | None, typer.Argument(metavar="KEYWORD...")] = None,
    file: ListFile = None,
    as_csv: AsCsv = False,
    cron: str | None = None,
    at: Annotated[str | None, typer.Option(help=f"Once, at this time, {brand_times.HELP}.")] = None,
    time_zone: str | None = None,
    take: Positive = None,
    priority: str = "normal",
    refresh: bool = False,
    distinct: bool = False,
    deadline_hours: int | None = None,
    max_cost: float | None = None,
) -> Result:
    """Makes a schedule, or replaces the one of this name. Repeating the command changes nothing.

    For example:

        brandctl schedules set acme launch --at "2027-03-01 09:00" "spring menu"
        seq -f "chapter %g" 12 | brandctl schedules set acme chapters --cron "0 9 * * *" --take 1 --file -

    Options:
        cron: Minute, hour, day of the month, month, day of the week.
        time_zone: Time zone of --cron, and of --at without an offset. [default: UTC; for --at the brand's]
        take: How many keywords to submit at a time, until the list is used up.
        priority: high, normal or low.
        refresh: Rewrite existing articles about them.
        distinct: Each keyword is a subject of its own, even if it equals another.
        deadline_hours: Hours from each time on, after which a keyword without an article is refused. [default: as the brand's settings say]
        max_cost: Dollars that the paid calls of each time may cost together. [default: as the brand's settings say]
    """
    listed = [ListedKeyword(keyword) for keyword in keywords or ()]
    listed += read_keywords(file, as_csv=as_csv) if file else []
    own_priorities = [each.priority for each in listed]
    each_distinct = [each.is_distinct for each in listed]
    if at is not None:
        at = brand_times.read_time(at, lambda: time_zone or brand_times.zone_of(orchestrator, brand))
    wanted = given(
        keywords=[each.keyword for each in listed],
        priorities=own_priorities if any(own_priorities) else None,
        distinct=distinct or None,
        each_distinct=each_distinct if any(each is not None for each in each_distinct) else None,
        cron=cron,
        at=at,
        time_zone=time_zone,
        take=take,
        priority=priority,
        refresh=refresh or None,
        deadline_hours=deadline_hours,
        max_cost=max_cost,
    )
    return _shown(orchestrator.set_schedule(brand, name, **wanted))


@app.command("list")
def list_schedules(orchestrator: Orchestrator, brand: Brand) -> Result:
    """Lists the schedules of a brand, with state and next time."""
    found = list(items_of(orchestrator.list_schedules, brand))
    return _SCHEDULES.of(found, found)


@app.command()
def show(orchestrator: Orchestrator, brand: Brand, name: Name) -> Result:
    """Shows a schedule with its next five times."""
    return _shown(orchestrator.get_schedule(brand, name))


@app.command()
def firings(orchestrator: Orchestrator, brand: Brand, name: Name) -> Result:
    """Lists the latest due times of a schedule: the cycle or audit that each began, or why it failed."""
    return _FIRINGS.of(orchestrator.list_schedule_firings(brand, name), more=False)


@app.command()
def pause(orchestrator: Orchestrator, brand: Brand, name: Name) -> Result:
    """Pauses a schedule until it is resumed."""
    answer = orchestrator.pause_schedule(brand, name)
    return Result(answer, remark=_told(answer))


@app.command()
def resume(orchestrator: Orchestrator, brand: Brand, name: Name) -> Result:
    """Resumes a paused schedule at its next time, and retries a parked one now."""
    answer = orchestrator.resume_schedule(brand, name)
    return Result(answer, remark=_told(answer))


@app.command()
def run(orchestrator: Orchestrator, brand: Brand, name: Name) -> Result:
    """Has a schedule fire now, besides its times."""
    answer = orchestrator.run_schedule(brand, name)
    return Result(
        answer, remark=f"{name} is due now; brandctl schedules firings {brand} {name} tells what it began"
    )


@app.command()
def remove(orchestrator: Orchestrator, brand: Brand, name: Name) -> Result:
    """Removes a schedule. Cycles that it began continue."""
    orchestrator.delete_schedule(brand, name)
    return Result({"removed": name}, remark=f"{name} is removed")


def _shown(schedule: "answers.ScheduleView") -> Result:
    of = f"{_each_time(schedule)}, {_when({**schedule})}"
    rows = [(with_offset(time), of) for time in schedule["next"]]
    return Result(schedule, table(("next", "of"), rows), note=_told(schedule))


def _told(schedule: "answers.ScheduleView") -> str:
    because = f": {schedule['reason']}" if schedule["reason"] else ""
    following = f", next on {with_offset(schedule['next'][0])}" if schedule["next"] else ""
    return f"{schedule['name']} is {schedule['state']}{following}{because}"


def _each_time(schedule: "answers.ScheduleView") -> str:
    if schedule["kind"] == "audit":
        return "an audit"
    if schedule["take"] is None:
        return f"{schedule['keywords']} keywords"
    return f"{schedule['take']} of {schedule['keywords']} keywords"
