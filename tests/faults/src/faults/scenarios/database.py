"""The database goes away, changes its mind, or answers and does nothing."""

import asyncio

from chassis.database.pool import STATEMENT_SECONDS
from chassis.testing import Direction, eventually
from faults.playing.recovery import (
    COMMITTED,
    back_in_time,
    complains,
    effects,
    tells,
    told,
    under_way,
    workers,
)
from faults.playing.scenario import scenario
from faults.playing.world import QUEUE, FaultHarness
from faults.surroundings.nodes import PostgresServer, why_no_small_disk
from faults.surroundings.processes import WorkerProcess

_PER_SECOND = 150.0
_SMALL_DISK = 192 << 20


def database_of(world: FaultHarness) -> PostgresServer:
    assert world.servers.database is not None
    return world.servers.database


async def paused(worker: WorkerProcess) -> None:
    """Waits until a worker reports that its database is away and that it has stopped consuming.

    The broker is not asked: it goes on counting a consumer that holds a message, as a worker does with a suspect whose
    mark it could not take back yet.
    """
    await complains(worker, "database")
    await complains(worker, QUEUE)


@scenario(
    "database restart",
    "the database is stopped in order and started again, under load",
    faults=("database stopped",),
    own_nodes=True,
)
async def database_restart(world: FaultHarness) -> None:
    database = database_of(world)
    first, _ = await workers(world, 2)
    async with world.load(_PER_SECOND):
        await under_way(world, 100)
        await database.stop()
        world.history.fault("database stopped")
        await paused(first)
        await world.heal()
        await back_in_time(world)
    await world.submit(100)


@scenario(
    "database killed",
    "SIGKILL to the database three times, under load",
    faults=("database killed",),
    own_nodes=True,
)
async def database_killed(world: FaultHarness) -> None:
    database = database_of(world)
    await workers(world, 2)
    async with world.load(_PER_SECOND, {"ok": 20, "fail:1": 1}):
        for _ in range(3):
            await under_way(world, 100)
            await database.kill()
            world.history.fault("database killed")
            # Long enough for workers to have found out, and to be waiting.
            await asyncio.sleep(1)
            await database.start()
        await world.heal()
        await back_in_time(world)
        await under_way(world, 50)
    world.demand("workers paused for it", lambda seen: seen.logged.get("consumption_paused", 0) >= 2)


@scenario(
    "commit reply lost",
    "the proxy drops PostgreSQL's answer to a COMMIT and resets the connection",
    faults=("proxy.strike",),
    fast=True,
)
async def commit_reply_lost(world: FaultHarness) -> None:
    proxy, url = await world.proxy("database")
    await world.worker(database_url=url, batch_size=20)
    await warmed_up(world)
    # Each failure in a row makes the worker pause twice as long as the one before.
    times = world.count(4, fast=2)
    strike = proxy.strike(COMMITTED, towards=Direction.CLIENT, action="reset", times=times)
    await world.submit(world.count(500, fast=60))
    await eventually(lambda: strike.hits == times)
    await world.heal()
    known_when_it_comes_again(world)


@scenario(
    "commit reply never comes",
    "PostgreSQL's answer to a COMMIT disappears, and the connection stays open in silence",
    faults=("proxy.strike",),
)
async def commit_reply_never_comes(world: FaultHarness) -> None:
    proxy, url = await world.proxy("database")
    worker = await world.worker(database_url=url, batch_timeout=0.5)
    await warmed_up(world)
    strike = proxy.strike(COMMITTED, towards=Direction.CLIENT, action="silence")
    await world.submit(300)
    await asyncio.wait_for(strike.struck.wait(), 30)
    # A commit is a statement, and none of ours is waited for any longer.
    took = await tells(worker, "batch_redone_singly", within=STATEMENT_SECONDS + 5)
    world.history.note("commit given up", seconds=round(took, 1))
    await eventually(lambda: world.effects_at_least(300))
    await world.heal()
    known_when_it_comes_again(world)


async def warmed_up(world: FaultHarness) -> None:
    """Waits until a worker has committed some work, so that no fault strikes its start."""
    await world.submit(20)
    await eventually(lambda: world.effects_at_least(20))


def known_when_it_comes_again(world: FaultHarness) -> None:
    world.demand(
        "what was committed is known when it comes again",
        lambda seen: seen.logged.get("duplicates_ignored", 0) + seen.logged.get("duplicate_ignored", 0) > 0,
    )


@scenario(
    "database away during retries",
    "the database is out of reach while failed messages wait for their next attempt",
    faults=("database away",),
    fast=True,
)
async def database_away_during_retries(world: FaultHarness) -> None:
    proxy, url = await world.proxy("database")
    worker = await world.worker(database_url=url)
    # Each may fail twice and no more: an attempt that the outage cost would end them as dead letters.
    await world.submit({"fail:2": world.count(60, fast=20), "ok": 20})
    await tells(worker, "attempt_failed", within=20)
    for _ in range(world.count(3, fast=1)):
        proxy.cut()
        world.history.fault("database away")
        await world.submit({"fail:2": 10, "ok": 10})
        await paused(worker)
        proxy.mend()
        await back_in_time(world)
    await world.heal()


@scenario(
    "disk full",
    "the disk of the database is full: it answers, and refuses every write",
    faults=("disk full",),
    own_nodes=True,
    disk=_SMALL_DISK,
    impossible=why_no_small_disk,
)
async def disk_full(world: FaultHarness) -> None:
    database = database_of(world)
    worker, other = await workers(world, 2)
    async with world.load(_PER_SECOND, {"ok": 20, "fail:1": 1}):
        await under_way(world, 100)
        filled = database.fill_disk()
        world.history.note("filled", bytes=filled)
        await eventually(lambda: names_the_disk(worker) or names_the_disk(other), within=40)
        world.history.fault("disk full")
        # It is tried again and again meanwhile, with longer and longer pauses.
        await tells(worker, "consumption_paused", within=20, times=2)
    database.free_disk()
    await world.heal()
    await back_in_time(world)
    await world.submit(100)


def names_the_disk(worker: WorkerProcess) -> bool:
    """Whether a person reading the log would know what to do."""
    return any("No space left on device" in entry["error"] for entry in told(worker, "consumption_paused"))


@scenario(
    "read-only after a fail-over",
    "the database comes back as a standby that takes no writes, and is promoted later",
    faults=("demoted",),
    own_nodes=True,
)
async def read_only_after_fail_over(world: FaultHarness) -> None:
    database = database_of(world)
    worker, _ = await workers(world, 2)
    async with world.load(_PER_SECOND):
        await under_way(world, 100)
        await database.demote()
        world.history.fault("demoted")
        await paused(worker)
        # It answers all the while; only writes fail.
        assert await effects(world) >= 100
        assert QUEUE in await worker.problems()
    await database.promote()
    await world.heal()
    await back_in_time(world)
    await world.submit(100)
