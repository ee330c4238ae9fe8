"""The network swallows, delays, resets and cuts off what runs between a worker and its servers."""

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from chassis.database.pool import STATEMENT_SECONDS
from chassis.testing import Direction, TcpProxy, eventually
from faults.playing.recovery import (
    BACK_SECONDS,
    back_in_time,
    complains,
    consumers,
    tells,
    told,
    under_way,
    workers,
)
from faults.playing.scenario import REGISTRY, Scenario, scenario
from faults.playing.world import FaultHarness
from faults.surroundings.processes import WorkerProcess
from messaging.broker.publisher import CONFIRM_SECONDS

_HOLE_SECONDS: Final = 90.0
"""Longer than every bound of ours: 4 to 16 s for a confirm, 30 s for a statement, three missed heartbeats of 20 s."""
_SLACK_SECONDS: Final = 15.0
"""For two cores that are busy with much else."""
_STORM_SECONDS: Final = 12


async def broker_black_hole(towards: Sequence[Direction], world: FaultHarness) -> None:
    proxy, url = await world.proxy("broker")
    worker = await world.worker(rabbitmq_url=url)
    async with world.load(20):
        await under_way(world, 20)
        # Work in hand when it begins, whose events then leave into it.
        in_hand = await world.submit({"slow:0.5": 4})
        await asyncio.sleep(0.5)
        proxy.black_hole(towards=towards)
        hole = asyncio.create_task(stays_responsive(worker, _HOLE_SECONDS))
        await eventually(lambda: world.effects_at_least(20 + len(in_hand)))
        began = time.monotonic()
        await eventually(lambda: gives_up(worker), within=CONFIRM_SECONDS + _SLACK_SECONDS)
        world.history.note("connection given up", seconds=round(time.monotonic() - began, 1))
        world.history.fault("black hole")
        await complains(worker, "broker", within=_SLACK_SECONDS)
        await hole
    await world.heal()
    await back_in_time(world)
    await world.submit(50)


def gives_up(worker: WorkerProcess) -> bool:
    """Whether it has left a connection: no confirm came, or no answer to what its pulse asked; whichever was sooner."""
    return any(any(told(worker, event)) for event in ("publish_not_confirmed", "broker_silent"))


async def database_black_hole(towards: Sequence[Direction], world: FaultHarness) -> None:
    proxy, url = await world.proxy("database")
    worker = await world.worker(database_url=url)
    async with world.load(20):
        await under_way(world, 20)
        proxy.black_hole(towards=towards)
        hole = asyncio.create_task(stays_responsive(worker, _HOLE_SECONDS))
        await complains(worker, "database", within=2 * _SLACK_SECONDS)
        took = await tells(worker, "consumption_paused", within=STATEMENT_SECONDS + 2 * _SLACK_SECONDS)
        world.history.note("statement given up", seconds=round(took, 1))
        world.history.fault("black hole")
        await hole
    await world.heal()
    await back_in_time(world)
    await world.submit(50)


async def stays_responsive(worker: WorkerProcess, seconds: float) -> None:
    """Its HTTP side answers all the while: nothing waits inside the event loop."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        problems = await worker.problems()
        assert "process" not in problems, f"{worker.name} does not answer: {problems['process']}"
        await asyncio.sleep(1)


_HOLES: Final = {
    "towards the broker": (broker_black_hole, [Direction.SERVER]),
    "from the broker": (broker_black_hole, [Direction.CLIENT]),
    "towards the database": (database_black_hole, [Direction.SERVER]),
    "from the database": (database_black_hole, [Direction.CLIENT]),
}
for _where, (_play, _towards) in _HOLES.items():
    REGISTRY[f"black hole {_where}"] = Scenario(
        f"black hole {_where}",
        f"for {_HOLE_SECONDS:g} s connections stay open and nothing arrives {_where}",
        partial(_play, _towards),
        ("black hole", "proxy.held"),
        budget=_HOLE_SECONDS + 150,
    )


@scenario(
    "forgotten connections",
    "a firewall between the worker and both servers drops what it forgot, then answers with resets",
    faults=("proxy.lost", "proxy.reset"),
)
async def forgotten_connections(world: FaultHarness) -> None:
    proxies, _ = await behind_proxies(world)
    async with world.load(100):
        await under_way(world, 100)
        for proxy in proxies:
            proxy.black_hole(lose=True)
        await eventually(lambda: all(proxy.fired["lost"] for proxy in proxies))
        await asyncio.sleep(10)
    await world.heal()
    await back_in_time(world)
    await world.submit(50)


@scenario(
    "delay and jitter",
    "everything between the workers and both servers takes 40 ms longer, give or take 30",
    faults=("proxy.delayed",),
)
async def delay_and_jitter(world: FaultHarness) -> None:
    proxies, started = await behind_proxies(world, 2)
    for proxy in proxies:
        proxy.delay(0.04, jitter=0.03)
    async with world.load(150, {"ok": 20, "fail:1": 1}):
        await under_way(world, 1000)
    assert not any(any(told(worker, "consumption_paused")) for worker in started), "slow is not away"
    await world.heal()


@scenario(
    "reset storm",
    "every connection is reset again and again, now those to the broker, now those to the database",
    faults=("proxy.reset",),
    fast=True,
)
async def reset_storm(world: FaultHarness) -> None:
    proxies, _ = await behind_proxies(world, 2)
    until = time.monotonic() + world.count(_STORM_SECONDS, fast=3)
    async with world.load(100, {"ok": 20, "fail:1": 1}):
        while time.monotonic() < until:
            world.rng.choice(proxies).reset()
            await asyncio.sleep(world.rng.uniform(0.05, 0.8))
    await world.heal()
    await back_in_time(world)
    # A consumer too many is one that its worker knows nothing of: it would take messages and never settle them.
    await eventually(lambda: one_consumer_each(world, 2))


async def one_consumer_each(world: FaultHarness, count: int) -> bool:
    found = await consumers(world)
    world.history.note("consumers", found=found)
    return found == count


@scenario(
    "a peer that accepts and closes",
    "in the place of the broker stands a load balancer without a living one: it takes connections and closes them",
    faults=("proxy.closed",),
)
async def accepted_and_closed(world: FaultHarness) -> None:
    proxy, url = await world.proxy("broker")
    (running,) = await workers(world, 1, rabbitmq_url=url)
    async with world.load(100):
        await under_way(world, 50)
        proxy.close_at_once()
        starting = world.start_worker(rabbitmq_url=url)
        # Each has two connections, and tries both again and again.
        for worker in (running, starting):
            await tells(worker, "broker_unavailable", within=BACK_SECONDS, times=3)
        await eventually(lambda: proxy.fired["closed"] > 20)
        assert all(worker.running for worker in (running, starting)), "they wait, and do not end"
    await world.heal()
    await back_in_time(world)
    await world.submit(50)


@scenario(
    "cut after so many bytes",
    "connections break off in the middle of a frame, each after a random number of bytes",
    faults=("proxy.cut_after",),
)
async def cut_after_bytes(world: FaultHarness) -> None:
    proxies, _ = await behind_proxies(world, 2)
    until = time.monotonic() + _STORM_SECONDS
    async with world.load(100, {"ok": 20, "fail:1": 1}):
        await under_way(world, 50)
        while time.monotonic() < until:
            for proxy in proxies:
                proxy.cut_after(world.rng.randrange(200, 40_000), towards=[world.rng.choice(list(Direction))])
            await asyncio.sleep(1)
    await world.heal()
    await back_in_time(world)


async def behind_proxies(
    world: FaultHarness, count: int = 1
) -> tuple[tuple[TcpProxy, TcpProxy], list[WorkerProcess]]:
    """Workers that reach both servers through proxies only; the proxies are to broker and database."""
    to_broker, rabbitmq_url = await world.proxy("broker")
    to_database, database_url = await world.proxy("database")
    started = await workers(world, count, rabbitmq_url=rabbitmq_url, database_url=database_url)
    return (to_broker, to_database), started
