"""memory: each service at rest, and the growth of a worker over many messages."""

from contextlib import ExitStack

from benchmarks.accounting import growth, rss_of
from benchmarks.errors import MeasurementError
from benchmarks.measuring import effects
from benchmarks.measuring.drains import Drain, wait_for_effects
from benchmarks.reporting.results import ResultRow
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios.throughput import gate_of_ours
from benchmarks.systems import programs
from benchmarks.systems.stack import stack
from brandctl.local import processes
from brandctl.local import services as local

_BEGIN, _END = 0.2, 0.98
"""Shares of the messages between which growth is drift; before, caches and pools fill."""


def memory(run: BenchmarkRun) -> list[ResultRow]:
    """The worker's memory, from other scenarios of this run with enough messages."""
    try:
        with stack(run.nodes, local.PROCESSES) as services:
            at_rest = services.rss_at_rest()
        gate = gate_of_ours(run)
        if run.worker_memory is None:
            run.worker_memory = _drain(run)
    except (MeasurementError, processes.StartError) as error:
        return [ResultRow("memory", "worker", gate=f"failed: no figure: {error}")]
    run.log(f"memory at rest, MB: {at_rest}; of a worker: {run.worker_memory}")
    rows = [
        ResultRow("memory", name, extra={"idle_rss_mb": megabytes}) for name, megabytes in at_rest.items()
    ]
    return [*rows, ResultRow("memory", "worker", gate=gate, extra=dict(run.worker_memory))]


def _drain(run: BenchmarkRun) -> dict[str, float]:
    unique = run.wanted_messages or run.of(100_000, 1_000_000)
    with ExitStack() as cleanup:
        drain = Drain(run.nodes, log=run.log)
        program, sql, _ = drain.filled(cleanup, programs.ours(), "T2", unique, 0.0)
        with effects.held(program.place.database_url):
            workers = cleanup.enter_context(programs.workers(program))
            programs.wait_until_ready(workers)
        pids = [worker.process.pid for worker in workers]
        wait_for_effects(sql, round(unique * _BEGIN), workers)
        begin = rss_of(pids)
        wait_for_effects(sql, round(unique * _END), workers)
        return growth(unique, begin, rss_of(pids))
