"""The pictures of a run by name, with their descriptions for screen readers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.reporting import charts, flames, goals, steps
from benchmarks.reporting.results import ResultRow

NAMES: Final[Mapping[str, str]] = {
    "throughput": "Messages per second, each with inbox and effect in one transaction",
    "cpu": "Processor time of a drained message",
    "growth": "Speed with a full inbox and with a long backlog",
    "prune": "Forgetting a day of the inbox",
    "goals": "How far each goal is met",
    "flames": "Where a keyword's time goes",
}
"""Every picture, with a description in words."""

_FARTHEST: Final = 2.0
_PARTS: Final = ("broker", "database", "python")
_CLASSES: Final = {"broker": "a", "database": "b", "python": "c"}


def file_of(name: str) -> str:
    return f"bench-{name}.svg"


def draw(rows: Sequence[ResultRow], stacks: Path) -> dict[str, str]:
    """Draws the SVG documents that the rows suffice for, by name. Figures with a failed gate are left out.

    Args:
        rows: of one run.
        stacks: the folder of the files that rows of a profile name.
    """
    counting = [row for row in rows if row.counts]
    drawn = {
        "throughput": _throughput(counting),
        "cpu": _cpu(counting),
        "growth": _growth(counting),
        "prune": _prune(counting),
        "goals": _goals(counting),
        "flames": _flames(counting, stacks),
    }
    return {name: picture for name, picture in drawn.items() if picture is not None}


def write(folder: Path, drawn: Mapping[str, str]) -> list[Path]:
    """Writes these pictures and removes outdated ones of an earlier run."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES.keys() - drawn.keys():
        (folder / file_of(name)).unlink(missing_ok=True)
    for name, picture in drawn.items():
        (folder / file_of(name)).write_text(picture)
    return [folder / file_of(name) for name in drawn]


def _flames(rows: Sequence[ResultRow], stacks: Path) -> str | None:
    for row in rows:
        if "cpu_ms_by_step" not in row.extra or not (stacks / row.extra["stacks"]).exists():
            continue
        seen = steps.read_by_service((stacks / row.extra["stacks"]).read_text().splitlines())
        milliseconds = row.extra["cpu_ms_by_service"]
        if seen.keys() == milliseconds.keys():  # Or the file belongs to another run.
            return flames.draw(
                "Where a keyword's time goes",
                "Processor time of the five services for one keyword; what is called stands on its caller, as wide as its time",
                seen,
                milliseconds,
            )
    return None


def _goals(rows: Sequence[ResultRow]) -> str | None:
    bars = [
        charts.Bar(
            outcome.name,
            (("ours" if outcome.state == "reached" else "a", min(outcome.of_bound, _FARTHEST)),),
            f"{outcome.measured:,.4g}{outcome.unit} of {outcome.wanted}",
        )
        for outcome in goals.judge(rows)
        if outcome.measured is not None and outcome.of_bound is not None
    ]
    subtitle = (
        "As long as the goal is met: the line is the goal, beyond it is better; bars end at twice the goal"
    )
    return charts.draw("Goals", subtitle, bars, labels=390, mark=1.0, scale_to=_FARTHEST) if bars else None


def _drains(rows: Sequence[ResultRow]) -> list[ResultRow]:
    drains = [
        row for row in rows if (row.scenario, row.tier) == ("drain_idempotent", "T2") and row.msgs_per_s
    ]
    return sorted(drains, key=lambda row: -(row.msgs_per_s or 0))


def _throughput(rows: Sequence[ResultRow]) -> str | None:
    bars = [
        charts.Bar(
            row.system,
            (("ours" if row.kind == "ours" else "peer", row.msgs_per_s),),
            f"{row.msgs_per_s:,.0f}/s",
        )
        for row in _drains(rows)
        if row.msgs_per_s
    ]
    subtitle = "Messages per second: durable, deduplicated, effect in the same transaction; two workers each"
    return charts.draw("Draining a queue, each message once", subtitle, bars) if bars else None


def _cpu(rows: Sequence[ResultRow]) -> str | None:
    bars = [
        charts.Bar(
            row.system,
            tuple((_CLASSES[part], row.cpu_s_per_1k[part]) for part in _PARTS),
            f"{sum(row.cpu_s_per_1k.values()):.2f} s",
        )
        for row in _drains(rows)
        if row.cpu_s_per_1k
    ]
    subtitle = "Processor seconds per 1,000 messages, from left to right: broker, database, Python"
    return charts.draw("What a drained message costs", subtitle, bars) if bars else None


def _growth(rows: Sequence[ResultRow]) -> str | None:
    bars = [
        charts.Bar(_amount(row), (("ours", row.msgs_per_s),), f"{row.msgs_per_s:,.0f}/s")
        for scenario in ("inbox_growth", "backlog_growth")
        for row in rows
        if row.scenario == scenario and row.msgs_per_s
    ]
    subtitle = "Messages per second with so many rows in the inbox, or so many messages waiting"
    return charts.draw("Speed with a past", subtitle, bars) if bars else None


def _amount(row: ResultRow) -> str:
    if "inbox_rows" in row.extra:
        return f"{row.extra['inbox_rows']:,} in the inbox"
    return f"{row.extra['backlog']:,} waiting"


def _prune(rows: Sequence[ResultRow]) -> str | None:
    bars = [
        charts.Bar(
            f"{row.extra['rows']:,} rows",
            (("ours" if row.kind == "ours" else "peer", row.p50_ms),),
            f"{row.p50_ms:,.0f} ms{'' if row.kind == 'ours' else ' with delete'}",
        )
        for row in rows
        if row.scenario == "prune_day" and row.p50_ms
    ]
    subtitle = "Milliseconds to forget a day of the inbox: its partition dropped, or its rows deleted"
    return charts.draw("Forgetting a day", subtitle, bars) if bars else None
