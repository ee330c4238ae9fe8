"""gateway_call: the gateway's overhead on a call of an instant model: limits, the ledger, kept answers."""

import os
import sys
import time
from contextlib import ExitStack
from statistics import median, quantiles
from typing import Any, Final

import httpx

from benchmarks.errors import MeasurementError
from benchmarks.reporting.results import GATE_PASSED, ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios import request_profiles
from benchmarks.servers.sql import Sql
from benchmarks.systems.stack import stack
from brandctl.local import ports, processes

_MODEL: Final = "instant"
_WARM_UP: Final = 20
_READY_SECONDS: Final = 20.0


def gateway_call(run: BenchmarkRun) -> list[ResultRow]:
    row = ResultRow("gateway_call", "ours")
    calls = run.wanted_messages or run.of(200, 2_000)
    try:
        with ExitStack() as cleanup:
            services = cleanup.enter_context(stack(run.nodes, ("gateway",)))
            model_url = _start_model(run, cleanup)
            gateway = cleanup.enter_context(services.client("gateway"))
            model = cleanup.enter_context(httpx.Client(base_url=model_url, timeout=20, trust_env=False))
            # Very high limits: the scenario measures the path, not the limits.
            bounds = {"per_minute": 100_000, "together": 1_000, "at_once": 1_000}
            settings = {"url": f"{model_url}/v1", "model": _MODEL, **bounds}
            connected = gateway.put(f"/v1/providers/{_MODEL}", json={"kind": "model", "settings": settings})
            connected.raise_for_status()
            for number in range(_WARM_UP):
                _ask(gateway, -1 - number)
                _ask(model, -1 - number)
            through, direct = [], []
            used = run.nodes.cpu(services.pids)
            # In turns, so that other load of the machine affects both.
            for number in range(calls):
                through.append(_ask(gateway, number))
                direct.append(_ask(model, number))
            used = run.nodes.cpu(services.pids) - used
            with Sql(services.database_url("gateway")) as sql:
                settled = sql.value("select count(*) from calls where state = 'settled'")
            more = range(calls, 2 * calls)
            request_profiles.profile(run, row, services.pids, lambda: _ask_more(gateway, more))
    except (MeasurementError, processes.StartError, httpx.HTTPError) as error:
        row.gate = f"failed: no figure: {error}"
        run.log(row.gate)
        return [row]
    wanted = calls + _WARM_UP
    row.gate = GATE_PASSED if settled == wanted else f"failed: {wanted} calls left {settled} settled lines"
    without = median(direct)
    row.p50_ms = round(median(through) - without, 2)
    row.p99_ms = round(quantiles(through, n=100, method="inclusive")[98] - without, 2)
    row.cpu_s_per_1k = used.per_thousand(calls)
    row.extra |= {"calls": calls, "without_ms": round(without, 2)}
    run.log(f"gateway_call: adds p50 {row.p50_ms} ms, p99 {row.p99_ms} ms")
    return [row]


def _ask_more(gateway: httpx.Client, numbers: range) -> int:
    for number in numbers:
        _ask(gateway, number)
    return len(numbers)


def _start_model(run: BenchmarkRun, cleanup: ExitStack) -> str:
    port = ports.free_port()
    command = [sys.executable, "-m", "benchmarks.systems.model_server", str(port)]
    child = processes.start("model", command, log=run.nodes.folder / "model.log", env=os.environ)
    cleanup.callback(child.stop)
    child.wait_until(lambda: ports.accepts(port), within=_READY_SECONDS)
    return f"http://{ports.LOOPBACK}:{port}"


def _ask(client: httpx.Client, number: int) -> float:
    """Milliseconds of each call; no two are identical."""
    body: dict[str, Any] = {
        "model": _MODEL,
        "messages": [{"role": "user", "content": f"Question {number}: how is coffee brewed?"}],
        "max_tokens": 64,
    }
    began = time.perf_counter()
    answer = client.post("/v1/chat/completions", json=body, headers={"X-Brand": "acme"})
    milliseconds = (time.perf_counter() - began) * 1000
    if answer.status_code != httpx.codes.OK:
        raise MeasurementError(f"a call was answered {answer.status_code}: {answer.text[:300]}")
    return milliseconds
