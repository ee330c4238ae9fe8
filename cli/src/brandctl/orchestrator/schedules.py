"""`brandctl schedules`: rules that submit keywords at set times."""

from datetime import datetime
from typing import Annotated, Any, Final

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.listing import Listing
from brandctl.orchestrator import brand_times
from brandctl.orchestrator.client import OrchestratorClient, OrchestratorUrl, Schedule, ScheduleRun
from brandctl.orchestrator.keyword_files import ListedKeyword, read_keywords
from brandctl.tables import show_table
from brandctl.terminal import note, print_json

app = typer.Typer(
    name="schedules",
    no_args_is_help=True,
    help=f"""Sets schedules, which submit keywords at set times: weekly, some a day, or once.

Each due time begins one cycle, even after a crash. Times that pass while the system is down are caught up once.

{OrchestratorClient.help()}

For example:

    brandctl schedules set acme weekly-basics --cron "0 6 * * SUN" --time-zone Europe/Berlin "cold brew" "moka pot"
    brandctl schedules set acme one-a-day --cron "0 9 * * MON-FRI" --take 1 --file keywords.txt
    brandctl schedules list acme
    brandctl schedules firings acme weekly-basics
""",
)

Brand = Annotated[str, typer.Argument(metavar="BRAND", help="Slug of the brand.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule.")]


def _when(schedule: Schedule) -> str:
    return f"{schedule.cron} {schedule.time_zone}" if schedule.cron else "once"


def _keywords(schedule: Schedule) -> str:
    if schedule.kind == "audit":
        return "-"
    if schedule.take is None:
        return str(schedule.keywords)
    return f"{schedule.handed_in}/{schedule.keywords}, {schedule.take} a time"


def _moment(time: datetime) -> str:
    return time.isoformat(sep=" ", timespec="minutes")


_SCHEDULES: Final = Listing[Schedule](
    {
        "name": lambda schedule: schedule.name,
        "state": lambda schedule: schedule.state,
        "when": _when,
        "keywords": _keywords,
        "next": lambda schedule: _moment(schedule.next[0]) if schedule.next else "-",
    },
    nothing="there is no schedule; make one with brandctl schedules set",
    colours={"active": "green", "paused": "yellow", "parked": "red", "ended": "dim"},
)
_FIRINGS: Final = Listing[ScheduleRun](
    {
        "due": lambda firing: _moment(firing.due_at),
        "fired": lambda firing: _moment(firing.at),
        "began": lambda firing: firing.cycle_id or firing.audit_id or "-",
        "keywords": lambda firing: str(firing.keywords),
        "missed": lambda firing: str(firing.missed),
        "given up because": lambda firing: firing.failure or "-",
    },
    nothing="it was not due yet",
)


@app.command(name="set")
def set_schedule(
    brand: Brand,
    name: Name,
    keywords: Annotated[list[str] | None, typer.Argument(metavar="KEYWORD...")] = None,
    file: Annotated[
        str | None,
        typer.Option(
            help="A list: one keyword a line, or a table (.csv) with the columns `keyword` and, if they differ, `priority` and"
            " `distinct` (yes or no)."
            " - is standard input."
        ),
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="The list is a table, even without the suffix .csv.")
    ] = False,
    cron: Annotated[
        str | None, typer.Option(help="Minute, hour, day of the month, month, day of the week.")
    ] = None,
    at: Annotated[str | None, typer.Option(help=f"Once, at this time, {brand_times.HELP}.")] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(
            help="Time zone of --cron, and of --at without an offset.",
            show_default="UTC; for --at the brand's",
        ),
    ] = None,
    take: Annotated[
        int | None,
        typer.Option(min=1, help="How many keywords to submit at a time, until the list is used up."),
    ] = None,
    priority: Annotated[str, typer.Option(help="high, normal or low.")] = "normal",
    refresh: Annotated[bool, typer.Option("--refresh", help="Rewrite existing articles about them.")] = False,
    distinct: Annotated[
        bool,
        typer.Option("--distinct", help="Each keyword is a subject of its own, even if it equals another."),
    ] = False,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Makes a schedule, or replaces the one of this name. Repeating the command changes nothing.

    For example:

        brandctl schedules set acme launch --at "2027-03-01 09:00" "spring menu"
        seq -f "chapter %g" 12 | brandctl schedules set acme chapters --cron "0 9 * * *" --take 1 --file -
    """
    listed = [ListedKeyword(keyword) for keyword in keywords or ()]
    listed += read_keywords(file, as_csv=as_csv) if file else []
    own_priorities = [each.priority for each in listed]
    each_distinct = [each.is_distinct for each in listed]
    if at is not None:
        at = (
            brand_times.read_time(at, lambda: brand, orchestrator_url, key_file)
            if time_zone is None
            else brand_times.read_time_in(at, time_zone)
        )
    wanted: dict[str, Any] = {
        "keywords": [each.keyword for each in listed],
        "priorities": own_priorities if any(own_priorities) else None,
        "distinct": distinct or None,
        "each_distinct": each_distinct if any(each is not None for each in each_distinct) else None,
        "cron": cron,
        "at": at,
        "time_zone": time_zone,
        "take": take,
        "priority": priority,
        "refresh": refresh or None,
    }
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
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
    """Lists the schedules of a brand, with state and next time."""
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        found = list(orchestrator.schedules(brand))
    _SCHEDULES.show([each for each, _ in found], [answer for _, answer in found], as_json=as_json)


@app.command()
def show(
    brand: Brand,
    name: Name,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows a schedule with its next three times."""
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        _show(*orchestrator.schedule(brand, name), as_json=as_json)


@app.command()
def firings(
    brand: Brand,
    name: Name,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists the latest due times of a schedule: the cycle or audit that each began, or why it failed."""
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        found, answer = orchestrator.firings(brand, name)
    _FIRINGS.show(found, answer, as_json=as_json)


def _changing(change: str, what_it_does: str) -> None:
    """Adds a command that changes a schedule and prints its new state."""

    @app.command(name=change, help=what_it_does)
    def command(
        brand: Brand,
        name: Name,
        as_json: AsJson = False,
        orchestrator_url: OrchestratorUrl = None,
        key_file: KeyFile = None,
    ) -> None:
        with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
            schedule, answer = orchestrator.change_schedule(brand, name, change)
        if as_json:
            print_json(answer)
        note(_told(schedule))


_changing("pause", "Pauses a schedule until it is resumed.")
_changing("resume", "Resumes a paused schedule at its next time, and retries a parked one now.")


@app.command()
def remove(
    brand: Brand,
    name: Name,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Removes a schedule. Cycles that it began continue."""
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        orchestrator.remove_schedule(brand, name)
    if as_json:
        print_json({"removed": name})
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


def _each_time(schedule: Schedule) -> str:
    if schedule.kind == "audit":
        return "an audit"
    if schedule.take is None:
        return f"{schedule.keywords} keywords"
    return f"{schedule.take} of {schedule.keywords} keywords"
