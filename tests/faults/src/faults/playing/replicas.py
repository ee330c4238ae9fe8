"""Two orchestrators side by side, to be killed one after the other."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from brandctl.local import processes, services
from chassis.testing import eventually
from faults.playing.stack import CORPUS, KEY
from faults.playing.world import FaultHarness

KILLED: Final = "orchestrator killed"


class OrchestratorReplicas:
    """Two orchestrators on one database.

    Attributes:
        urls: where their APIs answer.
    """

    def __init__(
        self, world: FaultHarness, environments: Sequence[dict[str, str]], urls: Sequence[str]
    ) -> None:
        self.urls = urls
        self._world = world
        self._environments = environments
        self._children: list[processes.ChildProcess] = []
        self._next = 0

    @classmethod
    @asynccontextmanager
    async def running(
        cls, world: FaultHarness, database_url: str, **variables: str
    ) -> AsyncIterator["OrchestratorReplicas"]:
        """`variables` are set for both of them."""
        both = [services.choose_addresses() for _ in range(2)]
        environments = [
            services.environment(
                "orchestrator",
                addresses=addresses,
                rabbitmq_url=world.rabbitmq_url,
                database_url=database_url,
                service_key=KEY,
                corpus=CORPUS,
            )
            | variables
            for addresses in both
        ]
        replicas = cls(world, environments, [addresses.url("orchestrator") for addresses in both])
        try:
            for number in range(len(environments)):
                replicas._children.append(replicas._start(number))
            yield replicas
        finally:
            await asyncio.to_thread(services.stop, replicas._children)

    async def kill_and_start(self) -> None:
        """Kills the replica that was not killed last time and starts it again; the other one keeps running."""
        number, self._next = self._next, 1 - self._next
        process = self._children[number].process
        await self.at_work(number)
        process.kill()
        await asyncio.to_thread(process.wait)
        self._world.history.fault(KILLED)
        self._children[number] = self._start(number)

    async def start_again(self, number: int) -> None:
        """One that was killed by a fail point of its own."""
        process = self._children[number].process
        await asyncio.to_thread(process.wait)
        self._world.history.fault(KILLED)
        self._children[number] = self._start(number)
        await self.at_work(number)

    def _start(self, number: int) -> processes.ChildProcess:
        logs = self._world.folder / f"orchestrator-{number}-{time.monotonic_ns()}"
        return services.start("orchestrator", self._environments[number], logs)

    async def at_work(self, number: int) -> None:
        """Waits until it is."""
        child = self._children[number]

        def started() -> bool:
            return child.log.exists() and "service_started" in child.log.read_text()

        await eventually(started, within=services.READY_WITHIN_SECONDS)
