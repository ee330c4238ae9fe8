"""Random faults under load: combinations beyond the scenarios, mostly two or three at a time.

Three lanes break things side by side: the workers, the way to the broker with the broker itself, and the same for the
database. What happens in a lane, and how long it lasts, comes from the seed alone; how the lanes meet, from the machine.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from chassis.testing import Direction, TcpProxy
from faults.playing.recovery import COMMITTED, back_in_time, under_way
from faults.playing.scenario import Scenario
from faults.playing.world import FaultHarness
from faults.surroundings.nodes import PostgresServer, RabbitMqServer, Resource
from faults.surroundings.processes import WorkerProcess

_REPLICAS: Final = 3
_PER_SECOND: Final = 60.0
_MIX: Final = {"ok": 300, "slow:0.1": 5, "fail:1": 15, "fail:2": 5, "poison": 2, "refuse": 2}
_CALM_SECONDS: Final = (0.5, 5.0)
_FAULT_SECONDS: Final = (0.5, 8.0)
_SPARE_SECONDS: Final = 300.0
"""For nodes to start, for what is under way when time is up, and for the work to come to rest."""
_PATIENCE_SECONDS: Final = 45.0
"""Longer than a worker pauses at most before it looks for its database again."""


@dataclass
class FaultTargets:
    """Everything that random faults can break."""

    world: FaultHarness
    broker: RabbitMqServer
    database: PostgresServer
    to_broker: TcpProxy
    to_database: TcpProxy
    settings: dict[str, str]
    replicas: list[WorkerProcess] = field(default_factory=list)

    @asynccontextmanager
    async def kept_up(self) -> AsyncIterator[None]:
        """So many replicas, each replaced when it has ended."""
        keepers = [asyncio.create_task(self._keep()) for _ in range(_REPLICAS)]
        try:
            yield
        finally:
            for keeper in keepers:
                keeper.cancel()
            for keeper in keepers:
                with suppress(asyncio.CancelledError):
                    await keeper

    async def _keep(self) -> None:
        while True:
            worker = self.world.start_worker(**self.settings)
            self.replicas.append(worker)
            while worker.running:  # noqa: ASYNC110  (no event tells of another process)
                await asyncio.sleep(0.1)
            self.replicas.remove(worker)


Break = Callable[[FaultTargets, random.Random, float], Awaitable[None]]
"""Breaks something for so many seconds and puts it right again."""


# -- workers -----------------------------------------------------------------------------------------------------------


async def _kill_worker(ground: FaultTargets, rng: random.Random, _: float) -> None:
    if ground.replicas:
        await rng.choice(ground.replicas).kill()


async def _stop_worker(ground: FaultTargets, rng: random.Random, seconds: float) -> None:
    if ground.replicas:
        worker = rng.choice(ground.replicas)
        if worker.running:
            worker.stop()
            await asyncio.sleep(seconds)
            worker.resume()


async def _terminate_worker(ground: FaultTargets, rng: random.Random, _: float) -> None:
    if ground.replicas:
        worker = rng.choice(ground.replicas)
        if worker.running:
            await worker.terminate()


# -- proxies -----------------------------------------------------------------------------------------------------------


async def _reset(proxy: TcpProxy, rng: random.Random, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        proxy.reset()
        await asyncio.sleep(rng.uniform(0.05, 1.0))


async def _cut(proxy: TcpProxy, _: random.Random, seconds: float) -> None:
    proxy.cut()
    await asyncio.sleep(seconds)


async def _black_hole(proxy: TcpProxy, rng: random.Random, seconds: float) -> None:
    towards = rng.choice([[Direction.SERVER], [Direction.CLIENT], list(Direction)])
    proxy.black_hole(towards=towards, lose=rng.random() < 0.5)
    await asyncio.sleep(2 * seconds)


async def _delay(proxy: TcpProxy, rng: random.Random, seconds: float) -> None:
    delay = rng.uniform(0.005, 0.3)
    proxy.delay(delay, jitter=rng.uniform(0, delay))
    await asyncio.sleep(seconds)


async def _cut_after(proxy: TcpProxy, rng: random.Random, seconds: float) -> None:
    proxy.cut_after(rng.randrange(100, 100_000), towards=[rng.choice(list(Direction))])
    await asyncio.sleep(seconds)


async def _lose_commit(proxy: TcpProxy, _: random.Random, seconds: float) -> None:
    proxy.strike(COMMITTED, towards=Direction.CLIENT)
    await asyncio.sleep(seconds)


Spoil = Callable[[TcpProxy, random.Random, float], Awaitable[None]]


async def _on_the_way_to_broker(
    spoil: Spoil, ground: FaultTargets, rng: random.Random, seconds: float
) -> None:
    await spoil(ground.to_broker, rng, seconds)
    ground.to_broker.mend()


async def _on_the_way_to_database(
    spoil: Spoil, ground: FaultTargets, rng: random.Random, seconds: float
) -> None:
    await spoil(ground.to_database, rng, seconds)
    ground.to_database.mend()


_WAYS: Final[Mapping[str, Spoil]] = {
    "resets": _reset,
    "cut": _cut,
    "black hole": _black_hole,
    "delay": _delay,
    "cut after some bytes": _cut_after,
}


# -- nodes -------------------------------------------------------------------------------------------------------------


async def _kill_broker(ground: FaultTargets, _: random.Random, seconds: float) -> None:
    await ground.broker.kill()
    await asyncio.sleep(seconds)
    await ground.broker.start()


async def _restart_broker(ground: FaultTargets, _: random.Random, seconds: float) -> None:
    await ground.broker.stop()
    await asyncio.sleep(seconds)
    await ground.broker.start()


async def _freeze_broker(ground: FaultTargets, _: random.Random, seconds: float) -> None:
    ground.broker.freeze()
    await asyncio.sleep(2 * seconds)
    ground.broker.thaw()


async def _alarm(resource: Resource, ground: FaultTargets, _: random.Random, seconds: float) -> None:
    await ground.broker.raise_alarm(resource)
    await asyncio.sleep(2 * seconds)
    await ground.broker.clear_alarm(resource)


async def _kill_database(ground: FaultTargets, _: random.Random, seconds: float) -> None:
    await ground.database.kill()
    await asyncio.sleep(seconds)
    await ground.database.start()


async def _restart_database(ground: FaultTargets, _: random.Random, seconds: float) -> None:
    await ground.database.stop()
    await asyncio.sleep(seconds)
    await ground.database.start()


async def _demote_database(ground: FaultTargets, _: random.Random, seconds: float) -> None:
    await ground.database.demote()
    await asyncio.sleep(seconds)
    await ground.database.promote()


_LANES: Final[Mapping[str, Mapping[str, Break]]] = {
    "workers": {
        "worker killed": _kill_worker,
        "worker stopped": _stop_worker,
        "worker asked to end": _terminate_worker,
    },
    "broker": {
        "broker killed": _kill_broker,
        "broker restarted": _restart_broker,
        "broker frozen": _freeze_broker,
        "memory alarm": partial(_alarm, "memory"),
        "disk alarm": partial(_alarm, "disk"),
        **{f"{name} before the broker": partial(_on_the_way_to_broker, way) for name, way in _WAYS.items()},
    },
    "database": {
        "database killed": _kill_database,
        "database restarted": _restart_database,
        "database demoted": _demote_database,
        "commit replies lost": partial(_on_the_way_to_database, _lose_commit),
        **{
            f"{name} before the database": partial(_on_the_way_to_database, way)
            for name, way in _WAYS.items()
        },
    },
}


# -- the play ----------------------------------------------------------------------------------------------------------


def scenario_of(minutes: float) -> Scenario:
    """Makes a scenario of random faults that lasts the given minutes."""
    return Scenario(
        name="random",
        breaks=f"whatever the seed says, for {minutes:g} min",
        play=partial(_play, minutes * 60),
        faults=("random fault",),
        own_nodes=True,
        budget=minutes * 60 + _SPARE_SECONDS,
    )


async def _play(seconds: float, world: FaultHarness) -> None:
    world.patience = _PATIENCE_SECONDS
    ground = await _laid_out(world)
    seed = world.rng.randrange(1 << 32)
    began = time.monotonic()
    async with ground.kept_up():
        async with world.load(_PER_SECOND, _MIX), asyncio.TaskGroup() as lanes:
            await under_way(world, 50)
            for name, faults in _LANES.items():
                rng = random.Random(f"{seed} {name}")
                lanes.create_task(_go_on(ground, faults, rng, began, began + seconds), name=name)
        await world.heal()
        await back_in_time(world, within=2 * _PATIENCE_SECONDS)


async def _laid_out(world: FaultHarness) -> FaultTargets:
    assert world.servers.broker is not None
    assert world.servers.database is not None
    await world.servers.broker.remember_queues()
    to_broker, rabbitmq_url = await world.proxy("broker")
    to_database, database_url = await world.proxy("database")
    settings = {"rabbitmq_url": rabbitmq_url, "database_url": database_url}
    return FaultTargets(world, world.servers.broker, world.servers.database, to_broker, to_database, settings)


async def _go_on(
    ground: FaultTargets, faults: Mapping[str, Break], rng: random.Random, began: float, until: float
) -> None:
    history = ground.world.history
    while True:
        await asyncio.sleep(rng.uniform(*_CALM_SECONDS))
        if time.monotonic() > until:
            return
        what, lasting = rng.choice(list(faults)), rng.uniform(*_FAULT_SECONDS)
        print(f"  {time.monotonic() - began:7.1f} s  {what} ({lasting:.1f})", flush=True)
        history.note("breaking", fault=what, seconds=round(lasting, 1))
        await faults[what](ground, rng, lasting)
        history.fault("random fault")
        history.fault(what)
