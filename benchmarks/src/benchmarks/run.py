"""The context of a scenario."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from benchmarks.reporting.results import ResultRow
from benchmarks.servers.nodes import Nodes
from benchmarks.systems.programs import System

SizeT = TypeVar("SizeT")


@dataclass(slots=True)
class BenchmarkRun:
    """One call of `python -m benchmarks`."""

    nodes: Nodes
    output: Path
    """The folder for files beside the figures."""
    full: bool
    systems: Sequence[System]
    """The systems to compare with, ours first."""
    chain_systems: Sequence[System] = ()
    """Those that can be compared where each message leads to another."""
    wanted_rounds: int | None = None
    with_gate: bool = True
    wanted_messages: int | None = None
    gates: dict[str, str] = field(default_factory=dict)
    """Results of checks by subject: the same program with the same work is checked once."""
    began: float = field(default_factory=time.monotonic)

    @property
    def rounds(self) -> int:
        return self.wanted_rounds or (5 if self.full else 1)

    def of(self, quick: SizeT, full: SizeT) -> SizeT:
        """The size for this kind of run."""
        return full if self.full else quick

    worker_memory: dict[str, float] | None = None
    """Memory of a worker, from a scenario with enough messages."""

    def gate_of(self, what: str, judge: Callable[[], str]) -> str:
        """The result of the check of `what`, from now or from earlier in this run."""
        if not self.with_gate:
            return "skipped: not asked for"
        if what not in self.gates:
            self.gates[what] = judge()
            self.log(f"gate {what}: {self.gates[what]}")
        return self.gates[what]

    def keep(self, name: str, text: str) -> None:
        self.output.mkdir(parents=True, exist_ok=True)
        (self.output / name).write_text(text)

    def log(self, text: str) -> None:
        """Prints a line of progress."""
        elapsed = int(time.monotonic() - self.began)
        print(f"[{elapsed // 60:02d}:{elapsed % 60:02d}] {text}", flush=True)


Scenario = Callable[[BenchmarkRun], Sequence[ResultRow]]
Scenarios = Mapping[str, Scenario]
