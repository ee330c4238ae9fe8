"""Clocks that are wrong or change while work runs, and processes that are stopped for a while."""

import json
import os
import signal
from datetime import UTC, datetime

from chassis.testing import eventually
from faults.judging.recorder import TAP
from faults.playing.scenario import scenario
from faults.playing.world import FaultHarness
from faults.surroundings.processes import WorkerProcess
from messaging.topology import RETURNS

_HOUR = 3600


@scenario(
    "clock steps",
    "the clock of one worker jumps from an hour behind to an hour ahead, the other's the other way round",
    faults=("clock step",),
    fast=True,
)
async def clock_steps(world: FaultHarness) -> None:
    first, second = [
        await world.worker(name, clock_wrong_by=before, clock_then_wrong_by=-before, sweep_seconds=0.5)
        for name, before in (("late", -_HOUR), ("early", _HOUR))
    ]
    async with world.load(100, {"ok": 9, "fail:1": 1}):
        await eventually(lambda: world.effects_at_least(world.count(200, fast=40)))
        for worker in (first, second):
            os.kill(worker.pid, signal.SIGUSR1)
        await eventually(lambda: all(steps(worker) == 2 for worker in (first, second)))
        await eventually(lambda: world.effects_at_least(world.count(600, fast=100)))
    # Their logs carry the time that each believes in.
    assert hours_wrong(first) == 1
    assert hours_wrong(second) == -1
    world.history.fault("clock step", 2)


def steps(worker: WorkerProcess) -> int:
    return sum('"clock_set"' in line for line in worker.log_lines())


def hours_wrong(worker: WorkerProcess) -> int:
    """By the last line of its log."""
    told = datetime.fromisoformat(json.loads(worker.log_lines()[-1])["timestamp"])
    return round((told - datetime.now(UTC)).total_seconds() / _HOUR)


@scenario(
    "many sweepers",
    "three workers, one with a clock an hour ahead, sweep the same delayed messages when they are due",
    faults=("sweepers at once",),
    fast=True,
)
async def many_sweepers(world: FaultHarness) -> None:
    # Nobody holds a delayed message: whoever is first when it is due takes it.
    for number, ahead in enumerate((0, 0, _HOUR)):
        # All are there before there is anything to take: the first one alone might take all of it.
        await world.worker(
            f"sweeper-{number}", sweep_seconds=0.1, clock_wrong_by=ahead, batch_size=5, prefetch=5
        )
    await world.submit({"fail:1": world.count(300, fast=40), "fail:2": world.count(50, fast=5), "ok": 50})
    claimed = "select count(distinct worker) from outbox_changes where kind = 'claim' and exchange = $1"
    total = world.count(400, fast=95)
    await eventually(lambda: world.effects_at_least(total))
    world.history.fault("sweepers at once", await world.database.fetchval(claimed, RETURNS))
    claims = "select count(*) from outbox_changes where kind = 'claim' and exchange = $1"
    due = "select count(*) from outbox_changes where kind = 'insert' and exchange = $1"
    firings, times = [await world.database.fetchval(query, RETURNS) for query in (claims, due)]
    world.demand(f"one firing per due time: {times} times, {firings} firings", lambda _: firings == times)
    world.demand("two sweepers or more had a share", lambda _: world.history.faults["sweepers at once"] > 1)


@scenario(
    "lease holder stops before publishing",
    "SIGSTOP to a relay that is about to send; another sends its rows; then it goes on",
    faults=("stop",),
    fast=True,
)
async def lease_holder_stops_before_publishing(world: FaultHarness) -> None:
    number = world.count(200, fast=40)
    await world.submit(number)
    old = world.start_worker("old", fail_points="relay.publishing=stop", lease_seconds=1)
    await old.struck()
    await world.worker("new", lease_seconds=1, sweep_seconds=0.2)
    await eventually(lambda: no_row_of(world, "old"))
    old.resume()
    world.demand("what it sends late comes a second time", lambda seen: seen.published_again(TAP) > 0)


async def no_row_of(world: FaultHarness, worker: str) -> bool:
    """Whether other workers have published all its rows."""
    query = """
        select count(*) from outbox_changes written where kind = 'insert' and worker = $1 and not exists
        (select from outbox_changes gone where gone.kind = 'delete' and gone.id = written.id)
    """
    left: int = await world.database.fetchval(query, worker)
    written = await world.database.fetchval("select count(*) from outbox_changes where worker = $1", worker)
    return written > 0 and left == 0
