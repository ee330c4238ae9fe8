"""Worker processes: started, asked, stopped, continued and killed."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx

from brandctl.local import ports
from brandctl.local import processes as children
from chassis.testing import eventually
from faults.judging.history import CommandHistory

_STOP_SECONDS: Final = 30.0


class WorkerProcess:
    """One process of `faults.workers.worker`, or of any service with health routes."""

    def __init__(self, name: str, child: children.ChildProcess, port: int, history: CommandHistory) -> None:
        self.name = name
        self.port = port
        self._child = child
        self._history = history
        self.would_not_stop = False
        """Whether SIGTERM was not enough."""

    @property
    def pid(self) -> int:
        return self._child.process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended; a stopped one has not."""
        return self._child.running

    @property
    def stopped(self) -> bool:
        """Whether SIGSTOP holds it."""
        try:
            status = Path(f"/proc/{self.pid}/stat").read_text()
        except OSError:
            return False
        return status.rpartition(")")[2].split()[0] == "T"

    @property
    def exit_code(self) -> int | None:
        """As `subprocess` has it: minus the number of the signal that ended it; None while it runs."""
        return self._child.process.poll()

    async def ready(self, within: float = 60.0) -> None:
        """Waits until its readiness probe is green.

        Raises:
            StartError: it ended first; with the end of its log.
        """
        await eventually(self._is_ready, within=within)

    async def problems(self) -> dict[str, str]:
        """What its readiness probe complains about; `process` if it does not even answer."""
        async with httpx.AsyncClient(timeout=5, trust_env=False) as client:
            try:
                answer = await client.get(f"http://{ports.LOOPBACK}:{self.port}/health/ready")
            except httpx.TransportError as error:
                return {"process": repr(error)}
        return {} if answer.status_code == httpx.codes.OK else dict(answer.json()["problems"])

    async def in_hand(self) -> int:
        """Returns the number of received and unsettled deliveries; 0 if the worker does not answer."""
        if not self.running or self.stopped:
            return 0
        async with httpx.AsyncClient(timeout=5, trust_env=False) as client:
            try:
                answer = await client.get(f"http://{ports.LOOPBACK}:{self.port}/in-hand")
            except httpx.TransportError:
                return 0
        return int(answer.text) if answer.status_code == httpx.codes.OK else 0

    async def struck(self, within: float = 60.0) -> None:
        """Waits until a fail point or a message has ended it by a signal, or stopped it; tells the history."""
        await eventually(lambda: self.stopped or not self.running, within=within)
        if self.stopped:
            self._history.fault("stop")
            return
        assert self.exit_code is not None
        assert self.exit_code < 0, (
            f"{self.name} ended by itself with code {self.exit_code}:\n{self.log_tail()}"
        )
        self._history.fault("kill")

    async def kill(self) -> None:
        """SIGKILL, as by the kernel when memory runs out: no handler, no goodbye. Fault `kill`."""
        if self.running:
            self._child.process.kill()
            await self._ended()
            self._history.fault("kill")

    def stop(self) -> None:
        """Stops the process by SIGSTOP. Fault `stop`."""
        os.kill(self.pid, signal.SIGSTOP)
        self._history.fault("stop")

    def resume(self) -> None:
        """SIGCONT, after `stop` or a fail point that stops."""
        if self.running:
            os.kill(self.pid, signal.SIGCONT)

    async def terminate(self, within: float = _STOP_SECONDS) -> int:
        """SIGTERM, and waits; returns the exit code. Past the time it is killed."""
        self.resume()
        self._child.ask_to_stop()
        try:
            await self._ended(within)
        except AssertionError:
            self.would_not_stop = True
            self._child.process.kill()
            await self._ended()
        code = self.exit_code
        assert code is not None
        return code

    def log_lines(self) -> list[str]:
        return self._child.log.read_text(errors="replace").splitlines() if self._child.log.exists() else []

    def log_tail(self) -> str:
        return self._child.log_tail()

    async def _ended(self, within: float = 10.0) -> None:
        await eventually(lambda: not self.running, within=within)

    async def _is_ready(self) -> bool:
        if not self.running:
            raise children.StartError(
                f"{self.name} ended with code {self.exit_code} while starting:\n{self.log_tail()}"
            )
        return not await self.problems()


def start(
    name: str,
    module: str,
    environment: Mapping[str, str],
    logs: Path,
    history: CommandHistory,
    *,
    port: int | None = None,
) -> WorkerProcess:
    """Starts `python -m module`, from the main thread, without waiting for it; it dies with this process.

    `port`: where one that is gone by now was asked; None: a free one.
    """
    port = port or ports.free_port()
    inherited = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL", "HOME") if key in os.environ}
    env = {
        **inherited,
        "PYTHONUNBUFFERED": "1",
        "NO_PROXY": f"{ports.LOOPBACK},localhost",
        "HTTP_PORT": str(port),
        **environment,
    }
    child = children.start(name, [sys.executable, "-m", module], log=logs / f"{name}.log", env=env)
    return WorkerProcess(name, child, port, history)


async def terminate_all(workers: list[WorkerProcess]) -> None:
    await asyncio.gather(*(worker.terminate() for worker in workers if worker.running))
