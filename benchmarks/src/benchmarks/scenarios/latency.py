"""Open loop: messages on a fixed schedule, timed from their scheduled time to the commit of their effect.

Ours beside the peers that stand for a kind: bare loops, two libraries on RabbitMQ, a queue in PostgreSQL.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Final

from benchmarks.accounting import CpuSeconds, growth, rss_of
from benchmarks.errors import MeasurementError
from benchmarks.measuring import effects
from benchmarks.measuring.drains import Beside, Drain, wait_for_effects
from benchmarks.measuring.effects import Latency
from benchmarks.reporting.results import ResultRow, no_figure, spread_of
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios.throughput import TierEntry, pass_gate
from benchmarks.servers.sql import Sql
from benchmarks.systems import programs
from benchmarks.systems.programs import Program, System
from brandctl.local import processes

_WARM_UP_SECONDS: Final = 2.0
_KEEPS_UP_SECONDS: Final = 2.0
"""A system with a backlog of more seconds than this at the end of the schedule does not keep up: its times would only grow."""


class BehindError(MeasurementError):
    """The system is slower than the load."""


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """The results under a load with a fixed schedule."""

    latency: Latency
    sent: int
    worst_lag_ms: float
    used: CpuSeconds


@dataclass(slots=True)
class LatencyEntry(TierEntry):
    """A system, with its rounds so far by their number; it may have missed some."""

    loads: dict[int, OfferedLoad] = field(default_factory=dict)


def latency_light(run: BenchmarkRun) -> list[ResultRow]:
    """500 messages a second: the machine is nearly idle, so this is the latency of the path itself."""
    entries = _compare(run, "latency_light", rate=500, seconds=run.of(6.0, 10.0))
    return [_row("latency_light", 500, entry, entries[0]) for entry in entries]


def live_confirmed(run: BenchmarkRun) -> list[ResultRow]:
    """5,000 messages a second, published with confirms by a separate process while they are consumed."""
    entries = _compare(run, "live_confirmed", rate=5_000, seconds=run.of(10.0, 30.0))
    rows = [_row("live_confirmed", 5_000, entry, entries[0]) for entry in entries]
    rows[0].extra |= _long(run, entries[0].system)
    return rows


def _compare(run: BenchmarkRun, scenario: str, *, rate: int, seconds: float) -> list[LatencyEntry]:
    """The gate of each, then rounds in turn: A B C, A B C and so on."""
    entries = [LatencyEntry(system, "T2", rate=system.guess) for system in run.systems if system.feeding]
    for entry in entries:
        pass_gate(run, Drain(run.nodes, log=run.log), entry)
    for number in range(1, run.rounds + 1):
        for entry in entries:
            if entry.out:
                continue
            step = f"{scenario} {number}/{run.rounds} {entry.system.name}"
            try:
                load = measure(run, entry.system, rate, seconds)
            except Exception as error:  # noqa: BLE001 - of whatever kind: the others are still to be measured
                entry.gate = no_figure(error)
                run.log(f"{step}: {entry.gate}")
                continue
            entry.loads[number] = load
            run.log(f"{step}: {load.latency}; feeder late by {load.worst_lag_ms:.1f} ms at most")
    return entries


def _row(scenario: str, rate: float, entry: LatencyEntry, ours: LatencyEntry) -> ResultRow:
    row = ResultRow(scenario, entry.system.name, gate=entry.gate, kind=entry.system.kind)
    if entry.out or not entry.loads:
        return row
    loads = list(entry.loads.values())
    row.msgs_per_s = rate
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
    }
    # Round by round, because neighbouring rounds share the machine's state.
    pairs = [
        (load.latency, ours.loads[number].latency)
        for number, load in entry.loads.items()
        if number in ours.loads
    ]
    if pairs:
        row.ratio_to_ours = round(median(theirs.p50 / own.p50 for theirs, own in pairs), 3)
        row.extra["p99_ratio_to_ours"] = round(median(theirs.p99 / own.p99 for theirs, own in pairs), 3)
    return row


def _long(run: BenchmarkRun, system: System) -> dict[str, Any]:
    """One longer stretch of ours alone: whether times stay, and how the workers' memory grows."""
    seconds = run.of(25.0, 240.0)
    try:
        load = measure(run, system, 5_000, seconds, watch_memory=True)
    except MeasurementError as error:
        run.log(f"live_confirmed, {seconds:.0f} seconds: {error}")
        return {"long_problem": str(error)}
    run.log(f"live_confirmed, {seconds:.0f} seconds: {load.latency}")
    return {
        "long_seconds": seconds,
        "long_p50_ms": round(load.latency.p50, 2),
        "long_p99_ms": round(load.latency.p99, 2),
    }


def measure(
    run: BenchmarkRun,
    system: System,
    rate: int,
    seconds: float,
    *,
    watch_memory: bool = False,
    beside: Beside = lambda _pids: nullcontext(),
) -> OfferedLoad:
    """One system under one load.

    Raises:
        BehindError: the system does not keep up.
        MeasurementError: a message was refused, or left no effect.
    """
    with ExitStack() as cleanup:
        place = cleanup.enter_context(run.nodes.place())
        sql = cleanup.enter_context(Sql(place.database_url))
        effects.create(sql)
        program = Program(system, place, "T2", run.nodes.folder)
        program.prepare()
        workers = cleanup.enter_context(programs.workers(program))
        programs.wait_until_ready(workers)
        pids = [worker.process.pid for worker in workers]
        cleanup.enter_context(beside(pids))
        before = run.nodes.cpu(pids)
        report, memory = _feed(program, rate, seconds + _WARM_UP_SECONDS, pids)
        if report["refused"]:
            raise MeasurementError(f"{report['refused']} messages were not confirmed")
        done = effects.count(sql)
        if report["sent"] - done > rate * _KEEPS_UP_SECONDS:
            raise BehindError(
                f"does not keep up: {done:,} of {report['sent']:,} messages at the last one's time"
            )
        wait_for_effects(sql, report["sent"], workers)
        used = run.nodes.cpu(pids) - before
        sent_from = datetime.fromisoformat(report["began_at"]) + timedelta(seconds=_WARM_UP_SECONDS)
        if watch_memory:
            run.worker_memory = memory
        return OfferedLoad(
            effects.latency(sql, sent_from=sent_from), report["sent"], report["worst_lag_ms"], used
        )


def _feed(
    program: Program, rate: int, seconds: float, pids: Sequence[int]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Starts the feeder and watches the workers' memory meanwhile."""
    log = program.folder / "feeder.log"
    feeder = processes.start("feeder", _feeder(program, rate, seconds), log=log, env=program.environment())
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


def _feeder(program: Program, rate: int, seconds: float) -> list[str]:
    system = program.system
    if system.feeding == "itself":
        return [*system.command, "feed", str(rate), str(seconds)]
    return [sys.executable, "-m", "benchmarks.load.feeder", system.feeding, str(rate), str(seconds)]
