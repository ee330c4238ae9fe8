"""Tables on the terminal: equal guarantees, weaker guarantees apart, and the goals."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.reporting.goals import GoalResult
from benchmarks.reporting.results import ResultRow

_WIDTH: Final = 150
"""Where the output is no terminal."""
_EXTRA: Final = {
    "ratio_to_smallest": "{}x smallest",
    "ratio_to_unique": "{}x unique",
    "messages_per_s": "{:,} messages/s",
    "idle_rss_mb": "{} MB at rest",
    "busy_rss_mb": "{} MB",
    "drift_percent": "drift {}%",
    "seconds": "{} s",
    "files": "{:,} files",
    "per_s_of_a_core": "{:,} of a core",
    "worst_ms": "worst {} ms",
    "without_ms": "beside {} ms without",
    "p95_ms": "p95 {} ms",
    "slowest_page_p95_ms": "slowest page p95 {} ms",
    "slowest_page": "{}",
    "monitor_us_per_message": "{} µs of the monitor",
    "ratio_to_without_ledger": "{}x without the ledger",
    "kept_events": "{:,} events",
    "streams": "{} streams",
    "streams_mb": "{} MB more",
    "console_rest_mb": "{} MB at rest",
    "watched_mb": "{} MB",
    "watched_percent_of_a_core": "{}% of a core",
    "others_held_up_ms": "others held up {} ms",
}
_COLOURS: Final = {"reached": "green", "missed": "bold red", "not measured": "dim"}


def show(rows: Sequence[ResultRow], outcomes: Sequence[GoalResult], console: Console | None = None) -> None:
    console = console or Console(width=None if sys.stdout.isatty() else _WIDTH, highlight=False)
    equal = [row for row in rows if row.tier == "T2" and "cpu_ms_by_step" not in row.extra]
    weaker = [row for row in rows if row.tier != "T2"]
    console.print(
        _table("At equal guarantees (T2: durable, deduplicated, effect in the same transaction)", equal)
    )
    if weaker:
        title = "With weaker guarantees (T0: the vendor's defaults; T1: durable): not to be compared with the above"
        console.print(_table(title, weaker))
    for row in rows:
        if "cpu_ms_by_step" in row.extra:
            console.print(_steps(row))
    console.print(_goals(outcomes))
    for row in rows:
        if not row.counts:
            console.print(f"{row.scenario}, {row.system}, {row.tier}: {row.gate}", markup=False)


def _table(title: str, rows: Sequence[ResultRow]) -> Table:
    table = Table(title=title, title_justify="left", caption="CPU s: processor seconds per 1,000 messages")
    for heading in ("scenario", "system", "tier"):
        table.add_column(heading)
    for heading in (
        "per second",
        "spread",
        "p50 ms",
        "p99 ms",
        "CPU s broker",
        "database",
        "python",
        "to ours",
    ):
        table.add_column(heading, justify="right")
    table.add_column("gate")
    table.add_column("more")
    for row in rows:
        cpu: Mapping[str, float] = row.cpu_s_per_1k or {}
        table.add_row(
            row.scenario,
            row.system,
            row.tier,
            _figure(row.msgs_per_s, 0),
            "" if row.spread is None or len(row.rounds) == 1 else f"{row.spread:.0%}",
            _figure(row.p50_ms, 1),
            _figure(row.p99_ms, 1),
            *(_figure(cpu.get(part), 3) for part in ("broker", "database", "python")),
            _figure(row.ratio_to_ours, 2),
            row.gate.partition(":")[0],
            _more(row.extra),
        )
    return table


def _steps(row: ResultRow) -> Table:
    title = f"Where a keyword's time goes ({row.system}, {row.extra['keywords']:,} keywords, looked at every 5 ms)"
    table = Table(title=title, title_justify="left")
    table.add_column("service")
    table.add_column("CPU ms", justify="right")
    table.add_column("statements", justify="right")
    table.add_column("ms by step")
    for service, spent in row.extra["cpu_ms_by_service"].items():
        steps = ", ".join(f"{step} {ms:g}" for step, ms in row.extra["cpu_ms_by_step"][service].items())
        table.add_row(service, f"{spent:.1f}", f"{row.extra['statements'][service]:g}", steps)
    return table


def _goals(outcomes: Sequence[GoalResult]) -> Table:
    table = Table(title="Goals", title_justify="left")
    table.add_column("goal")
    table.add_column("wanted", justify="right")
    table.add_column("measured", justify="right")
    table.add_column("")
    for outcome in outcomes:
        colour = _COLOURS[outcome.state]
        table.add_row(
            outcome.name, outcome.wanted, _rounded(outcome.measured), f"[{colour}]{outcome.state}[/{colour}]"
        )
    return table


def _more(extra: Mapping[str, Any]) -> str:
    told = [form.format(extra[key]) for key, form in _EXTRA.items() if key in extra]
    told += [f"{name} {spent} ms" for name, spent in extra.get("cpu_ms_by_service", {}).items()]
    return ", ".join(told)


def _figure(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _rounded(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"  # noqa: PLR2004 - three digits are enough
