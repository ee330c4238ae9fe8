"""`brandctl watch`: the progress of a cycle until it has ended."""

from typing import TYPE_CHECKING, Annotated, Self
from uuid import UUID

import typer
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from brandctl.commands import Result
from brandctl.orchestrator.cycle_progress import told, what_to_look_at
from brandctl.short_ids import parse_id
from brandctl.terminal import note, out, printable, say
from client.brand_engine import Job
from client.cycle_results import waits_for_a_person
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from client.services.orchestrator import answers


def watch(
    orchestrator: Orchestrator,
    cycle_id: Annotated[UUID, typer.Argument(metavar="CYCLE", parser=parse_id)],
    as_json: bool,
) -> Result:
    """Shows the progress of a cycle until it has ended or waits for you: one live line on a terminal, a line per change elsewhere.

    With --json, standard output gets the cycle at the end, and standard error the progress.

    Exit codes: 0 it ended as completed, or what is left waits for a person; 1 it ended as failed or cancelled; 2 wrong usage.

    For example:

        brandctl watch 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f

    Options:
        cycle_id: Id of a cycle, as `submit` prints it.
    """
    ended = follow(orchestrator, cycle_id, beside=as_json)
    return Result(orchestrator.get_cycle(cycle_id) if as_json else None, fails=not went_well(ended))


def went_well(progress: "answers.CycleSummary") -> bool:
    """Whether a cycle that `follow` returns has completed, or waits only for a person."""
    return progress["state"] == "completed" or waits_for_a_person(progress)


def follow(orchestrator: Orchestrator, cycle_id: UUID, *, beside: bool = False) -> "answers.CycleSummary":
    """Shows the progress of a cycle until it has ended, or until all that is left waits for a person.

    The progress goes to standard error if it is shown `beside` another result.

    Raises:
        ClientError: the orchestrator does not know the cycle, or has been unreachable for a minute.
    """
    with _ProgressDisplay(Console(stderr=True, highlight=False) if beside else out()) as shown:
        for progress in Job(orchestrator, str(cycle_id)).progress():
            shown.update(progress)
    note(f"{progress['state']}: {told(progress)}")
    if progress["failed"]:
        note(f"why: brandctl cycles show {cycle_id}")
    for line in what_to_look_at(progress):
        note(line)
    if waits_for_a_person(progress) and progress["not_sent"]:
        note(f"it goes on when you have decided: brandctl watch {cycle_id}")
    return progress


class _ProgressDisplay:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=self._console, refresh_per_second=4, transient=True)
        self._said = ""

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self, progress: "answers.CycleSummary") -> None:
        line = f"{progress['brand_slug']} {progress['state']}: {told(progress)}"
        if self._console.is_terminal:
            moving = Table.grid(padding=(0, 1))
            ended = progress["completed"] + progress["failed"]
            bar = ProgressBar(total=max(progress["total"], 1), completed=ended, width=30)
            moving.add_row(bar, Text(printable(line)))
            self._live.update(moving)
        elif line != self._said:
            say(self._console, line)
        self._said = line
