"""Worker processes as many as an autoscaler wants, and what became of their number."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx

from faults.playing.autoscaler import SYNC_SECONDS, Autoscaler, ScalingRules
from faults.playing.world import QUEUE, FaultHarness
from faults.surroundings.processes import WorkerProcess

ADDED: Final = "replica added"
REMOVED: Final = "replica removed"
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class ScaledWorkers:
    """Workers of one queue, started and stopped by an autoscaler whose seconds are shorter.

    Attributes:
        counts: the number of replicas after each change, the first included.
    """

    def __init__(
        self, world: FaultHarness, rules: ScalingRules, hurry: float, settings: dict[str, Any]
    ) -> None:
        self.counts: list[int] = []
        self._world = world
        self._hurry = hurry
        self._settings = settings
        self._autoscaler = Autoscaler(rules)
        self._replicas: list[WorkerProcess] = []
        self._leaving: list[asyncio.Task[int]] = []
        self._cpu: dict[int, tuple[float, float]] = {}

    @classmethod
    @asynccontextmanager
    async def running(
        cls, world: FaultHarness, rules: ScalingRules, *, hurry: float, **settings: Any
    ) -> AsyncIterator["ScaledWorkers"]:
        """Starts with the fewest replicas, and follows the rules until the block ends.

        Args:
            world: whose queue and processes they are.
            rules: of the ScaledObject.
            hurry: how many of the autoscaler's seconds pass in one of ours.
            settings: of each worker.
        """
        # The queue of the probes stands for that of the service.
        triggers = tuple(each for each in rules.triggers if each.name in {QUEUE, "cpu"})
        assert len(triggers) == len(rules.triggers), f"{rules} has a trigger of another queue"
        workers = cls(world, rules, hurry, settings)
        for _ in range(rules.fewest):
            workers._add()
        workers.counts.append(rules.fewest)
        task = asyncio.create_task(workers._follow(), name="autoscaler")
        try:
            yield workers
            assert not task.done(), f"the autoscaler ended: {task.exception()!r}"
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await asyncio.gather(*workers._leaving)

    @property
    def replicas(self) -> int:
        return len(self._replicas)

    async def _follow(self) -> None:
        parts = urlsplit(self._world.rabbitmq_url)
        vhost = quote(parts.path.removeprefix("/"), safe="")
        path = f"/api/queues/{vhost}/{QUEUE}"
        async with httpx.AsyncClient(
            base_url=self._world.servers.management_url, timeout=10, trust_env=False
        ) as api:
            while True:
                await asyncio.sleep(SYNC_SECONDS / self._hurry)
                answer = await api.get(path)
                answer.raise_for_status()
                figures = {QUEUE: float(answer.json().get("messages", 0)), "cpu": self._cores()}
                now = time.monotonic() * self._hurry
                self._bring_to(self._autoscaler.decide(now, len(self._replicas), figures), figures)

    def _bring_to(self, wanted: int, figures: dict[str, float]) -> None:
        if wanted == len(self._replicas):
            return
        self._world.history.note("scaled", before=len(self._replicas), after=wanted, **figures)
        self.counts.append(wanted)
        while len(self._replicas) < wanted:
            self._add()
            self._world.history.fault(ADDED)
        while len(self._replicas) > wanted:
            # The youngest first, as a ReplicaSet does.
            self._leaving.append(asyncio.create_task(self._replicas.pop().terminate()))
            self._world.history.fault(REMOVED)

    def _add(self) -> None:
        self._replicas.append(self._world.start_worker(**self._settings))

    def _cores(self) -> float:
        """That the replicas used since the last time, together."""
        used, now = 0.0, time.monotonic()
        for each in self._replicas:
            with suppress(OSError):
                fields = Path(f"/proc/{each.pid}/stat").read_text().rpartition(")")[2].split()
                seconds = (int(fields[11]) + int(fields[12])) / _TICKS
                before, at = self._cpu.get(each.pid, (seconds, now - 1))
                used += max(seconds - before, 0.0) / max(now - at, 1e-3)
                self._cpu[each.pid] = seconds, now
        return used


def from_one(rules: ScalingRules) -> ScalingRules:
    """The same with one replica at the least, as in an installation of size S."""
    return replace(rules, fewest=1)
