"""The blocks of the document about a keyword: by service and step, by function, by statement."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from benchmarks.reporting.markdown import cell, code
from benchmarks.reporting.results import ResultRow
from benchmarks.reporting.steps import REST

_PROFILE: Final = "pipeline_profile"
_QUOTING: Final = "ours"
_SMALLEST_MS: Final = 0.05
"""Functions and statements below this are summed up."""
_PARTS: Final = ("python", "database", "broker")


def by_service(rows: Sequence[ResultRow]) -> str:
    parts = [_services(row) for row in rows if row.scenario == _PROFILE]
    return "\n\n".join(parts) or "No profile in this run."


def _services(row: ResultRow) -> str:
    title = "With the writer that quotes" if row.system == _QUOTING else "With a writer that takes no time"
    if not row.counts or "cpu_ms_by_step" not in row.extra:
        return f"{title}: no figure: {cell(row.gate)}."
    lines = [
        f"{title}, over {row.extra['keywords']:,} keywords{_of_all(row.extra)}:",
        "",
        "| service | CPU ms | messages | statements | commits | of which, in ms |",
        "|---|---|---|---|---|---|",
    ]
    for service, spent in row.extra["cpu_ms_by_service"].items():
        steps = ", ".join(f"{step} {ms:g}" for step, ms in row.extra["cpu_ms_by_step"][service].items())
        counts = " | ".join(_count(row.extra, key, service) for key in ("messages", "statements", "commits"))
        lines.append(f"| {service} | {spent:.1f} | {counts} | {steps} |")
    return "\n".join(lines)


def _of_all(extra: dict[str, Any]) -> str:
    if "wal_bytes" not in extra:
        return ""
    return (
        f" (each writes {extra['wal_bytes'] / 1000:,.0f} kB of the database's log, "
        f"in {extra['writing_transactions']:g} transactions)"
    )


def _count(extra: dict[str, Any], key: str, service: str) -> str:
    value = extra.get(key, {}).get(service)
    return "" if value is None else f"{value:g}"


def by_function(rows: Sequence[ResultRow]) -> str:
    """One table of all services, for the writer that quotes."""
    return _table(rows, "cpu_ms_by_function", _functions)


def _functions(extra: dict[str, Any]) -> Iterator[str]:
    yield "| service | function | called | CPU ms |"
    yield "|---|---|---|---|"
    for service, told in extra["cpu_ms_by_function"].items():
        shown = [each for each in told if each["ms"] >= _SMALLEST_MS and each["function"] != REST]
        for each in shown:
            name = code(each["function"]) if ":" in each["function"] else each["function"]
            yield f"| {service} | {name} | {each['through']} | {each['ms']:.2f} |"
        rest = sum(each["ms"] for each in told) - sum(each["ms"] for each in shown)
        yield f"| {service} | {REST} | | {rest:.2f} |"


def by_statement(rows: Sequence[ResultRow]) -> str:
    """One table of all services, for the writer that quotes."""
    return _table(rows, "statement_costs", _statements)


def _statements(extra: dict[str, Any]) -> Iterator[str]:
    yield "| service | statement | calls | planned | ms | of planning | bytes of log |"
    yield "|---|---|---|---|---|---|---|"
    for service, told in extra["statement_costs"].items():
        shown = [each for each in told if _milliseconds(each) >= _SMALLEST_MS and each["text"] != REST]
        for each in shown:
            yield f"| {service} | {code(each['text'])} | {_figures(each)} |"
        small = [each for each in told if each not in shown]
        if small:
            total = {key: sum(each[key] for each in small) for key in small[0] if key != "text"}
            yield f"| {service} | {REST} | {_figures(total)} |"


def _milliseconds(told: dict[str, Any]) -> float:
    milliseconds: float = told["exec_ms"] + told["plan_ms"]
    return milliseconds


def _figures(told: dict[str, Any]) -> str:
    return (
        f"{told['calls']:.2f} | {told['plans']:.2f} | {_milliseconds(told):.2f} | {told['plan_ms']:.2f} "
        f"| {told['wal_bytes']:,.0f}"
    )


def _table(rows: Sequence[ResultRow], key: str, lines: Callable[[dict[str, Any]], Iterator[str]]) -> str:
    for row in rows:
        if (row.scenario, row.system) == (_PROFILE, _QUOTING) and row.counts and key in row.extra:
            return "\n".join(lines(row.extra))
    return "This run has no figures of it."


def beside_the_floor(rows: Sequence[ResultRow]) -> str:
    """What the services add to the work that a keyword needs."""
    for row in rows:
        if row.scenario == "pipeline_floor":
            if not row.counts:
                return f"No figure: {cell(row.gate)}."
            return "\n".join(_added(row))
    return "This run has no figures of it."


def _added(row: ResultRow) -> Iterator[str]:
    turns = "one turn" if len(row.rounds) == 1 else f"the median of {len(row.rounds)} turns"
    yield f"CPU ms for a keyword, {turns} of {row.extra['keywords']:,} keywords each:"
    yield ""
    yield "| | Python | database | broker | together |"
    yield "|---|---|---|---|---|"
    for name, key in (
        ("through the services", "services_ms"),
        ("the floor", "floor_ms"),
        ("added by the services", "added_ms"),
    ):
        figures = row.extra[key]
        parts = " | ".join(f"{figures[part]:.2f}" for part in _PARTS)
        yield f"| {name} | {parts} | {sum(figures.values()):.2f} |"
    yield ""
    yield f"The services add {row.extra['added_to_floor']:.2f} times the floor."
    by_step = row.extra.get("added_ms_by_step")
    if by_step:
        yield ""
        yield "Of Python's part they add, sampled in a turn of its own:"
        yield ""
        yield "| step | CPU ms |"
        yield "|---|---|"
        for step, ms in by_step.items():
            yield f"| {step} | {ms:g} |"
