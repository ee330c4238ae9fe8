"""Waits of scenarios about lost servers: workers notice, report it, and recover in time."""

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from chassis.testing import eventually
from faults.judging import recorder
from faults.playing.world import QUEUE, FaultHarness
from faults.surroundings.processes import WorkerProcess

BACK_SECONDS: Final = 30.0
"""How long workers may take to be ready again once what they need is there."""
COMMITTED: Final = b"C\x00\x00\x00\x0bCOMMIT\x00"
"""PostgreSQL's word that a transaction is committed, on its way to the client (CommandComplete)."""


async def workers(world: FaultHarness, count: int, **settings: Any) -> list[WorkerProcess]:
    """So many ready workers; started together, since each takes a second of a core."""
    started = [world.start_worker(**settings) for _ in range(count)]
    for worker in started:
        await worker.ready()
    return started


async def back_in_time(world: FaultHarness, *, within: float = BACK_SECONDS) -> float:
    """Waits until every running worker is ready; returns how many seconds that took.

    Raises:
        AssertionError: one was not in time; says what it complained about.
    """
    began = time.monotonic()
    for worker in world.workers:
        if worker.running:
            left = max(within - (time.monotonic() - began), 0.1)
            try:
                await eventually(partial(_is_ready, worker), within=left)
            except AssertionError:
                complaints = await worker.problems()
                raise AssertionError(f"{worker.name} is not back within {within:g} s: {complaints}") from None
    took = time.monotonic() - began
    world.history.note("workers back", seconds=round(took, 2))
    return took


async def _is_ready(worker: WorkerProcess) -> bool:
    return not await worker.problems()


async def complains(worker: WorkerProcess, part: str, *, within: float = BACK_SECONDS) -> None:
    """Waits until the readiness probe of a worker names a part of it as broken."""

    async def named() -> bool:
        return part in await worker.problems()

    await eventually(named, within=within)


async def consumers(world: FaultHarness, queue: str = QUEUE) -> int:
    """How many consumers the broker sees on a queue."""
    async with recorder.channel_to(world.rabbitmq_url) as channel:
        declared = await channel.declare_queue(queue, passive=True)
        return declared.declaration_result.consumer_count or 0


def told(worker: WorkerProcess, event: str) -> Iterator[dict[str, Any]]:
    """The log entries of a worker about an event."""
    for line in worker.log_lines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and entry.get("event") == event:
            yield entry


async def tells(worker: WorkerProcess, event: str, *, within: float, times: int = 1) -> float:
    """Waits until a worker has logged an event so many times; returns the seconds from now."""
    began = time.monotonic()
    await eventually(lambda: len(list(told(worker, event))) >= times, within=within)
    return time.monotonic() - began


async def in_outbox(world: FaultHarness) -> int:
    count = await world.database.fetchval("select count(*) from outbox")
    assert isinstance(count, int)
    return count


async def effects(world: FaultHarness) -> int:
    count = await world.database.fetchval("select count(*) from effects")
    assert isinstance(count, int)
    return count


async def under_way(world: FaultHarness, count: int) -> None:
    """Waits until the load has led to so many effects more."""
    wanted = await effects(world) + count
    await eventually(lambda: world.effects_at_least(wanted))
