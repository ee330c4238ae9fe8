"""Processes that die, at the worst of moments."""

from functools import partial

from chassis.testing import eventually
from faults.playing.scenario import REGISTRY, Scenario, scenario
from faults.playing.world import FaultHarness
from faults.surroundings.processes import WorkerProcess
from messaging import fail_points
from messaging.storage import crashes


@scenario(
    "kill between commit and ack",
    "SIGKILL after the commit and before the acknowledgement",
    faults=("kill",),
    fast=True,
)
async def kill_between_commit_and_ack(world: FaultHarness) -> None:
    await world.submit(world.count(500, fast=60))
    worker = world.start_worker(fail_points="transaction.committed=kill")
    await worker.struck()
    await world.worker()
    world.demand(
        "the second delivery is seen as a duplicate",
        lambda seen: seen.logged.get("duplicates_ignored", 0) > 0,
    )


async def kill_at(place: str, world: FaultHarness) -> None:
    # Some are to be tried again: a delayed row is what the sweeper takes out of the outbox.
    await world.submit({"ok": world.count(300, fast=40), "fail:1": 20})
    if place == "suspect.marked":
        for _ in range(crashes.MAX_RETURNS + 1):
            earlier = world.start_worker(fail_points="settlement.effects=kill")
            await earlier.struck()
    worker = world.start_worker(fail_points=f"{place}=kill@{1 if place.startswith('suspect') else 2}")
    await world.submit({"ok": world.count(300, fast=40)})
    await worker.struck()
    # What a set-based handler left, single ones may finish.
    await world.worker(handler="single")


for _name, _meaning in fail_points.NAMES.items():
    if _name == "answer.committed":  # workers take no requests; `requests.py` kills who does
        continue
    REGISTRY[f"kill at {_name}"] = Scenario(
        f"kill at {_name}", f"SIGKILL when: {_meaning}", partial(kill_at, _name), ("kill",)
    )


@scenario(
    "relay killed between confirm and delete",
    "SIGKILL once the broker has confirmed and before the outbox rows go",
    faults=("kill",),
    fast=True,
)
async def relay_killed_between_confirm_and_delete(world: FaultHarness) -> None:
    await world.submit(world.count(500, fast=60))
    worker = world.start_worker(fail_points="relay.confirmed=kill")
    await worker.struck()
    await world.worker()
    world.demand("the tap sees a message twice", lambda seen: seen.published_again("tap") > 0)


@scenario(
    "crasher among neighbours",
    "a message whose consumer dies by SIGKILL, among 200 prefetched ones",
    faults=("kill",),
    fast=True,
)
async def crasher(world: FaultHarness) -> None:
    await consumer_dies_over(world, "crash")


@scenario(
    "out of memory among neighbours",
    "a message whose consumer runs out of memory, among 200 prefetched ones",
    faults=("kill",),
)
async def out_of_memory(world: FaultHarness) -> None:
    await consumer_dies_over(world, "oom")


async def consumer_dies_over(world: FaultHarness, behaviour: str) -> None:
    neighbours = world.count(199, fast=30)
    await world.submit({"ok": neighbours, behaviour: 1})
    async with world.kept_alive(restarts=5, batch_size=250, prefetch=250) as died:
        await eventually(lambda: _dead_or_hopeless(world, died))
    world.demand(f"it dies twice among {neighbours} and three times alone", lambda _: len(died) == 5)


async def _dead_or_hopeless(world: FaultHarness, died: list[WorkerProcess]) -> bool:
    return len(died) > 5 or await world.dead_letters_at_least(1)


@scenario(
    "out of memory in Python",
    "messages that need more memory than there is, and get a MemoryError",
    faults=("MemoryError",),
)
async def memory_error(world: FaultHarness) -> None:
    await world.submit({"ok": 100, "hungry": 3})
    worker = await world.worker()
    for seen in await world.take_letters(
        *(command for command in world.history.commands.values() if command.keyword.startswith("hungry"))
    ):
        if seen.exception_type == "MemoryError":
            world.history.fault("MemoryError")
    assert worker.running
