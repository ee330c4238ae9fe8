"""The programs that are measured. All speak the same protocol, ours too.

`PROGRAM prepare`     makes its own tables and queues from scratch
`PROGRAM fill FILE`   enqueues every line of FILE, one JSON envelope each, in order; ends when all are accepted
`PROGRAM work`        one worker process: prints the line `ready` once it can consume, works until SIGTERM
`PROGRAM feed R S`    only where `benchmarks.load.feeder` cannot do it: enqueues R messages a second for S seconds

`DATABASE_URL`, `RABBITMQ_URL` and `TIER` (T0, T1, T2) come from the environment; ours works as the role of `RUNTIME_URL`.
Each handled message leaves one row in the table `effects`, which the frame has made.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.errors import MeasurementError
from benchmarks.servers.nodes import FreshServers
from brandctl.local import processes

WORKERS: Final = 2
"""Worker processes, for every system."""
READY_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 15.0
_PREPARE_SECONDS: Final = 60.0
FILL_SECONDS: Final = 900.0


@dataclass(frozen=True, slots=True)
class System:
    """A program, and its kind in the comparison."""

    name: str
    command: tuple[str, ...]
    kind: str
    """`ours`, `loop` (a bare client loop), `broker` (a library on RabbitMQ) or `database` (a library on PostgreSQL)."""
    guess: float
    """Expected messages per second; it sets the size of the first run only, which then measures better."""
    tiers: tuple[str, ...] = ("T2",)
    environment: Mapping[str, str] = field(default_factory=dict)
    feeding: str = ""
    """How it gets messages on a schedule: a form of `benchmarks.load.feeder`, `itself`, or not at all."""


@dataclass(frozen=True, slots=True)
class Program:
    """A system with its database and vhost, at a tier."""

    system: System
    place: FreshServers
    tier: str
    folder: Path

    def prepare(self) -> None:
        self._run("prepare", within=_PREPARE_SECONDS)

    def fill(self, path: Path) -> None:
        self._run("fill", str(path), within=FILL_SECONDS)

    def start_worker(self, number: int) -> processes.ChildProcess:
        name = f"{self.system.name}-{self.tier}-{number}"
        log = self.folder / f"{name}-{time.monotonic_ns()}.log"
        return processes.start(name, [*self.system.command, "work"], log=log, env=self.environment())

    def environment(self) -> dict[str, str]:
        own = {"TIER": self.tier, "PYTHONUNBUFFERED": "1"}
        return {**os.environ, **self.place.environment(), **own, **self.system.environment}

    def _run(self, *arguments: str, within: float) -> None:
        prefix = processes.as_user(None, signal.SIGTERM)
        try:
            done = subprocess.run(
                [*prefix, *self.system.command, *arguments],
                check=False,
                capture_output=True,
                text=True,
                env=self.environment(),
                timeout=within,
                cwd="/",
            )
        except subprocess.TimeoutExpired as error:
            raise MeasurementError(
                f"{self.system.name}: {arguments[0]} took more than {within:.0f} s"
            ) from error
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip()[-1500:]
            raise MeasurementError(
                f"{self.system.name}: {arguments[0]} ended with code {done.returncode}:\n{said}"
            )


@contextmanager
def workers(program: Program, count: int = WORKERS) -> Iterator[list[processes.ChildProcess]]:
    """Starts worker processes without waiting for them; the end of the block stops all in the list."""
    running: list[processes.ChildProcess] = []
    try:
        running += [program.start_worker(number) for number in range(1, count + 1)]
        yield running
    finally:
        for worker in running:
            worker.ask_to_stop()
        for worker in running:
            worker.stop(None, grace=_STOP_SECONDS)


def wait_until_ready(workers: Sequence[processes.ChildProcess]) -> None:
    """Waits for the line `ready` of each.

    Raises:
        MeasurementError: one ended, or said nothing in time.
    """
    for worker in workers:
        try:
            worker.wait_until(lambda worker=worker: says_ready(worker), within=READY_SECONDS)  # type: ignore[misc]
        except processes.StartError as error:
            raise MeasurementError(str(error)) from error


def says_ready(worker: processes.ChildProcess) -> bool:
    with worker.log.open("rb") as log:
        return any(line.strip() == b"ready" for line in log)


def kill(worker: processes.ChildProcess) -> None:
    """Kills the worker and all its children with SIGKILL, as the kernel does when memory runs out."""
    os.killpg(worker.process.pid, signal.SIGKILL)
    worker.process.wait()


def check_running(workers: Sequence[processes.ChildProcess]) -> None:
    """Raises MeasurementError with the end of its log if a worker has ended."""
    for worker in workers:
        if not worker.running:
            raise MeasurementError(
                f"{worker.name} ended with code {worker.process.returncode}:\n{worker.log_tail()}"
            )


def ours(shape: str = "drain", **environment: str) -> System:
    """Our worker in one of its shapes: `drain`, `outbox` or `single`."""
    guess = {"drain": 10_000.0, "outbox": 5_000.0, "single": 1_500.0}[shape]
    command = (sys.executable, "-m", "benchmarks.systems.worker")
    return System("ours", command, "ours", guess, environment={"SHAPE": shape, **environment}, feeding="ours")
