"""The broker goes away, forgets its or will take nothing more."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from chassis.testing import eventually
from envelope.brand import CATALOGUE
from faults.judging import recorder
from faults.playing.recovery import (
    back_in_time,
    complains,
    in_outbox,
    tells,
    told,
    under_way,
    workers,
)
from faults.playing.scenario import scenario
from faults.playing.world import QUEUE, FaultHarness
from faults.surroundings.nodes import RabbitMqServer, Resource
from faults.surroundings.processes import WorkerProcess
from faults.workload import commands
from messaging import topology
from messaging.broker.publisher import CONFIRM_SECONDS

_PER_SECOND = 150.0
_FROZEN_SECONDS = 25.0
_FROZEN_NOTICED_SECONDS = 5.0
_FROZEN_LEFT_SECONDS = 12.0
"""Silence for five seconds, asked for every two, on two cores that have other work."""
_NOTICED_SECONDS = 60.0
"""A queue that is gone must be known by then, or consumed again."""


def broker_of(world: FaultHarness) -> RabbitMqServer:
    assert world.servers.broker is not None
    return world.servers.broker


@scenario(
    "broker restart",
    "the broker is stopped in order and started again, under load",
    faults=("broker stopped",),
    own_nodes=True,
)
async def broker_restart(world: FaultHarness) -> None:
    broker = broker_of(world)
    first, _ = await workers(world, 2)
    async with world.load(_PER_SECOND):
        await under_way(world, 100)
        await broker.stop()
        world.history.fault("broker stopped")
        await complains(first, "broker")
    await world.heal()
    await back_in_time(world)
    await world.submit(100)


@scenario(
    "broker killed during confirms",
    "SIGKILL to the broker, once in full flow and once with publishes it has not confirmed",
    faults=("broker killed", "confirms withheld"),
    own_nodes=True,
)
async def broker_killed_during_confirms(world: FaultHarness) -> None:
    broker = broker_of(world)
    await broker.remember_queues()
    await workers(world, 2)
    async with world.load(_PER_SECOND):
        await under_way(world, 100)
        await broker.kill()
        world.history.fault("broker killed")
        await broker.start()
        await back_in_time(world)
        await under_way(world, 100)
        # It stands still with publishes on their way to it, and dies without having said a word about them.
        broker.freeze()
        before = len(world.history.in_doubt)
        await eventually(lambda: len(world.history.in_doubt) > before)
        world.history.fault("confirms withheld", len(world.history.in_doubt) - before)
        await broker.kill()
        world.history.fault("broker killed")
    await world.heal()
    await back_in_time(world)
    await world.submit(100)
    world.demand(
        "a worker saw publishes end without a confirm",
        lambda seen: (
            seen.logged.get("publish_not_confirmed", 0) + seen.logged.get("broker_unavailable", 0) > 0
        ),
    )


@scenario(
    "frozen broker",
    f"SIGSTOP to the broker for {_FROZEN_SECONDS:g} s, and again while nothing is to be done: connections stay open",
    faults=("broker frozen",),
    own_nodes=True,
)
async def frozen_broker(world: FaultHarness) -> None:
    broker = broker_of(world)
    busy, idle = await workers(world, 1), await workers(world, 1, queue=commands.ORCHESTRATOR)
    async with world.load(_PER_SECOND):
        await under_way(world, 100)
        broker.freeze()
        try:
            began = time.monotonic()
            for worker in (*busy, *idle):
                await complains(worker, "broker", within=_FROZEN_NOTICED_SECONDS)
                # Both its connections, and whether there is anything to publish or not.
                await tells(worker, "broker_silent", within=_FROZEN_LEFT_SECONDS, times=2)
            world.history.note("frozen broker left", seconds=round(time.monotonic() - began, 1))
            world.history.fault("broker frozen")
            await asyncio.sleep(_FROZEN_SECONDS - (time.monotonic() - began))
        finally:
            broker.thaw()
        await back_in_time(world)
    await world.heal()
    await world.submit(100)


@scenario(
    "full outside queue",
    "a queue of somebody else's, bound to the events, is full and refuses them",
    faults=("refused",),
)
async def full_outside_queue(world: FaultHarness) -> None:
    (worker,) = await workers(world, 1)
    async with recorder.channel_to(world.rabbitmq_url) as channel:
        full = await channel.declare_queue(
            "outsider", durable=True, arguments={"x-max-length": 1, "x-overflow": "reject-publish"}
        )
        await full.bind(CATALOGUE.events, "#")
    await world.submit({"ok": 100, "fail:1": 10})
    # Retries take another route and come on time.
    await eventually(lambda: world.effects_at_least(110))
    await tells(worker, "queue_full", within=30, times=4)
    world.history.fault("refused", len(list(told(worker, "queue_full"))))
    async with recorder.channel_to(world.rabbitmq_url) as channel:
        events = await channel.declare_queue(CATALOGUE.events_queue, passive=True)
        copies = events.declaration_result.message_count or 0
        await channel.queue_delete("outsider")
    # Batches that were under way before the first refusal came back, and one for each pause.
    world.demand(f"a healthy neighbour got few copies: {copies} of 110", lambda _: copies <= 2 * 110)


@scenario(
    "consumer cancelled by the broker",
    "the queue is deleted, so that the broker cancels its and declared again as soon as they know",
    faults=("consumers cancelled",),
)
async def consumer_cancelled(world: FaultHarness) -> None:
    started = await workers(world, 2)
    await world.submit(100)
    await _all_done(world)
    await _delete_queue(world)
    for worker in started:
        # Not before: RabbitMQ 3.10 forgets to cancel the consumers of a queue that is declared again within
        # milliseconds, counts them on, and delivers nothing to them. No client can see that.
        await complains(worker, QUEUE)
        world.history.fault("consumers cancelled")
    await topology.declare(world.rabbitmq_url, CATALOGUE)
    await world.heal()
    await back_in_time(world)
    await world.submit(100)


@scenario(
    "queue deleted",
    "the queue is gone until the topology is declared again",
    faults=("queue deleted",),
)
async def queue_deleted(world: FaultHarness) -> None:
    (worker,) = await workers(world, 1)
    await world.submit(100)
    await _all_done(world)
    await _delete_queue(world)
    world.history.fault("queue deleted")
    await complains(worker, QUEUE, within=_NOTICED_SECONDS)
    # What comes meanwhile goes back to its sender, and the worker keeps trying.
    await world.submit(10)
    await tells(worker, "consumer_not_restored", within=_NOTICED_SECONDS)
    await topology.declare(world.rabbitmq_url, CATALOGUE)
    await world.heal()
    await back_in_time(world, within=_NOTICED_SECONDS)
    await world.submit(100)
    world.demand(
        "commands sent while there was no queue came back to their sender",
        lambda _: len(world.history.in_doubt) == 10,
    )


async def _all_done(world: FaultHarness) -> None:
    """Waits until nothing is in the queue or in hand: deleting a queue loses what is in it."""
    await eventually(lambda: world.effects_at_least(len(world.history.accepted)))

    async def settled() -> bool:
        return not await in_outbox(world)

    await eventually(settled)
    # An acknowledgement has no answer that one could wait for.
    await asyncio.sleep(0.5)


async def _delete_queue(world: FaultHarness) -> None:
    async with recorder.channel_to(world.rabbitmq_url) as channel:
        deleted: Any = await channel.queue_delete(QUEUE)
        assert not deleted.message_count, "it was to be empty"


@scenario(
    "memory alarm",
    "the broker is short of memory and reads from nobody who publishes",
    faults=("memory alarm",),
    own_nodes=True,
)
async def memory_alarm(world: FaultHarness) -> None:
    await alarm(world, "memory")


@scenario(
    "disk alarm",
    "the broker is short of disk and reads from nobody who publishes",
    faults=("disk alarm",),
    own_nodes=True,
)
async def disk_alarm(world: FaultHarness) -> None:
    await alarm(world, "disk")


async def alarm(world: FaultHarness, resource: Resource) -> None:
    broker = broker_of(world)
    started = await workers(world, 2)
    await world.submit(20)
    await _all_done(world)
    # They stand still while their work is put into the queue: once the alarm is on, nobody can.
    for worker in started:
        worker.stop()
    waiting = len(await world.submit(300))
    await broker.raise_alarm(resource)
    assert resource in await broker.alarms()
    world.history.fault(f"{resource} alarm")
    for worker in started:
        worker.resume()
    await eventually(lambda: world.effects_at_least(20 + waiting))
    await eventually(lambda: one_blocked(started))
    # Long enough for publishes to be given up, and for the connections that replace theirs to be blocked as well.
    await eventually(lambda: any_gave_up(started), within=2 * CONFIRM_SECONDS)
    await eventually(lambda: one_blocked(started))
    kept = await in_outbox(world)
    world.demand(f"the outbox keeps what cannot leave: {kept} of {waiting}", lambda _: kept == waiting)
    await broker.clear_alarm(resource)
    await world.heal()
    await back_in_time(world)
    await world.submit(50)


async def one_blocked(started: Sequence[WorkerProcess]) -> bool:
    """Whether one of the workers says that the broker blocks it; which one had something to publish is chance."""
    return any(["broker" in await worker.problems() for worker in started])


def any_gave_up(started: Sequence[WorkerProcess]) -> bool:
    return any(any(told(worker, "publish_not_confirmed")) for worker in started)
