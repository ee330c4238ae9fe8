"""pipeline_profile: what a keyword's time is spent on, in a run of its own since profiling costs time.

For each service it gives the processor time by step and by function, and the database's own account of the statements;
beside them messages, commits and the bytes of the database's log, each for one keyword. Writes build/pipeline-WRITER.stacks
(for flame graph tools), -functions.txt and -statements.txt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.reporting import steps
from benchmarks.reporting.results import ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios.pipeline import INSTANT, WRITERS, Pipeline
from benchmarks.servers.sql import Sql
from benchmarks.servers.statements import DatabaseAccount, StatementCost, sum_of
from benchmarks.systems import profiler
from benchmarks.systems.stack import KEYWORDS, Stack, stack
from brandctl.local import processes

_SMALLEST_MS: Final = 0.02
"""Statements below this many milliseconds for a keyword are summed up."""


def pipeline_profile(run: BenchmarkRun) -> list[ResultRow]:
    return [_row(run, ResultRow("pipeline_profile", system)) for system in WRITERS]


def _row(run: BenchmarkRun, row: ResultRow) -> ResultRow:
    try:
        with stack(run.nodes, modules=WRITERS[row.system]) as services, Pipeline(services) as pipeline:
            row.extra = _watched(
                run, services, pipeline, name="instant" if row.system == INSTANT else "quoting"
            )
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        row.gate = f"failed: no figure: {error}"
        run.log(row.gate)
    return row


def _watched(run: BenchmarkRun, services: Stack, pipeline: Pipeline, *, name: str) -> dict[str, Any]:
    brands = [f"watched-{number}" for number in range(run.of(12, 60))]
    keywords = len(brands) * len(KEYWORDS)
    pids = {service: child.process.pid for service, child in services.children.items()}
    with run.nodes.statement_account() as account:
        # As many as are counted then, so that the connections are open, which ask for types and plan their statements once.
        _through(pipeline, [f"not-{brand}" for brand in brands])
        pipeline.create(brands)
        with profiler.sampling(pids, services.folder) as samplers:
            account.begin()
            spent, handled = services.cpu_by_service(), _handled(services)
            for brand in brands:
                pipeline.hand_in(brand)
            pipeline.wait_for_posts()
            used = services.cpu_by_service()
            lines = samplers.end()
        database = account.read()
    milliseconds = {service: (used[service] - spent[service]) * 1000 / keywords for service in used}
    stacks = {service: steps.read(lines[service]) for service in lines}
    functions = {
        service: steps.largest_functions(stacks[service], milliseconds[service]) for service in stacks
    }
    statements = {
        service: [each.per(keywords) for each in database.of(services.database_url(service))]
        for service in services.children
    }
    file = f"pipeline-{name}.stacks"
    run.keep(file, _as_one(lines))
    run.keep(f"pipeline-{name}-functions.txt", _functions_file(stacks, milliseconds))
    run.keep(f"pipeline-{name}-statements.txt", _statements_file(statements))
    return {
        "keywords": keywords,
        "stacks": file,
        "samples": {service: sum(seen.values()) for service, seen in stacks.items()},
        "cpu_ms_by_service": {service: round(spent, 2) for service, spent in milliseconds.items()},
        "cpu_ms_by_step": {
            service: _largest(steps.by_step(seen), milliseconds[service]) for service, seen in stacks.items()
        },
        "cpu_ms_by_function": functions,
        "statements": {
            service: round(sum(each.calls for each in costs), 1) for service, costs in statements.items()
        },
        "statement_costs": {service: _statements(costs) for service, costs in statements.items()},
        "messages": {
            service: round((number - handled[service]) / keywords, 2)
            for service, number in _handled(services).items()
        },
        "commits": {
            service: round(sum([each.calls for each in costs if each.is_commit]), 2)
            for service, costs in statements.items()
        },
        **_for_one(database, keywords),
    }


def _through(pipeline: Pipeline, brands: Sequence[str]) -> None:
    pipeline.create(brands)
    for brand in brands:
        pipeline.hand_in(brand)
    pipeline.wait_for_posts()


def _for_one(database: DatabaseAccount, keywords: int) -> dict[str, float]:
    return {
        "wal_bytes": round(database.wal_bytes / keywords),
        "writing_transactions": round(database.writing_transactions / keywords, 2),
    }


def _handled(services: Stack) -> dict[str, int]:
    """The messages that each service has handled so far."""
    found = {}
    for service in services.children:
        with Sql(services.database_url(service)) as database:
            found[service] = database.value("select count(*) from processed_events")
    return found


def _largest(shares: Mapping[str, float], milliseconds: float) -> dict[str, float]:
    told = {
        step: round(share * milliseconds, 2)
        for step, share in shares.items()
        if share >= steps.SMALLEST_SHARE
    }
    told[steps.REST] = round(milliseconds - sum(told.values()), 2)
    return told


def _statements(costs: Sequence[StatementCost]) -> list[dict[str, Any]]:
    told = [each for each in costs if each.exec_ms + each.plan_ms >= _SMALLEST_MS]
    small = [each for each in costs if each.exec_ms + each.plan_ms < _SMALLEST_MS]
    if small:
        told.append(sum_of(small, steps.REST))
    return [
        {name: value if isinstance(value, str) else round(value, 3) for name, value in asdict(each).items()}
        for each in told
    ]


def _as_one(lines: Mapping[str, list[str]]) -> str:
    return "".join(f"{service};{line}\n" for service, of_service in lines.items() for line in of_service)


def _functions_file(stacks: Mapping[str, steps.Stacks], milliseconds: Mapping[str, float]) -> str:
    """All functions of each service with their milliseconds for a keyword."""
    return "".join(
        f"{service}: {milliseconds[service]:.2f} ms, {sum(seen.values())} samples\n"
        + steps.all_functions(seen, milliseconds[service])
        for service, seen in stacks.items()
    )


def _statements_file(by_service: Mapping[str, Sequence[StatementCost]]) -> str:
    """All statements of each service, each with its figures for a keyword."""
    lines = ["    calls    plans  exec ms  plan ms     rows WAL bytes\n"]
    for service, costs in by_service.items():
        lines.append(f"{service}\n")
        for each in (*costs, sum_of(costs, "all")):
            figures = f"{each.calls:9.3f}{each.plans:9.3f}{each.exec_ms:9.3f}{each.plan_ms:9.3f}"
            lines.append(f"{figures}{each.rows:9.2f}{each.wal_bytes:10.0f}  {each.text}\n")
    return "".join(lines)
