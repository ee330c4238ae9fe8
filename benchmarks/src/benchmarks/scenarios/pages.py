"""site_pages: how many visitors one publisher serves with a page, and how fast at half of that."""

import json
import os
import subprocess
import sys
from typing import Any, Final

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import GATE_PASSED, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios.pipeline import Pipeline
from benchmarks.servers.sql import Sql
from benchmarks.systems.stack import Stack, stack
from brandctl.local import processes

_CONNECTIONS: Final = 16
_WARM_UP_SECONDS: Final = 1.0
_KINDS: Final = ("whole", "304")
"""A page for a new visitor, and one that the browser has cached and revalidates."""


def site_pages(run: BenchmarkRun) -> list[ResultRow]:
    rows = [ResultRow("site_pages", f"ours, {kind}") for kind in _KINDS]
    try:
        with stack(run.nodes) as services, Pipeline(services) as pipeline:
            pipeline.warm_up()
            with Sql(services.database_url("publisher")) as pages:
                brand, slug = pages.row("select brand_slug, slug from pages order by published_at limit 1")
            url = f"{services.addresses.url('publisher')}/sites/{brand}/{slug}"
            etag = httpx.get(url, headers={"Accept-Encoding": "gzip"}, trust_env=False).headers["etag"]
            for row, kind in zip(rows, _KINDS, strict=True):
                _serve(run, services, row, url, {"If-None-Match": etag} if kind == "304" else {})
    except (MeasurementError, processes.StartError, httpx.HTTPError, KeyError) as error:
        for row in rows:
            row.gate = f"failed: no figure: {error}"
        run.log(rows[0].gate)
    return rows


def _serve(run: BenchmarkRun, services: Stack, row: ResultRow, url: str, headers: dict[str, str]) -> None:
    headers = {"Accept-Encoding": "gzip", **headers}
    seconds = run.of(3.0, 15.0)
    _visit(url, headers, _WARM_UP_SECONDS)
    publisher = [services.children["publisher"].process.pid]
    before = run.nodes.cpu(publisher)
    full = _visit(url, headers, seconds)
    used = run.nodes.cpu(publisher) - before
    wanted = {"304"} if "If-None-Match" in headers else {"200"}
    if set(full["statuses"]) != wanted:
        raise MeasurementError(f"visitors were answered {full['statuses']}, not {wanted}")
    half = _visit(url, headers, seconds, rate=full["per_s"] / 2)
    row.gate = GATE_PASSED
    row.msgs_per_s = round(full["per_s"], 1)
    row.p50_ms, row.p99_ms = round(half["p50_ms"], 2), round(half["p99_ms"], 2)
    row.cpu_s_per_1k = used.per_thousand(full["requests"])
    row.extra = {
        "unit": "requests/s",
        "bytes": round(full["bytes"] / full["requests"]),
        # An estimate of one undisturbed core: the publisher is one process.
        "per_s_of_a_core": round(full["requests"] / used.python, 1),
    }
    run.log(f"site_pages, {row.system}: {row.msgs_per_s:,.0f}/s, p99 {row.p99_ms} ms at half of that")


def _visit(url: str, headers: dict[str, str], seconds: float, rate: float = 0.0) -> dict[str, Any]:
    wishes = {"connections": _CONNECTIONS, "seconds": seconds, "headers": headers, "rate": rate}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load.visitors", url, json.dumps(wishes)],
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        env=dict(os.environ),
    )
    if done.returncode != 0:
        raise MeasurementError(f"the visitors ended with code {done.returncode}:\n{done.stderr[-1500:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report
