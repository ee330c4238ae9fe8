"""`brandctl watch`: the progress of a cycle until it has ended."""

import shlex
import time
from typing import Annotated, Final, Self
from uuid import UUID

import typer
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from brandctl.asking import AsJson, KeyFile, ServiceError
from brandctl.orchestrator.client import CyclePause, CycleProgress, OrchestratorClient, OrchestratorUrl
from brandctl.short_ids import parse_id
from brandctl.terminal import note, out, print_json, printable, say

POLL_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 60.0
"""How long to retry a service that answered before: it may be restarting."""


def watch(
    cycle_id: Annotated[
        UUID, typer.Argument(metavar="CYCLE", parser=parse_id, help="Id of a cycle, as `submit` prints it.")
    ],
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Shows the progress of a cycle until it has ended or waits for you: one live line on a terminal, a line per change elsewhere.

    With --json, standard output gets the cycle at the end, and standard error the progress.

    Exit codes: 0 it ended as completed, or what is left waits for a person; 1 it ended as failed or cancelled; 2 wrong usage.

    For example:

        brandctl watch 0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f
    """
    with OrchestratorClient.at(orchestrator_url, key_file) as orchestrator:
        ended = follow(orchestrator, cycle_id, beside=as_json)
        if as_json:
            print_json(orchestrator.progress(cycle_id)[1])
    if not went_well(ended):
        raise typer.Exit(1)


def went_well(progress: CycleProgress) -> bool:
    """Whether a cycle that `follow` returns has completed, or waits only for a person."""
    return progress.state == "completed" or progress.waits_for_a_person


def follow(orchestrator: OrchestratorClient, cycle_id: UUID, *, beside: bool = False) -> CycleProgress:
    """Shows the progress of a cycle until it has ended, or until all that is left waits for a person.

    The progress goes to standard error if it is shown `beside` another result.

    Raises:
        ServiceError: the orchestrator does not know the cycle, or has been unreachable for a minute.
    """
    progress, _ = orchestrator.progress(cycle_id)
    with _ProgressDisplay(Console(stderr=True, highlight=False) if beside else out()) as shown:
        while True:
            shown.update(progress)
            if progress.ended or progress.waits_for_a_person:
                break
            time.sleep(POLL_SECONDS)
            progress = _patiently(orchestrator, cycle_id)
    note(f"{progress.state}: {told(progress)}")
    if progress.failed:
        note(f"why: brandctl cycles show {cycle_id}")
    for line in what_to_look_at(progress):
        note(line)
    if progress.waits_for_a_person and progress.not_sent:
        note(f"it goes on when you have decided: brandctl watch {cycle_id}")
    return progress


def told(progress: CycleProgress) -> str:
    """`67 %, 1 pending, 0 processing, 2 completed, 0 failed of 3; held up: 5 drafts wait for review`."""
    waiting = f" {progress.waiting} waiting," if progress.waiting else ""
    how_far = (
        f"{progress.percent} %, {progress.pending} pending, {progress.processing} processing,{waiting}"
        f" {progress.completed} completed, {progress.failed} failed of {progress.total}"
    )
    return "; ".join((how_far, *_what_waits(progress)))


def what_to_look_at(progress: CycleProgress) -> list[str]:
    """Returns lines about what waits for a person, each with the command that shows it."""
    brand = shlex.quote(printable(progress.brand_slug))
    lines = []
    if progress.held_up is not None and progress.held_up.drafts is not None:
        lines.append(f"{_held_up(progress.held_up)}: brandctl drafts list --brand {brand} --state waiting")
    elif progress.drafts_waiting:
        waits = _counted(progress.drafts_waiting, "draft waits", "drafts wait")
        lines.append(f"{waits} for you: brandctl drafts list --brand {brand} --state waiting")
    if later := progress.waiting - progress.drafts_waiting:
        lines.append(
            f"{_counted(later, 'article has its time, or is', 'articles have their time, or are')} being written again:"
            f" brandctl drafts list --brand {brand}"
        )
    if progress.posts_waiting:
        waits = _counted(progress.posts_waiting, "article has", "articles have")
        lines.append(f"{waits} posts that wait for you: brandctl posts list --brand {brand}")
    return lines


def _what_waits(progress: CycleProgress) -> list[str]:
    parts = []
    if progress.drafts_waiting:
        parts.append(f"{_counted(progress.drafts_waiting, 'draft waits', 'drafts wait')} for you")
    if progress.posts_waiting:
        parts.append(f"posts of {_counted(progress.posts_waiting, 'article', 'articles')} wait for you")
    if progress.held_up is not None:
        parts.append(_held_up(progress.held_up))
    return parts


def _held_up(held_up: CyclePause) -> str:
    if held_up.drafts is None:
        return f"held up: {held_up.reason}"
    return f"held up: {_counted(held_up.drafts, 'draft waits', 'drafts wait')} for review"


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _patiently(orchestrator: OrchestratorClient, cycle_id: UUID) -> CycleProgress:
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return orchestrator.progress(cycle_id)[0]
        except ServiceError:
            if time.monotonic() > until:
                raise
        time.sleep(POLL_SECONDS)


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

    def update(self, progress: CycleProgress) -> None:
        line = f"{progress.brand_slug} {progress.state}: {told(progress)}"
        if self._console.is_terminal:
            moving = Table.grid(padding=(0, 1))
            bar = ProgressBar(
                total=max(progress.total, 1), completed=progress.completed + progress.failed, width=30
            )
            moving.add_row(bar, Text(printable(line)))
            self._live.update(moving)
        elif line != self._said:
            say(self._console, line)
        self._said = line
