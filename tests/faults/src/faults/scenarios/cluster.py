"""A cluster of three brokers behind a load balancer loses or stops nodes."""

import asyncio
import time
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from chassis.testing import eventually
from faults.playing.recovery import back_in_time, under_way, workers
from faults.playing.scenario import scenario
from faults.playing.world import QUEUE, FaultHarness
from faults.surroundings.cluster import RabbitMqCluster
from faults.surroundings.nodes import RabbitMqServer
from faults.surroundings.processes import WorkerProcess

_PER_SECOND: Final = 40.0
_FROZEN_SECONDS: Final = 40.0
_ELECTED_SECONDS: Final = 5.0
"""How long work may stand still while the nodes that are left choose another leader."""
_FROZEN_STALL_SECONDS: Final = 25.0
"""Peers and clients have to find out that a node stands still: within 15 s on a free machine, 21 s were seen on a busy one. Work
that waits for the node to go on stands still for all of `_FROZEN_SECONDS`."""
_WITHOUT_MAJORITY_SECONDS: Final = 10.0
_PARTED_SECONDS: Final = 20.0
_PARTED_STALL_SECONDS: Final = 15.0
_RESTART_STALL_SECONDS: Final = 10.0
_BACK_SECONDS: Final = 60.0
"""Two nodes that start over their data, on a machine that is busy with much else, and find their queues again."""
_BUDGET_SECONDS: Final = 300.0


@scenario(
    "leader of a cluster killed",
    "SIGKILL to the node of three that leads the queue; the load balancer leads to the two others",
    faults=("leader killed",),
    clustered=True,
    budget=_BUDGET_SECONDS,
)
async def leader_killed(world: FaultHarness) -> None:
    leader = await leader_of(world)
    started = await balanced_workers(world, 3)
    async with world.load(_PER_SECOND):
        await under_way(world, 100)
        await leader.kill()
        world.history.fault("leader killed")
        await under_way(world, 200)
        await back_in_time(world)
    _demand_stall_below(world, _ELECTED_SECONDS, await longest_stall(world))
    assert all(worker.running for worker in started)
    await world.heal()
    await world.submit(50)


@scenario(
    "leader of a cluster frozen",
    f"SIGSTOP for {_FROZEN_SECONDS:g} s to the node of three that leads the queue: its connections stay open",
    faults=("leader frozen",),
    clustered=True,
    budget=_BUDGET_SECONDS,
)
async def leader_frozen(world: FaultHarness) -> None:
    leader = await leader_of(world)
    # Alone, so that nobody makes up for it. One of its two connections is to the leader: the balancer's first.
    await balanced_workers(world, 1)
    async with world.load(_PER_SECOND):
        await under_way(world, 100)
        leader.freeze()
        world.history.fault("leader frozen")
        try:
            await asyncio.sleep(_FROZEN_SECONDS)
        finally:
            leader.thaw()
        await under_way(world, 100)
        _demand_stall_below(world, _FROZEN_STALL_SECONDS, await longest_stall(world))
    await world.heal()
    await back_in_time(world)
    await world.submit(50)


@scenario(
    "majority of a cluster killed",
    f"SIGKILL to two nodes of three; started again after {_WITHOUT_MAJORITY_SECONDS:g} s without a majority",
    faults=("majority killed",),
    clustered=True,
    budget=_BUDGET_SECONDS,
)
async def majority_killed(world: FaultHarness) -> None:
    cluster = _cluster(world)
    started = await balanced_workers(world, 3)
    for node in cluster.nodes:
        await node.remember_queues()
    async with world.load(_PER_SECOND):
        await under_way(world, 100)
        for node in cluster.nodes:
            if node is not cluster.last:
                await node.kill()
        world.history.fault("majority killed")
        # The load balancer has a node to lead to all the while, one that may decide nothing.
        await asyncio.sleep(_WITHOUT_MAJORITY_SECONDS)
        assert all(worker.running for worker in started), "a broker without a majority ended a worker"
        began = time.monotonic()
        await world.heal()
        await under_way(world, 100)
        world.history.note("at work again", seconds=round(time.monotonic() - began, 1))
    await back_in_time(world, within=_BACK_SECONDS)
    await world.submit(50)


@scenario(
    "leader of a cluster cut off",
    f"the node of three that leads the queue is parted from the others for {_PARTED_SECONDS:g} s; clients reach all three",
    faults=("leader cut off",),
    clustered=True,
    budget=_BUDGET_SECONDS,
)
async def leader_cut_off(world: FaultHarness) -> None:
    cluster, leader = _cluster(world), await leader_of(world)
    started = await balanced_workers(world, 3)
    async with world.load(_PER_SECOND):
        await under_way(world, 100)
        await cluster.cut_off(leader)
        world.history.fault("leader cut off")
        try:
            await under_way(world, 100)
            await asyncio.sleep(_PARTED_SECONDS)
        finally:
            await cluster.mend(leader)
        await under_way(world, 100)
        await back_in_time(world)
    _demand_stall_below(world, _PARTED_STALL_SECONDS, await longest_stall(world))
    assert all(worker.running for worker in started)
    await world.heal()
    await world.submit(50)


@scenario(
    "rolling restart of a cluster",
    "each node of three is stopped in order and started again, once no queue needs it for its majority",
    faults=("node restarted",),
    clustered=True,
    budget=_BUDGET_SECONDS,
)
async def rolling_restart(world: FaultHarness) -> None:
    cluster = _cluster(world)
    started = await balanced_workers(world, 3)
    for node in cluster.nodes:
        await node.remember_queues()
    async with world.load(_PER_SECOND):
        await under_way(world, 100)
        for node in cluster.nodes:
            await eventually(partial(cluster.is_spared, node), within=_BACK_SECONDS)
            if node is cluster.last:
                # What submits is connected to this one alone, so work stands still for want of any.
                _demand_stall_below(world, _RESTART_STALL_SECONDS, await longest_stall(world))
            await node.stop()
            if node is not cluster.last:
                await under_way(world, 50)
            await node.start()
            world.history.fault("node restarted")
            await under_way(world, 50)
        await back_in_time(world)
    assert all(worker.running for worker in started)
    await world.heal()
    await world.submit(50)


async def balanced_workers(world: FaultHarness, count: int, **settings: Any) -> list[WorkerProcess]:
    """Workers that reach the cluster through the balancer, which spreads their connections over the nodes."""
    _, url = await world.balancer()
    return await workers(world, count, rabbitmq_url=url, **settings)


def _cluster(world: FaultHarness) -> RabbitMqCluster:
    assert world.servers.cluster is not None
    return world.servers.cluster


async def leader_of(world: FaultHarness) -> RabbitMqServer:
    cluster = _cluster(world)
    vhost = urlsplit(world.rabbitmq_url).path.removeprefix("/")
    leader = await cluster.leader(vhost, QUEUE)
    assert leader is not cluster.last, "what observes must not be hit"
    return leader


async def longest_stall(world: FaultHarness) -> float:
    """Seconds without an effect, or from an effect to the confirm of what it sends, at most."""
    effects = await world.database.fetchval(
        "select max(written_at - before) from"
        " (select written_at, lag(written_at) over (order by written_at) as before from effects) as pairs"
    )
    sending = await world.database.fetchval(
        "select max(gone.at - here.at) from outbox_changes here join outbox_changes gone using (id)"
        " where here.kind = 'insert' and gone.kind = 'delete'"
    )
    found: dict[str, float] = {"effects": effects.total_seconds(), "sending": sending.total_seconds()}
    world.history.note("longest stall", **{name: round(seconds, 2) for name, seconds in found.items()})
    return max(found.values())


def _demand_stall_below(world: FaultHarness, seconds: float, seen: float) -> None:
    world.demand(f"work stood still for {seen:.1f} s, of at most {seconds:g} s", lambda _: seen <= seconds)
