"""Open loop: messages on a fixed schedule, timed from their scheduled time to the commit of their effect."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Final

from benchmarks.accounting import CpuSeconds, growth, rss_of
from benchmarks.errors import MeasurementError
from benchmarks.measuring import effects
from benchmarks.measuring.drains import wait_for_effects
from benchmarks.measuring.effects import Latency
from benchmarks.reporting.results import ResultRow, spread_of
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios.throughput import gate_of_ours
from benchmarks.servers.sql import Sql
from benchmarks.systems import programs
from benchmarks.systems.programs import Program
from brandctl.local import processes

_WARM_UP_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """The results under a load with a fixed schedule."""

    latency: Latency
    sent: int
    worst_lag_ms: float
    used: CpuSeconds


def latency_light(run: BenchmarkRun) -> list[ResultRow]:
    """500 messages a second: the machine is nearly idle, so this is the latency of the path itself."""
    return [_row(run, "latency_light", rate=500, seconds=run.of(6.0, 20.0), rounds=run.of(1, run.rounds))]


def live_confirmed(run: BenchmarkRun) -> list[ResultRow]:
    """5,000 messages a second, published with confirms by a separate process while they are consumed."""
    return [_row(run, "live_confirmed", rate=5_000, seconds=run.of(60.0, 600.0), rounds=1)]


def _row(run: BenchmarkRun, scenario: str, *, rate: int, seconds: float, rounds: int) -> ResultRow:
    row = ResultRow(scenario, "ours")
    try:
        row.gate = gate_of_ours(run)
        loads = []
        for number in range(1, rounds + 1):
            loads.append(measure(run, rate, seconds))
            run.log(
                f"{scenario} {number}/{rounds}: {loads[-1].latency}; feeder late by {loads[-1].worst_lag_ms:.1f} ms at most"
            )
    except MeasurementError as error:
        row.gate = f"failed: no figure: {error}"
        return row
    row.msgs_per_s = float(rate)
    row.p50_ms = round(median(load.latency.p50 for load in loads), 2)
    row.p99_ms = round(median(load.latency.p99 for load in loads), 2)
    row.rounds = [round(load.latency.p50, 2) for load in loads]
    row.spread = spread_of(row.rounds)
    row.cpu_s_per_1k = loads[-1].used.per_thousand(loads[-1].sent)
    row.extra = {
        "p90_ms": round(median(load.latency.p90 for load in loads), 2),
        "p999_ms": round(median(load.latency.p999 for load in loads), 2),
        "worst_ms": round(max(load.latency.worst for load in loads), 1),
        "feeder_worst_lag_ms": max(load.worst_lag_ms for load in loads),
        "seconds": seconds,
    }
    return row


def measure(run: BenchmarkRun, rate: int, seconds: float) -> OfferedLoad:
    """Raises MeasurementError if a message was refused or left no effect."""
    with ExitStack() as cleanup:
        place = cleanup.enter_context(run.nodes.place())
        sql = cleanup.enter_context(Sql(place.database_url))
        effects.create(sql)
        program = Program(programs.ours(), place, "T2", run.nodes.folder)
        program.prepare()
        workers = cleanup.enter_context(programs.workers(program))
        programs.wait_until_ready(workers)
        pids = [worker.process.pid for worker in workers]
        before = run.nodes.cpu(pids)
        report, memory = _feed(program, rate, seconds + _WARM_UP_SECONDS, pids)
        if report["refused"]:
            raise MeasurementError(f"{report['refused']} messages were not confirmed")
        wait_for_effects(sql, report["sent"], workers)
        used = run.nodes.cpu(pids) - before
        sent_from = datetime.fromisoformat(report["began_at"]) + timedelta(seconds=_WARM_UP_SECONDS)
        if report["sent"] >= run.of(100_000, 1_000_000):
            run.worker_memory = memory
        return OfferedLoad(
            effects.latency(sql, sent_from=sent_from), report["sent"], report["worst_lag_ms"], used
        )


def _feed(
    program: Program, rate: int, seconds: float, pids: Sequence[int]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Starts the feeder and watches the workers' memory meanwhile."""
    command = [sys.executable, "-m", "benchmarks.load.feeder", str(rate), str(seconds)]
    log = program.folder / "feeder.log"
    feeder = processes.start("feeder", command, log=log, env=program.environment())
    try:
        time.sleep(seconds / 4)
        begin = rss_of(pids)
        try:
            code = feeder.process.wait(3 * seconds + 60)
        except subprocess.TimeoutExpired as error:
            raise MeasurementError(
                "the feeder does not come to an end: the broker is too slow for the load"
            ) from error
    finally:
        feeder.stop()
    if code != 0:
        raise MeasurementError(f"the feeder ended with code {code}:\n{feeder.log_tail()}")
    report: dict[str, Any] = json.loads(log.read_text().splitlines()[-1])
    return report, growth(report["sent"], begin, rss_of(pids))
