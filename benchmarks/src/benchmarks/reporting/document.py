"""Renders the marked blocks of docs/performance.md from docs/measurements.json.

A block starts with `<!-- measured: NAME -->` and ends with `<!-- /measured -->`; a full run with `--docs` replaces its
content. The text between blocks is written by hand.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.reporting import goals, keyword_cost, pictures, worker_cost
from benchmarks.reporting.markdown import cell
from benchmarks.reporting.results import ResultRow

_BLOCK: Final = re.compile(
    r"(<!-- measured: (?P<name>[a-z-]+) -->\n)(?P<told>.*?)(<!-- /measured -->)", re.DOTALL
)
_PICTURE: Final = "picture"
_TIERS: Final = ("T0", "T1", "T2")
_OPEN_LOOPS: Final = ("latency_light", "live_confirmed")
_BEHIND: Final = "does not keep up"
_NAMES: Final = {
    "raw_batched": "raw aio-pika, our batching, no validation",
    "raw_single": "raw aio-pika, message by message",
    "faststream": "FastStream with an inbox",
    "faststream_outbox": "FastStream with inbox and outbox",
    "celery": "Celery",
    "dramatiq": "Dramatiq",
    "dbos": "DBOS queue",
}


class DocumentError(Exception):
    """The document names an unknown block, or lacks one."""


@dataclass(frozen=True, slots=True)
class Measurements:
    """One run: its rows and its conditions."""

    rows: Sequence[ResultRow]
    surroundings: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Measurements":
        found = json.loads(path.read_text())
        return cls([ResultRow(**row) for row in found["rows"]], found["surroundings"])

    def write(self, path: Path) -> None:
        found = {"surroundings": dict(self.surroundings), "rows": [asdict(row) for row in self.rows]}
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def renew(text: str, measurements: Measurements, drawn: Collection[str]) -> str:
    """Returns the document with the blocks of these measurements.

    Args:
        text: of the document.
        measurements: of one run.
        drawn: the available pictures, of those in [benchmarks.reporting.pictures][].

    Raises:
        DocumentError: the document names an unknown block, or lacks one.
    """
    check(text)

    def block(match: re.Match[str]) -> str:
        kind, _, name = match["name"].partition("-")
        told = _picture(name, drawn) if kind == _PICTURE else _BLOCKS[match["name"]](measurements)
        return f"{match[1]}{told}\n{match[4]}"

    return _BLOCK.sub(block, text)


def check(text: str) -> None:
    """Checks, before a run, that the document can be renewed.

    Raises:
        DocumentError: the document names an unknown block, or lacks one.
    """
    found = sorted(match["name"] for match in _BLOCK.finditer(text))
    wanted = sorted([*_BLOCKS, *(f"{_PICTURE}-{name}" for name in pictures.NAMES)])
    if found != wanted:
        raise DocumentError(f"blocks of the document: {found}; of the measurements: {wanted}")


def blocks(text: str) -> dict[str, str]:
    """The content of each block, by name."""
    return {match["name"]: match["told"] for match in _BLOCK.finditer(text)}


def _picture(name: str, drawn: Collection[str]) -> str:
    if name not in drawn:
        return f"(No picture of this: the run has no figures for it. {pictures.NAMES[name]}.)"
    return f"![{pictures.NAMES[name]}](images/{pictures.file_of(name)})"


def _surroundings(measurements: Measurements) -> str:
    told = measurements.surroundings
    servers, size = told["servers"], "whole" if told["full"] else "quick"
    rounds = "one round" if told["rounds"] == 1 else f"the median of {told['rounds']} rounds"
    sittings = "" if told["sittings"] == 1 else f" in {told['sittings']} sittings"
    text = (
        f"One {size} run of {told['at'][:10]}, {told['seconds'] // 60} minutes{sittings}: {told['processors']} processors for workers, "
        f"broker and database together;\nRabbitMQ {servers['rabbitmq']}, PostgreSQL {servers['postgresql'].split()[0]}, "
        f"Python {told['python']}; {rounds}, in which systems take turns."
    )
    without = _without_figure(measurements)
    return "\n".join([text, "", "**Without a figure in this run:**", *without]) if without else text


def _without_figure(measurements: Measurements) -> list[str]:
    """A line for each scenario that was not run, and for each of our figures that does not count."""
    ran = {row.scenario for row in measurements.rows} | set(measurements.surroundings["scenarios"])
    lines = [f"- `{name}`: not run" for name in measurements.surroundings["wanted"] if name not in ran]
    lines += [
        f"- `{row.scenario}`, {row.system}: {cell(row.gate)}"
        for row in measurements.rows
        if row.kind == "ours" and not row.counts
    ]
    return lines


def _rates(measurements: Measurements, scenario: str) -> str:
    rows = [row for row in measurements.rows if (row.scenario, row.tier) == (scenario, "T2")]
    lines = [
        "| system | messages/s | spread | CPU ms per message: broker | database | Python | of ours |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda each: -(each.msgs_per_s or 0)):
        if row.msgs_per_s is None or not row.counts:
            lines.append(f"| {_system(row)} | no figure: {cell(row.gate)} | | | | | |")
            continue
        cpu, strong = row.cpu_s_per_1k or {}, "**" if row.kind == "ours" else ""
        parts = " | ".join(f"{cpu.get(part, 0):.3f}" for part in ("broker", "database", "python"))
        spread = "" if row.spread is None or len(row.rounds) == 1 else f"{row.spread:.0%}"
        lines.append(
            f"| {strong}{_system(row)}{strong} | {strong}{row.msgs_per_s:,.0f}{strong} | {spread} | {parts} "
            f"| {row.ratio_to_ours or 0:.3g} |"
        )
    return "\n".join(lines)


def _single(measurements: Measurements) -> str:
    found = [
        row for row in measurements.rows if row.scenario == "single_handler" and row.counts and row.msgs_per_s
    ]
    if not found:
        return "(Not measured in this run: a handler that is called for each message.)"
    return f"A handler that is called for each message, for calls to other systems, takes {found[0].msgs_per_s:,.0f} messages/s."


def _latencies(measurements: Measurements) -> str:
    lines = [
        "| system | 500/s: p50 ms | p99 ms | 5,000/s: p50 ms | p99 ms |",
        "|---|---|---|---|---|",
    ]
    told: dict[str, dict[str, ResultRow]] = {}
    for row in measurements.rows:
        if row.scenario in _OPEN_LOOPS:
            told.setdefault(row.system, {})[row.scenario] = row
    for system, by_scenario in told.items():
        strong = "**" if system == "ours" else ""
        cells = [part for scenario in _OPEN_LOOPS for part in _times_of(by_scenario.get(scenario), strong)]
        named = next(iter(by_scenario.values()))
        lines.append(f"| {strong}{_system(named)}{strong} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _times_of(row: ResultRow | None, strong: str) -> list[str]:
    if row is None:
        return ["not run", ""]
    if not row.counts or row.p50_ms is None or row.p99_ms is None:
        return ["does not keep up" if _BEHIND in row.gate else f"no figure: {cell(row.gate)}", ""]
    return [f"{strong}{row.p50_ms:.3g}{strong}", f"{strong}{row.p99_ms:.3g}{strong}"]


def _pages(measurements: Measurements) -> str:
    lines = [
        "| server, page | requests/s | of a core | p50 ms at half of that | p99 ms | bytes |",
        "|---|---|---|---|---|---|",
    ]
    for row in measurements.rows:
        if row.scenario != "site_pages":
            continue
        if not row.counts or row.msgs_per_s is None:
            lines.append(f"| {row.system} | no figure: {cell(row.gate)} | | | | |")
            continue
        lines.append(
            f"| {row.system} | {row.msgs_per_s:,.0f} | {row.extra['per_s_of_a_core']:,.0f} "
            f"| {row.p50_ms:.3g} | {row.p99_ms:.3g} | {row.extra['bytes']:,} |"
        )
    return "\n".join(lines) if len(lines) > 2 else "This run has no figures of it."  # noqa: PLR2004 - the heading


def _tiers(measurements: Measurements) -> str:
    rates: dict[str, dict[str, float]] = {}
    for row in measurements.rows:
        if row.scenario == "drain_idempotent" and row.counts and row.msgs_per_s and row.tier in _TIERS:
            rates.setdefault(row.system, {})[row.tier] = row.msgs_per_s
    lines = ["| messages/s | T0 | T1 | T2 |", "|---|---|---|---|"]
    for system, by_tier in rates.items():
        if len(by_tier) > 1:
            lines.append(
                f"| {_NAMES.get(system, system)} | "
                + " | ".join(f"{by_tier[tier]:,.0f}" if tier in by_tier else "" for tier in _TIERS)
                + " |"
            )
    return "\n".join(lines) if len(lines) > 2 else "This run has no figures of weaker tiers."  # noqa: PLR2004 - the heading


def _goals(measurements: Measurements) -> str:
    lines = ["| goal | wanted | measured | |", "|---|---|---|---|"]
    wanted = measurements.surroundings["wanted"]
    # A run from before a scenario existed has no rows of it.
    for outcome in (each for each in goals.judge(measurements.rows) if each.scenario in wanted):
        state: str = "**missed**" if outcome.state == "missed" else outcome.state
        if outcome.why:
            state += f": {cell(outcome.why)}"
        measured = "" if outcome.measured is None else f"{_rounded(outcome.measured)}{outcome.unit}"
        lines.append(f"| {outcome.name} | {outcome.wanted} | {measured} | {state} |")
    return "\n".join(lines)


def _costs(measurements: Measurements) -> str:
    lines = ["| | CPU ms each: Python | database | broker |", "|---|---|---|---|"]
    for row in measurements.rows:
        if row.kind == "ours" and row.scenario in _COUNTED and row.counts and row.cpu_s_per_1k:
            figures = " | ".join(
                _small(row.cpu_s_per_1k.get(part)) for part in ("python", "database", "broker")
            )
            suffix = "" if row.system == "ours" else row.system.removeprefix("ours")
            lines.append(f"| {_COUNTED[row.scenario]} (`{row.scenario}`{suffix}) | {figures} |")
    return "\n".join(lines)


_COUNTED: Final = {
    "drain_idempotent": "a message",
    "outbox_chain": "a message that leads to another",
    "single_handler": "a message with a call of its own",
    "dup_storm": "a message, half of them copies",
    "latency_light": "a message, 500 a second",
    "live_confirmed": "a message, 5,000 a second",
    "pipeline_keywords": "a keyword",
    "first_page": "a keyword that comes alone",
    "replay_flood": "a dead letter sent again and handled",
    "site_pages": "a page",
    "corpus_index": "an HTML page read and indexed",
    "gateway_call": "a call through the gateway",
    "api_submit": "a keyword handed in",
}
_BLOCKS: Final[Mapping[str, Callable[[Measurements], str]]] = {
    "surroundings": _surroundings,
    "drains": lambda measurements: _rates(measurements, "drain_idempotent"),
    "chains": lambda measurements: _rates(measurements, "outbox_chain"),
    "tiers": _tiers,
    "single": _single,
    "latencies": _latencies,
    "pages": _pages,
    "goals": _goals,
    "keyword": lambda measurements: keyword_cost.by_service(measurements.rows),
    "functions": lambda measurements: keyword_cost.by_function(measurements.rows),
    "statements": lambda measurements: keyword_cost.by_statement(measurements.rows),
    "floor": lambda measurements: keyword_cost.beside_the_floor(measurements.rows),
    "costs": _costs,
    "workers": lambda measurements: worker_cost.by_function(measurements.rows),
}


def _system(row: ResultRow) -> str:
    return _NAMES.get(row.system, row.system) + (" (PostgreSQL alone)" if row.kind == "database" else "")


def _small(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"  # noqa: PLR2004 - three digits are enough
