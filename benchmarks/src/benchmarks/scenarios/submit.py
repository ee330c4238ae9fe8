"""api_submit: the duration of a request with 1, 100 and 10,000 keywords; all must be in the cycle then."""

import time
from statistics import median
from typing import Final

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import GATE_PASSED, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.systems.stack import stack
from brandctl.local import processes

SIZES: Final = (1, 100, 10_000)


def api_submit(run: BenchmarkRun) -> list[ResultRow]:
    rows = [
        ResultRow(
            "api_submit", f"ours, {size:,} {'keyword' if size == 1 else 'keywords'}", extra={"keywords": size}
        )
        for size in SIZES
    ]
    times = {1: run.of(20, 200), 100: run.of(10, 50), 10_000: run.of(1, 5)}
    try:
        # No consumer runs: the scenario measures the request alone.
        with stack(run.nodes, ("orchestrator",)) as services, services.client("orchestrator") as api:
            _submit(api, "warm-up", 1)
            for row, size in zip(rows, SIZES, strict=True):
                began, used = time.monotonic(), run.nodes.cpu(services.pids)
                row.rounds = [_submit(api, f"size-{size}-{number}", size) for number in range(times[size])]
                used = run.nodes.cpu(services.pids) - used
                row.cpu_s_per_1k = used.per_thousand(size * times[size])
                row.p50_ms, row.gate = round(median(row.rounds), 1), GATE_PASSED
                seconds = time.monotonic() - began
                run.log(f"api_submit of {size:,}: p50 {row.p50_ms:,} ms ({times[size]} in {seconds:.1f} s)")
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        for row in rows:
            row.gate = f"failed: no figure: {error}"
        run.log(rows[0].gate)
    return rows


def _submit(api: httpx.Client, brand: str, size: int) -> float:
    """Milliseconds from the request to its answer."""
    api.put(f"/v1/brands/{brand}", json={"name": brand}).raise_for_status()
    body = {"keywords": [f"{brand} keyword number {number}" for number in range(size)]}
    began = time.monotonic()
    answer = api.post(f"/v1/brands/{brand}/research", json=body)
    milliseconds = (time.monotonic() - began) * 1000
    cycle = answer.raise_for_status().json()["cycle_id"]
    counted = api.get(f"/v1/cycles/{cycle}").raise_for_status().json()["total"]
    if counted != size:
        raise MeasurementError(f"{size} keywords were handed in, the cycle has {counted}")
    return round(milliseconds, 2)
