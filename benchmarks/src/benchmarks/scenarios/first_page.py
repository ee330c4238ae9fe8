"""first_page: on an idle system, from a keyword's acceptance until its page can be read."""

import time
from datetime import datetime
from statistics import median, quantiles
from typing import Final
from urllib.parse import quote

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import GATE_PASSED, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios.pipeline import Pipeline
from benchmarks.servers.sql import Sql
from benchmarks.systems.stack import KEYWORDS, Stack, stack
from brandctl.local import processes

_PATIENCE_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.05
"""Between two looks; the figure comes from the commit's time, so this needs no precision."""
_REST_SECONDS: Final = 0.1
"""After the last post of one keyword, before the next."""


def first_page(run: BenchmarkRun) -> list[ResultRow]:
    row = ResultRow("first_page", "ours")
    times: list[float] = []
    try:
        with stack(run.nodes) as services, Pipeline(services) as pipeline:
            pipeline.warm_up()
            with Sql(services.database_url("publisher")) as pages:
                used = run.nodes.cpu(services.pids)
                for number in range(run.of(3, 20)):
                    times += _brand(services, pipeline, pages, f"first-{number}")
                used = run.nodes.cpu(services.pids) - used
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        row.gate = f"failed: no figure: {error}"
        run.log(row.gate)
        return [row]
    row.gate = GATE_PASSED
    row.rounds = [round(each, 1) for each in times]
    row.p50_ms, row.p99_ms = (
        round(median(times), 1),
        round(quantiles(times, n=100, method="inclusive")[98], 1),
    )
    # Includes background work in the pauses.
    row.cpu_s_per_1k = used.per_thousand(len(times))
    row.extra = {"pages": len(times), "worst_ms": round(max(times), 1)}
    run.log(f"first_page: p50 {row.p50_ms} ms, p99 {row.p99_ms} ms over {len(times)} pages")
    return [row]


def _brand(services: Stack, pipeline: Pipeline, pages: Sql, brand: str) -> list[float]:
    """Milliseconds of each keyword, one after the other. Each page is fetched as by a visitor, and must exist."""
    pipeline.create([brand])
    times = []
    for keyword in KEYWORDS:
        accepted = pipeline.hand_in_one(brand, keyword)
        slug, at = _page(pages, brand, keyword)
        times.append((at - accepted).total_seconds() * 1000)
        answer = httpx.get(
            f"{services.addresses.url('publisher')}/sites/{brand}/{quote(slug)}", timeout=10, trust_env=False
        )
        if answer.status_code != httpx.codes.OK:
            raise MeasurementError(f"the page of {keyword!r} answers {answer.status_code}")
        pipeline.wait_for_posts()
        time.sleep(_REST_SECONDS)
    return times


def _page(pages: Sql, brand: str, keyword: str) -> tuple[str, datetime]:
    """Its slug, and the time of its commit."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = pages.rows(
            "select slug, pg_xact_commit_timestamp(xmin) as at from pages where brand_slug = $1 and keyword = $2",
            brand,
            keyword,
        )
        if found:
            return found[0]["slug"], found[0]["at"]
        time.sleep(_LOOK_SECONDS)
    raise MeasurementError(f"no page about {keyword!r} came within {_PATIENCE_SECONDS:.0f} s")
