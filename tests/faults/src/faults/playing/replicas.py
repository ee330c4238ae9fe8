"""Two orchestrators on one database, killed one after the other."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from brandctl.local import processes, services
from chassis.testing import eventually
from faults.playing.stack import CORPUS, KEY
from faults.playing.world import World

KILLED: Final = "orchestrator killed"


class Replicas:
    """Two orchestrators on one database."""

    def __init__(self, world: World, environments: Sequence[dict[str, str]], urls: Sequence[str]) -> None:
        self._world = world
        self._environments = environments
        self.urls = urls
        """Of their APIs."""
        self._children: list[processes.Child] = []
        self._next = 0

    @classmethod
    @asynccontextmanager
    async def running(cls, world: World, database_url: str) -> AsyncIterator["Replicas"]:
        places = [services.choose_addresses() for _ in range(2)]
        environments = [
            services.environment(
                "orchestrator",
                addresses=addresses,
                rabbitmq_url=world.rabbitmq_url,
                database_url=database_url,
                service_key=KEY,
                corpus=CORPUS,
            )
            for addresses in places
        ]
        replicas = cls(world, environments, [each.url("orchestrator") for each in places])
        try:
            for number in range(len(environments)):
                replicas._children.append(replicas._start(number))
            yield replicas
        finally:
            await asyncio.to_thread(services.stop, replicas._children)

    async def kill_and_start(self) -> None:
        """The one that was not killed the last time, once it works; the other goes on meanwhile."""
        number, self._next = self._next, 1 - self._next
        process = self._children[number].process
        await self._at_work(number)
        process.kill()
        await asyncio.to_thread(process.wait)
        self._world.history.fault(KILLED)
        self._children[number] = self._start(number)

    def _start(self, number: int) -> processes.Child:
        logs = self._world.folder / f"orchestrator-{number}-{time.monotonic_ns()}"
        return services.start("orchestrator", self._environments[number], logs)

    async def _at_work(self, number: int) -> None:
        child = self._children[number]

        def started() -> bool:
            return child.log.exists() and "service_started" in child.log.read_text()

        await eventually(started, within=services.READY_WITHIN_SECONDS)
