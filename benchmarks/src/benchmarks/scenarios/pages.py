"""site_pages: how many visitors one publisher serves with a page, and how fast at half of that, beside nginx with the page as a file."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import GATE_PASSED, NO_GATE, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios import request_profiles
from benchmarks.scenarios.pipeline import Pipeline
from benchmarks.servers.sql import Sql
from benchmarks.systems import static_server
from benchmarks.systems.stack import stack
from brandctl.local import processes

_CONNECTIONS: Final = 16
_WARM_UP_SECONDS: Final = 1.0
_COMPRESSED: Final = {"Accept-Encoding": "gzip"}
_KINDS: Final = ("whole", "304")
"""A page for a new visitor, and one that the browser has cached and revalidates."""


def site_pages(run: BenchmarkRun) -> list[ResultRow]:
    ours = [ResultRow("site_pages", f"ours, {kind}") for kind in _KINDS]
    beside = [ResultRow("site_pages", f"nginx, {kind}", kind="comparison") for kind in _KINDS]
    try:
        with stack(run.nodes) as services, Pipeline(services) as pipeline:
            pipeline.warm_up()
            with Sql(services.database_url("publisher")) as pages:
                brand, slug = pages.row("select brand_slug, slug from pages order by published_at limit 1")
            url = f"{services.addresses.url('publisher')}/sites/{brand}/{slug}"
            publisher = services.children["publisher"].process.pid
            _serve(run, ours, url, publisher)
            request_profiles.profile(
                run, ours[0], [publisher], lambda: _visit(url, _COMPRESSED, run.of(3.0, 15.0))["requests"]
            )
            _serve_as_file(run, beside, httpx.get(url, trust_env=False).content)
    except (MeasurementError, processes.StartError, httpx.HTTPError, KeyError) as error:
        for row in ours:
            row.gate = f"failed: no figure: {error}"
        run.log(ours[0].gate)
    return [*ours, *(row for row in beside if row.msgs_per_s or row.gate != NO_GATE)]


def _serve_as_file(run: BenchmarkRun, rows: Sequence[ResultRow], page: bytes) -> None:
    try:
        with static_server.nginx(run.nodes.folder, page) as server:
            _serve(run, rows, server.url, server.pid)
    except (MeasurementError, httpx.HTTPError, KeyError) as error:
        for row in rows:
            row.gate = f"skipped: {error}"
        run.log(f"site_pages, nginx: {rows[0].gate}")


def _serve(run: BenchmarkRun, rows: Sequence[ResultRow], url: str, pid: int) -> None:
    """Measures the page whole, then as a browser asks that has it."""
    etag = httpx.get(url, headers=_COMPRESSED, trust_env=False).headers["etag"]
    for row, headers in zip(rows, (_COMPRESSED, {**_COMPRESSED, "If-None-Match": etag}), strict=True):
        _measure(run, row, url, headers, pid)


def _measure(run: BenchmarkRun, row: ResultRow, url: str, headers: dict[str, str], pid: int) -> None:
    seconds = run.of(3.0, 15.0)
    _visit(url, headers, _WARM_UP_SECONDS)
    before = run.nodes.cpu([pid])
    full = _visit(url, headers, seconds)
    used = run.nodes.cpu([pid]) - before
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
        # An estimate of one undisturbed core: both servers are one process.
        "per_s_of_a_core": round(full["requests"] / used.python, 1),
    }
    run.log(
        f"site_pages, {row.system}: {row.msgs_per_s:,.0f}/s, {row.extra['per_s_of_a_core']:,.0f}/s of a core, "
        f"p99 {row.p99_ms} ms at half of that"
    )


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
