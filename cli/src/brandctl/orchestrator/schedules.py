"""`brandctl schedules`: what a brand does by the clock."""

from datetime import datetime
from typing import Annotated, Any

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.orchestrator.client import Orchestrator, OrchestratorUrl, Schedule
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="schedules",
    no_args_is_help=True,
    help=f"""Keywords that are handed in by the clock, weekly, n a day, or once.

Each due time begins one cycle, whatever runs or crashes. Times that go by while nothing runs are caught up once.

{Orchestrator.help()}

For example:

    brandctl schedules set acme weekly-basics --cron "0 6 * * SUN" --time-zone Europe/Berlin "cold brew" "moka pot"
    brandctl schedules set acme one-a-day --cron "0 9 * * MON-FRI" --take 1 --file keywords.txt
    brandctl schedules list acme
    brandctl schedules firings acme weekly-basics
""",
)

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Slug of the brand.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="What the schedule is called.")]
_COLOURS = {"active": "green", "paused": "yellow", "parked": "red", "ended": "dim"}


@app.command(name="set")
def set_schedule(
    brand: Brand,
    name: Name,
    keywords: Annotated[list[str] | None, typer.Argument(metavar="KEYWORD...")] = None,
    file: Annotated[
        typer.FileText | None, typer.Option(help="Keywords from a file, one a line; - is standard input.")
    ] = None,
    cron: Annotated[
        str | None, typer.Option(help="Minute, hour, day of the month, month, day of the week.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="Once, at a time such as 2027-03-01T09:00+01:00.")] = None,
    time_zone: Annotated[str, typer.Option(help="Whose clocks the cron expression goes by.")] = "UTC",
    take: Annotated[
        int | None, typer.Option(min=1, help="So many keywords at a time, until the list is used up.")
    ] = None,
    priority: Annotated[str, typer.Option(help="high, normal or low.")] = "normal",
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Makes a schedule, or replaces the one of this name. The same again changes nothing.

    For example:

        brandctl schedules set acme launch --at 2027-03-01T09:00+01:00 "spring menu"
        seq -f "chapter %g" 12 | brandctl schedules set acme chapters --cron "0 9 * * *" --take 1 --file -
    """
    lines = [line.strip() for line in file] if file else []
    wanted: dict[str, Any] = {
        "keywords": [*(keywords or []), *filter(None, lines)],
        "cron": cron,
        "at": at,
        "time_zone": time_zone,
        "take": take,
        "priority": priority,
    }
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        schedule, answer = orchestrator.put_schedule(
            brand, name, {key: value for key, value in wanted.items() if value is not None}
        )
    _show(schedule, answer, as_json=as_json)


@app.command(name="list")
def list_schedules(
    brand: Brand,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the schedules of a brand, with their state and the next firing."""
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        found = list(orchestrator.schedules(brand))
    if as_json:
        print_json([answer for _, answer in found])
        return
    show_table(
        ("name", "state", "when", "keywords", "next"),
        [
            (each.name, each.state, _when(each), _keywords(each), _moment(each.next[0]) if each.next else "-")
            for each, _ in found
        ],
        colours=_COLOURS,
    )


@app.command()
def show(
    brand: Brand,
    name: Name,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows a schedule with its next three firings."""
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        _show(*orchestrator.schedule(brand, name), as_json=as_json)


@app.command()
def firings(
    brand: Brand,
    name: Name,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows what became of the latest due times: the cycle or audit that each began, or why it was given up."""
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        found, answer = orchestrator.firings(brand, name)
    if as_json:
        print_json(answer)
        return
    show_table(
        ("due", "fired", "began", "keywords", "missed", "given up because"),
        [
            (
                _moment(each.due_at),
                _moment(each.at),
                each.cycle_id or each.audit_id or "-",
                str(each.keywords),
                str(each.missed),
                each.failure or "-",
            )
            for each in found
        ],
    )


@app.command()
def pause(
    brand: Brand, name: Name, orchestrator_url: OrchestratorUrl = None, key_file: KeyFile = None
) -> None:
    """Keeps a schedule from firing until it is resumed."""
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        note(_told(orchestrator.change_schedule(brand, name, "pause")))


@app.command()
def resume(
    brand: Brand, name: Name, orchestrator_url: OrchestratorUrl = None, key_file: KeyFile = None
) -> None:
    """Lets a paused schedule go on with its next time, and one that is parked try again now."""
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        note(_told(orchestrator.change_schedule(brand, name, "resume")))


@app.command()
def remove(
    brand: Brand, name: Name, orchestrator_url: OrchestratorUrl = None, key_file: KeyFile = None
) -> None:
    """Removes a schedule. What it has begun goes on."""
    with Orchestrator.at(orchestrator_url, key_file) as orchestrator:
        orchestrator.remove_schedule(brand, name)
    note(f"{name} is removed")


def _show(schedule: Schedule, answer: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    show_table(
        ("next", "of"),
        [(_moment(time), f"{_each_time(schedule)}, {_when(schedule)}") for time in schedule.next],
    )
    note(_told(schedule))


def _told(schedule: Schedule) -> str:
    because = f": {schedule.reason}" if schedule.reason else ""
    following = f", next on {_moment(schedule.next[0])}" if schedule.next else ""
    return f"{schedule.name} is {schedule.state}{following}{because}"


def _when(schedule: Schedule) -> str:
    return f"{schedule.cron} {schedule.time_zone}" if schedule.cron else "once"


def _keywords(schedule: Schedule) -> str:
    if schedule.kind == "audit":
        return "-"
    if schedule.take is None:
        return str(schedule.keywords)
    return f"{schedule.handed_in}/{schedule.keywords}, {schedule.take} a time"


def _each_time(schedule: Schedule) -> str:
    if schedule.kind == "audit":
        return "an audit"
    if schedule.take is None:
        return f"{schedule.keywords} keywords"
    return f"{schedule.take} of {schedule.keywords} keywords"


def _moment(time: datetime) -> str:
    return time.isoformat(sep=" ", timespec="minutes")
