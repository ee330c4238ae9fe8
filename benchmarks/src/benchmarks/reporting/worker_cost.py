"""The block of the document about a message: what our workers' processor time is spent on, function by function."""

from collections.abc import Iterator, Sequence

from benchmarks.reporting.markdown import cell, code
from benchmarks.reporting.results import ResultRow
from benchmarks.reporting.steps import REST

_PARTS = ("database", "broker")


def by_function(rows: Sequence[ResultRow]) -> str:
    """A table for each scenario in which workers are compared."""
    parts = ["\n".join(_table(row)) for row in rows if row.scenario == "worker_profile"]
    return "\n\n".join(parts) or "This run has no figures of it."


def _table(row: ResultRow) -> Iterator[str]:
    scenario = code(row.system.removeprefix("ours, "))
    if not row.counts or "cpu_ms_by_function" not in row.extra:
        yield f"{scenario}: no figure: {cell(row.gate)}."
        return
    spent = row.extra["cpu_ms"]
    servers = ", ".join(f"{part} {_microseconds(spent[part])}" for part in _PARTS)
    yield f"{scenario}: Python {_microseconds(spent['python'])} µs a message; beside it {servers}."
    yield ""
    yield "| function | called | CPU µs |"
    yield "|---|---|---|"
    for each in row.extra["cpu_ms_by_function"]:
        name = code(each["function"]) if ":" in each["function"] else each["function"]
        through = "" if each["function"] == REST else each["through"]
        yield f"| {name} | {through} | {_microseconds(each['ms'])} |"


def _microseconds(milliseconds: float) -> str:
    return f"{milliseconds * 1000:.3g}"
