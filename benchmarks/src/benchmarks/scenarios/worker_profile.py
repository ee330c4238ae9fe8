"""worker_profile: what a message's processor time is spent on, function by function, in runs of their own since profiling costs time.

A drain of each shape and an open loop at each rate, with py-spy beside both workers. Writes build/worker-NAME.stacks (for
flame graph tools) and -functions.txt.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from benchmarks.measuring.drains import Beside, Drain
from benchmarks.reporting import steps
from benchmarks.reporting.results import ResultRow, no_figure
from benchmarks.run import BenchmarkRun
from benchmarks.scenarios import latency
from benchmarks.scenarios.chain import Chain
from benchmarks.systems import profiler, programs

_SHAPES: Final = {
    "drain_idempotent": ("drain", 200_000, 0.0),
    "outbox_chain": ("outbox", 80_000, 0.0),
    "single_handler": ("single", 80_000, 0.0),
    "dup_storm": ("drain", 100_000, 0.5),
}
"""By the scenario that measures it: the shape of our worker, different messages for some ten seconds, the share of copies."""
_RATES: Final = {"latency_light": 500, "live_confirmed": 5_000}
"""By the scenario that measures it: messages a second."""


def worker_profile(run: BenchmarkRun) -> list[ResultRow]:
    """A row for each scenario in which our worker is compared, with the processor time of each function."""
    return [profile(run, scenario) for scenario in (*_SHAPES, *_RATES)]


def profile(run: BenchmarkRun, scenario: str) -> ResultRow:
    """The row of one of these scenarios; without figures if something failed."""
    row, lines = ResultRow("worker_profile", f"ours, {scenario}"), list[str]()

    @contextmanager
    def sampled(pids: Sequence[int]) -> Iterator[None]:
        with profiler.sampled(pids, run.nodes.folder) as found:
            yield
        lines.extend(found)

    try:
        cost = _measured(run, scenario, sampled)
    except Exception as error:  # noqa: BLE001 - of whatever kind: the others are still to be measured
        row.gate = no_figure(error)
        run.log(f"worker_profile, {scenario}: {row.gate}")
        return row
    row.extra = steps.account(lines, cost)
    run.keep(f"worker-{scenario}.stacks", "".join(f"{line}\n" for line in lines))
    run.keep(f"worker-{scenario}-functions.txt", steps.all_functions(steps.read(lines), cost["python"]))
    run.log(f"worker_profile, {scenario}: CPU ms a message: {cost}")
    return row


def _measured(run: BenchmarkRun, scenario: str, beside: Beside) -> dict[str, float]:
    """Milliseconds of the processor for a message: of `python`, `database` and `broker`."""
    if scenario in _RATES:
        rate = _RATES[scenario]
        load = latency.measure(run, programs.ours("drain"), rate, run.of(5.0, 20.0), beside=beside)
        return load.used.per_thousand(load.sent)
    shape, messages, duplicates = _SHAPES[scenario]
    kind = Chain if shape == "outbox" else Drain
    drain = kind(run.nodes, duplicates=duplicates, log=run.log, beside=beside)
    cost = drain.measure(programs.ours(shape), "T2", run.of(messages // 10, messages)).cpu_s_per_1k
    assert cost is not None
    return cost
