"""The block of the document about messages and requests: what our processor time for one is spent on, function by function."""

from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.reporting.markdown import cell, code
from benchmarks.reporting.results import ResultRow
from benchmarks.reporting.steps import REST

_PARTS: Final = ("database", "broker")
_WORKERS: Final = "worker_profile"
_REQUESTS: Final = {"site_pages": "a page", "gateway_call": "a call"}


def by_function(rows: Sequence[ResultRow]) -> str:
    """A table for each scenario that is profiled and has one kind of message or request."""
    parts = []
    for row in rows:
        if row.scenario == _WORKERS:
            parts.append("\n".join(_table(row, row.system.removeprefix("ours, "), "a message")))
        elif row.scenario in _REQUESTS and "cpu_ms_by_function" in row.extra:
            parts.append("\n".join(_table(row, row.scenario, _REQUESTS[row.scenario])))
    return "\n\n".join(parts) or "This run has no figures of it."


def _table(row: ResultRow, scenario: str, unit: str) -> Iterator[str]:
    if not row.counts or "cpu_ms_by_function" not in row.extra:
        yield f"{code(scenario)}: no figure: {cell(row.gate)}."
        return
    spent = row.extra["cpu_ms"]
    servers = ", ".join(f"{part} {_microseconds(spent[part])}" for part in _PARTS)
    yield f"{code(scenario)}: Python {_microseconds(spent['python'])} µs {unit}; beside it {servers}."
    yield ""
    yield "| function | called | CPU µs |"
    yield "|---|---|---|"
    for each in row.extra["cpu_ms_by_function"]:
        name = code(each["function"]) if ":" in each["function"] else each["function"]
        through = "" if each["function"] == REST else each["through"]
        yield f"| {name} | {through} | {_microseconds(each['ms'])} |"


def _microseconds(milliseconds: float) -> str:
    return f"{milliseconds * 1000:.3g}"
