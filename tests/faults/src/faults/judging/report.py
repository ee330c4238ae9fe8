"""The report: `build/faults.json` for machines, a table and what went wrong for people."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from faults.judging.results import ScenarioResult

FIELDS: Final = (
    "fault",
    "fired",
    "submitted",
    "effects",
    "dead_letters",
    "lost",
    "duplicated",
    "seconds_to_heal",
    "passed",
)
_COLUMNS: Final = {
    "fired": "fired",
    "submitted": "sent",
    "in_doubt": "in doubt",
    "effects": "effects",
    "dead_letters": "dead",
    "lost": "lost",
    "duplicated": "twice",
    "seconds_to_heal": "heal s",
}
_SHOWN: Final = 12


def write(path: Path, results: Sequence[ScenarioResult]) -> None:
    """One object per scenario played, with `FIELDS`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{name: getattr(each, name) for name in FIELDS} for each in results if each.skipped is None]
    path.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def line(result: ScenarioResult) -> str:
    """How one scenario ended, in a line of rich markup."""
    if result.skipped is not None:
        return f"[yellow]skipped[/]  {escape(result.fault)}: {escape(result.skipped)}"
    verdict = "[green]passed[/] " if result.passed else "[red]FAILED[/] "
    return f"{verdict}  {escape(result.fault)} ({result.seconds:.1f} s)"


def table(results: Sequence[ScenarioResult]) -> Table:
    made = Table(title="What was broken, and what became of the work", box=box.SIMPLE)
    made.add_column("fault", no_wrap=True)
    for heading in _COLUMNS.values():
        made.add_column(heading, justify="right")
    made.add_column("")
    for result in results:
        figures = [f"{getattr(result, name):,}" for name in _COLUMNS]
        if result.skipped is not None:
            made.add_row(escape(result.fault), *["" for _ in figures], "[yellow]skipped[/]")
            continue
        made.add_row(
            escape(result.fault), *figures, "[green]passed[/]" if result.passed else "[red]FAILED[/]"
        )
    return made


def show(console: Console, results: Sequence[ScenarioResult]) -> None:
    console.print(table(results))
    for result in results:
        if result.skipped is not None:
            console.print(f"[yellow]{escape(result.fault)}[/] was not played: {escape(result.skipped)}")
        told = list(dict.fromkeys(map(str, result.violations)))
        for violation in told[:_SHOWN]:
            console.print(f"[red]{escape(result.fault)}[/]: {escape(violation)}", soft_wrap=True)
        if len(told) > _SHOWN:
            console.print(f"  … and {len(told) - _SHOWN} more")
