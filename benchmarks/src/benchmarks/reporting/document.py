"""The figures in docs/performance.md: tables between marks, made of docs/measurements.json and of nothing else.

A block begins with `<!-- measured: NAME -->` and ends with `<!-- /measured -->`; a whole run with `--docs` writes what is in it, and what
stands around it is written by hand.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.reporting import goals
from benchmarks.reporting.results import Row

_BLOCK: Final = re.compile(r"(<!-- measured: (?P<name>[a-z-]+) -->\n).*?(<!-- /measured -->)", re.DOTALL)
_TIERS: Final = ("T0", "T1", "T2")
_NAMES: Final = {
    "raw_batched": "raw aio-pika, our batching, no validation",
    "raw_single": "raw aio-pika, message by message",
    "faststream": "FastStream with an inbox",
    "celery": "Celery",
    "dramatiq": "Dramatiq",
    "dbos": "DBOS queue",
}


class DocumentError(Exception):
    """The document asks for a block that nobody makes, or lacks one."""


@dataclass(frozen=True, slots=True)
class Measurements:
    """One run: its rows, and what they are worth little without."""

    rows: Sequence[Row]
    surroundings: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Measurements":
        found = json.loads(path.read_text())
        return cls([Row(**row) for row in found["rows"]], found["surroundings"])

    def write(self, path: Path) -> None:
        found = {"surroundings": dict(self.surroundings), "rows": [asdict(row) for row in self.rows]}
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def renew(text: str, measurements: Measurements) -> str:
    """The document with the blocks of these measurements.

    Raises:
        DocumentError: it names a block that there is not, or leaves one out.
    """
    named = {match["name"] for match in _BLOCK.finditer(text)}
    if named != set(_BLOCKS):
        raise DocumentError(
            f"blocks of the document: {sorted(named)}; of the measurements: {sorted(_BLOCKS)}"
        )
    return _BLOCK.sub(lambda match: f"{match[1]}{_BLOCKS[match['name']](measurements)}\n{match[3]}", text)


def check(text: str) -> None:
    """That the document can be renewed, to be known before a run and not after it.

    Raises:
        DocumentError: it names a block that there is not, or leaves one out.
    """
    named = {match["name"] for match in _BLOCK.finditer(text)}
    if named != set(_BLOCKS):
        raise DocumentError(
            f"blocks of the document: {sorted(named)}; of the measurements: {sorted(_BLOCKS)}"
        )


def _surroundings(measurements: Measurements) -> str:
    told = measurements.surroundings
    servers, size = told["servers"], "whole" if told["full"] else "quick"
    return (
        f"One {size} run of {told['at'][:10]}, {told['seconds'] // 60} minutes: {told['processors']} processors for workers, "
        f"broker and database together; RabbitMQ {servers['rabbitmq']}, PostgreSQL {servers['postgresql']}, "
        f"Python {told['python']}; the median of {told['rounds']} rounds, in which systems take turns."
    )


def _drains(measurements: Measurements) -> str:
    rows = [row for row in measurements.rows if (row.scenario, row.tier) == ("drain_idempotent", "T2")]
    lines = [
        "| system | messages/s | spread | CPU ms per message: broker | database | Python | of ours |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda each: -(each.msgs_per_s or 0)):
        if row.msgs_per_s is None or not row.counts:
            lines.append(f"| {_system(row)} | no figure: {row.gate} | | | | | |")
            continue
        cpu, strong = row.cpu_s_per_1k or {}, "**" if row.kind == "ours" else ""
        parts = " | ".join(f"{cpu.get(part, 0):.3f}" for part in ("broker", "database", "python"))
        spread = "" if row.spread is None or len(row.rounds) == 1 else f"{row.spread:.0%}"
        lines.append(
            f"| {strong}{_system(row)}{strong} | {strong}{row.msgs_per_s:,.0f}{strong} | {spread} | {parts} "
            f"| {row.ratio_to_ours or 0:.3g} |"
        )
    return "\n".join(lines)


def _tiers(measurements: Measurements) -> str:
    rates: dict[str, dict[str, float]] = {}
    for row in measurements.rows:
        if row.scenario == "drain_idempotent" and row.msgs_per_s and row.tier in _TIERS:
            rates.setdefault(row.system, {})[row.tier] = row.msgs_per_s
    lines = ["| messages/s | T0 | T1 | T2 |", "|---|---|---|---|"]
    for system, by_tier in rates.items():
        if len(by_tier) > 1:
            lines.append(
                f"| {_NAMES.get(system, system)} | "
                + " | ".join(f"{by_tier[tier]:,.0f}" if tier in by_tier else "" for tier in _TIERS)
                + " |"
            )
    return "\n".join(lines) if len(lines) > 2 else "A quick run measures no weaker tiers."  # noqa: PLR2004 - the heading


def _goals(measurements: Measurements) -> str:
    lines = ["| goal | wanted | measured | |", "|---|---|---|---|"]
    for outcome in goals.judge(measurements.rows):
        state = "**missed**" if outcome.state == "missed" else outcome.state
        measured = "" if outcome.measured is None else f"{_rounded(outcome.measured)}{outcome.unit}"
        lines.append(f"| {outcome.name} | {outcome.wanted} | {measured} | {state} |")
    return "\n".join(lines)


def _keyword(measurements: Measurements) -> str:
    parts = []
    for row in measurements.rows:
        if row.scenario == "pipeline_profile" and "cpu_ms_by_step" in row.extra:
            title = (
                "With the writer that quotes" if row.system == "ours" else "With a writer that takes no time"
            )
            lines = [
                f"{title}, over {row.extra['keywords']:,} keywords:",
                "",
                "| service | CPU ms | statements | of which, in ms |",
                "|---|---|---|---|",
            ]
            for service, spent in row.extra["cpu_ms_by_service"].items():
                steps = ", ".join(
                    f"{step} {ms:g}" for step, ms in row.extra["cpu_ms_by_step"][service].items()
                )
                lines.append(f"| {service} | {spent:.1f} | {row.extra['statements'][service]:g} | {steps} |")
            parts.append("\n".join(lines))
    return "\n\n".join(parts) or "No profile in this run."


def _costs(measurements: Measurements) -> str:
    lines = ["| | CPU ms each: Python | database | broker |", "|---|---|---|---|"]
    for row in measurements.rows:
        if row.scenario in _COUNTED and row.cpu_s_per_1k:
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
    "pipeline_keywords": "a keyword",
    "replay_flood": "a dead letter sent again and handled",
    "site_pages": "a page",
    "corpus_index": "an HTML page read and indexed",
    "gateway_call": "a call through the gateway",
    "api_submit": "a keyword handed in",
}
_BLOCKS: Final[Mapping[str, Callable[[Measurements], str]]] = {
    "surroundings": _surroundings,
    "drains": _drains,
    "tiers": _tiers,
    "goals": _goals,
    "keyword": _keyword,
    "costs": _costs,
}


def _system(row: Row) -> str:
    return _NAMES.get(row.system, row.system) + (" (PostgreSQL alone)" if row.kind == "database" else "")


def _small(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"  # noqa: PLR2004 - three digits are enough
