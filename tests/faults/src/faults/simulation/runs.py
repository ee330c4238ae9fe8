"""Many schedules: one after the other in each of some processes, and what came of them."""

import gc
import hashlib
import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from faults.simulation import seams
from faults.simulation.course import Trace
from faults.simulation.mutations import MUTATIONS
from faults.simulation.schedule import SimulatedSchedule

CHUNK = 500
_COLLECT_EVERY = 25
"""Schedules between collections: what a schedule leaves behind is full of cycles, and small as long as it is young."""


@dataclass(frozen=True, slots=True)
class ScheduleFailure:
    """A schedule in which an invariant did not hold."""

    seed: int
    steps: int
    """Callbacks run; the failure with the fewest is the easiest to read."""
    violations: tuple[tuple[str, str], ...]
    """Invariant, and what contradicted it."""


@dataclass(slots=True)
class RunSummary:
    """What came of some schedules."""

    schedules: int = 0
    seconds: float = 0.0
    """Real time."""
    virtual_seconds: float = 0.0
    failures: list[ScheduleFailure] = field(default_factory=list)
    fired: dict[str, int] = field(default_factory=dict)
    """How often each fault struck."""

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def per_minute(self) -> float:
        return 60 * self.schedules / self.seconds if self.seconds else 0.0

    def add(self, other: "RunSummary") -> None:
        """Takes another's results in, apart from its time: they may have run side by side."""
        self.schedules += other.schedules
        self.virtual_seconds += other.virtual_seconds
        self.failures += other.failures
        for fault, count in other.fired.items():
            self.fired[fault] = self.fired.get(fault, 0) + count


def run(
    first_seed: int, count: int, *, mutation: str | None = None, stop_at_failure: bool = False
) -> RunSummary:
    """Runs the schedules of `count` seeds in this process.

    Raises:
        KeyError: there is no such mutation.
    """
    summary = RunSummary()
    began = time.perf_counter()
    with seams.installed(*(MUTATIONS[mutation]() if mutation else ())), _collecting_rarely():
        for seed in range(first_seed, first_seed + count):
            schedule = SimulatedSchedule(seed, fired=summary.fired)
            seams.now.schedule = schedule
            violations = schedule.run()
            summary.schedules += 1
            summary.virtual_seconds += schedule.loop.now
            if violations:
                summary.failures.append(ScheduleFailure(seed, schedule.loop.steps, tuple(violations)))
                if stop_at_failure:
                    break
            if not seed % _COLLECT_EVERY:
                gc.collect()
    summary.seconds = time.perf_counter() - began
    return summary


class _collecting_rarely:  # noqa: N801  (a context manager, read like a function)
    """Garbage is collected when asked to, and what was there before is not looked at again."""

    def __enter__(self) -> None:
        self._enabled = gc.isenabled()
        gc.disable()
        gc.collect()
        gc.freeze()

    def __exit__(self, *_: object) -> None:
        gc.unfreeze()
        if self._enabled:
            gc.enable()


def simulate(
    first_seed: int, count: int, jobs: int = 1, *, tell: Callable[[RunSummary], None] | None = None
) -> RunSummary:
    """Runs the schedules of `count` seeds in `jobs` processes; `tell` hears of the progress."""
    total = RunSummary()
    began = time.perf_counter()
    for part in _parts(first_seed, count, jobs):
        total.add(part)
        total.seconds = time.perf_counter() - began
        if tell is not None:
            tell(total)
    total.failures.sort(key=lambda failure: failure.steps)
    return total


def _parts(first_seed: int, count: int, jobs: int) -> Iterator[RunSummary]:
    chunks = [
        (start, min(CHUNK, first_seed + count - start))
        for start in range(first_seed, first_seed + count, CHUNK)
    ]
    if jobs == 1 or len(chunks) == 1:
        for chunk in chunks:
            yield run(*chunk)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(_run_chunk, chunks)


def _run_chunk(chunk: tuple[int, int]) -> RunSummary:
    return run(*chunk)


def trace(seed: int, *, mutation: str | None = None) -> tuple[Trace, list[tuple[str, str]]]:
    """Everything that happens in the schedule of a seed, and which invariants it violates."""
    with seams.installed(*(MUTATIONS[mutation]() if mutation else ())):
        schedule = SimulatedSchedule(seed, traced=True)
        seams.now.schedule = schedule
        violations = schedule.run()
    assert schedule.trace is not None
    return schedule.trace, violations


def fingerprint(seed: int) -> str:
    """A hash of everything that happens: the same for the same seed, in any process, after any other schedule."""
    return hashlib.blake2b(repr(trace(seed)).encode(), digest_size=16).hexdigest()
