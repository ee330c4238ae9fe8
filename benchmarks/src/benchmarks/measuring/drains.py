"""Closed loop: two workers drain a prefilled queue; then again with duplicates and a killed worker."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.accounting import CpuSeconds, cpu_seconds
from benchmarks.errors import MeasurementError
from benchmarks.load import messages
from benchmarks.load.messages import MessageFile
from benchmarks.measuring import effects
from benchmarks.reporting.results import GATE_PASSED
from benchmarks.servers.nodes import Nodes
from benchmarks.servers.sql import Sql
from benchmarks.systems import programs
from benchmarks.systems.programs import Program, System
from brandctl.local import processes

Beside = Callable[[Sequence[int]], AbstractContextManager[None]]
"""What runs beside the workers, given by their process ids, from before the first message until the last is done."""
WARM_UP: Final = 0.1
"""The share at the start of a run that does not count: connections, statement caches and the second worker start up."""
_GATE_DUPLICATES: Final = 0.05
_GATE_QUIET_SECONDS: Final = 1.0
_IDLE_SHARE: Final = 0.2
"""The share of one processor that both workers may use at rest, for timers and polling."""
_SHORTEST_POLL: Final = 0.02
_LONGEST_POLL: Final = 1.0
_STALLED_SECONDS: Final = 45.0
"""A run ends after this many seconds without a new effect: longer than the visibility timeouts of the peers."""


@dataclass(frozen=True, slots=True)
class Round:
    """One measured drain."""

    msgs_per_s: float
    cpu_s_per_1k: dict[str, float] | None
    messages: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Gate:
    verdict: str
    msgs_per_s: float
    """Rate until the kill, 0 if unknown: only good enough to choose the size of the rounds."""


class Drain:
    """A program to drain and its handler; the base of scenarios with a prefilled queue."""

    def __init__(
        self,
        nodes: Nodes,
        *,
        duplicates: float = 0.0,
        log: Callable[[str], None],
        beside: Beside = lambda _pids: nullcontext(),
    ) -> None:
        self.nodes = nodes
        self.duplicates = duplicates
        self.log = log
        self.beside = beside

    # -- one measured round --------------------------------------------------------------------------------------------

    def measure(self, system: System, tier: str, unique: int, *, template: str | None = None) -> Round:
        """Drains `unique` different messages; deliveries per second, copies included.

        Raises:
            MeasurementError: the program failed, or effects went missing.
        """
        with ExitStack() as cleanup:
            program, sql, file = self.filled(cleanup, system, tier, unique, self.duplicates, template)
            with effects.held(program.place.database_url):
                workers = cleanup.enter_context(programs.workers(program))
                programs.wait_until_ready(workers)
                pids = [worker.process.pid for worker in workers]
                cleanup.enter_context(self.beside(pids))
                before = self.nodes.cpu(pids)
            wait_for_effects(sql, unique, workers)
            used = self.nodes.cpu(pids) - before
            return round_of(sql, file, used)

    def filled(
        self,
        cleanup: ExitStack,
        system: System,
        tier: str,
        unique: int,
        duplicates: float,
        template: str | None = None,
    ) -> tuple[Program, Sql, MessageFile]:
        place = cleanup.enter_context(self.nodes.place(template=template))
        sql = cleanup.enter_context(Sql(place.database_url))
        effects.create(sql)
        program = Program(system, place, tier, self.nodes.folder)
        program.prepare()
        path = self.nodes.folder / "messages.jsonl"
        file = messages.write(path, unique, duplicates=duplicates)
        program.fill(path)
        return program, sql, file

    # -- the gate ------------------------------------------------------------------------------------------------------

    def gate(self, system: System, tier: str, unique: int) -> Gate:
        """Drains with at least 5% duplicates; one worker is killed with SIGKILL and replaced."""
        with ExitStack() as cleanup:
            program, sql, file = self.filled(
                cleanup, system, tier, unique, max(self.duplicates, _GATE_DUPLICATES)
            )
            workers = cleanup.enter_context(programs.workers(program))
            programs.wait_until_ready(workers)
            _kill_one_on_the_way(sql, program, workers, unique)
            problem = None
            try:
                wait_for_effects(sql, unique, workers)
                wait_until_quiet(sql, workers)
            except MeasurementError as error:
                problem = f"failed: {error}"
            verdict = self.judge(program, sql, ids_in(file.path))
            if problem and verdict == GATE_PASSED:
                verdict = problem
            return Gate(verdict, _rate_until(sql, unique // 3))

    def judge(self, program: Program, sql: Sql, ids: Sequence[str]) -> str:
        """`passed`, or `failed:` with the reason; without an inbox, at T1, doubled effects are allowed."""
        verdict = effects.judge(sql, ids)
        return GATE_PASSED if program.tier == "T1" and verdict.arrived else str(verdict)


def ids_in(path: Path) -> list[str]:
    with path.open("rb") as lines:
        return list({json.loads(line)["event_id"] for line in lines})


def _kill_one_on_the_way(
    sql: Sql, program: Program, workers: list[processes.ChildProcess], unique: int
) -> None:
    wait_for_effects(sql, unique // 3, workers)
    programs.kill(workers[0])
    workers[0] = program.start_worker(len(workers) + 1)


def _rate_until(sql: Sql, number: int) -> float:
    """Messages per second over the effects from the warm-up to effect `number`."""
    if effects.count(sql) < number:
        return 0.0
    window = effects.window(sql, skip=round(number * WARM_UP), up_to=number)
    return window.messages / window.seconds if window.seconds else 0.0


def round_of(sql: Sql, file: MessageFile, used: CpuSeconds) -> Round:
    total = effects.count(sql)
    if total != file.unique:
        raise MeasurementError(f"{total} effects of {file.unique} messages")
    window = effects.window(sql, skip=round(file.unique * WARM_UP))
    if not window.seconds:
        raise MeasurementError("all effects were committed at once: fill with more messages")
    deliveries = file.lines - file.lines_before(file.unique - window.messages)
    return Round(
        msgs_per_s=deliveries / window.seconds,
        cpu_s_per_1k=used.per_thousand(file.lines),
        messages=deliveries,
        seconds=window.seconds,
    )


def wait_for_effects(sql: Sql, wanted: int, workers: Sequence[processes.ChildProcess]) -> int:
    """Waits until at least so many effects are committed; returns their number.

    Counting takes about a fiftieth of the time, so it disturbs little.

    Raises:
        MeasurementError: no progress for 45 seconds, or a worker ended.
    """
    found, last_change = -1, time.monotonic()
    while True:
        began = time.monotonic()
        now_found = effects.count(sql)
        took = time.monotonic() - began
        if now_found >= wanted:
            return now_found
        if now_found != found:
            found, last_change = now_found, time.monotonic()
        elif time.monotonic() - last_change > _STALLED_SECONDS:
            raise MeasurementError(f"stuck at {found} of {wanted} effects for {_STALLED_SECONDS:.0f} s")
        programs.check_running(workers)
        time.sleep(min(max(_SHORTEST_POLL, 50 * took), _LONGEST_POLL))


def wait_until_quiet(sql: Sql, workers: Sequence[processes.ChildProcess]) -> None:
    """Waits until no effect was added for a second and the workers rest, so that no copy is still on its way."""
    pids = [worker.process.pid for worker in workers]
    deadline = time.monotonic() + _STALLED_SECONDS
    before: tuple[int, float] | None = None
    while time.monotonic() < deadline:
        now = effects.count(sql), cpu_seconds(pids)
        if before and before[0] == now[0] and now[1] - before[1] < _IDLE_SHARE * _GATE_QUIET_SECONDS:
            return
        before = now
        time.sleep(_GATE_QUIET_SECONDS)
        programs.check_running(workers)
    raise MeasurementError(f"the workers were still busy after {_STALLED_SECONDS:.0f} s")
