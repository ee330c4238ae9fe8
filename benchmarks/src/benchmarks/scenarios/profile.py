"""pipeline_profile: a keyword's processor time and SQL statements, in a run of its own since profiling costs time.

For each service it gives the processor time by step, and the statements per keyword. Writes
build/pipeline-WRITER.stacks (for flame graph tools) and build/pipeline-WRITER-statements.txt.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.reporting import steps
from benchmarks.reporting.results import ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios.pipeline import INSTANT, WRITERS, Pipeline
from benchmarks.systems.stack import KEYWORDS, Stack, stack
from brandctl.local import processes

_SMALLEST_SHARE: Final = 0.02
"""The share of a service's time below which steps are summed up."""
_LINE: Final = 200


def pipeline_profile(run: BenchmarkRun) -> list[ResultRow]:
    return [_row(run, ResultRow("pipeline_profile", system)) for system in WRITERS]


def _row(run: BenchmarkRun, row: ResultRow) -> ResultRow:
    try:
        with (
            stack(run.nodes, modules=WRITERS[row.system], watched=True) as services,
            Pipeline(services) as pipeline,
        ):
            row.extra = _watched(
                run, services, pipeline, name="instant" if row.system == INSTANT else "quoting"
            )
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        row.gate = f"failed: no figure: {error}"
        run.log(row.gate)
    return row


def _watched(run: BenchmarkRun, services: Stack, pipeline: Pipeline, *, name: str) -> dict[str, Any]:
    pipeline.warm_up()
    brands = [f"watched-{number}" for number in range(run.of(12, 60))]
    pipeline.create(brands)
    keywords = len(brands) * len(KEYWORDS)
    spent, made = services.cpu_by_service(), _statements(run, services)
    services.begin_samples()
    for brand in brands:
        pipeline.hand_in(brand)
    pipeline.wait_for_posts()
    lines = services.end_samples()
    milliseconds = {
        service: (seconds - spent[service]) * 1000 / keywords
        for service, seconds in services.cpu_by_service().items()
    }
    by_service = {
        service: {text: count - made[service][text] for text, count in texts.items()}
        for service, texts in _statements(run, services).items()
    }
    file = f"pipeline-{name}.stacks"
    run.keep(file, _as_one(lines))
    run.keep(f"pipeline-{name}-statements.txt", _listed(by_service, keywords))
    return {
        "keywords": keywords,
        "stacks": file,
        "cpu_ms_by_service": {service: round(spent, 2) for service, spent in milliseconds.items()},
        "cpu_ms_by_step": {
            service: _largest(steps.by_step(steps.read(lines[service])), milliseconds[service])
            for service in lines
        },
        "statements": {
            service: round(sum(texts.values()) / keywords, 1) for service, texts in by_service.items()
        },
    }


def _statements(run: BenchmarkRun, services: Stack) -> dict[str, Counter[str]]:
    return {
        service: Counter(run.nodes.statements(services.database_url(service)))
        for service in services.children
    }


def _largest(shares: Mapping[str, float], milliseconds: float) -> dict[str, float]:
    told = {
        step: round(share * milliseconds, 2) for step, share in shares.items() if share >= _SMALLEST_SHARE
    }
    told["the rest"] = round(milliseconds - sum(told.values()), 2)
    return told


def _as_one(lines: Mapping[str, list[str]]) -> str:
    return "".join(f"{service};{line}\n" for service, of_service in lines.items() for line in of_service)


def _listed(by_service: Mapping[str, Mapping[str, int]], keywords: int) -> str:
    """The statements of each service with their number per keyword, the most frequent first."""
    lines = []
    for service, texts in by_service.items():
        lines.append(f"{service}\n")
        for text, count in sorted(texts.items(), key=lambda each: -each[1]):
            if count:
                lines.append(f"{count / keywords:8.2f}  {text[:_LINE]}\n")
    return "".join(lines)
