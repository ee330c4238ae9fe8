"""Replicas come and go with the length of a queue, as the manifests of Kubernetes have it."""

from typing import Final

from chassis.testing import eventually
from faults.playing.autoscaler import ScalingRules
from faults.playing.scaled import ADDED, REMOVED, ScaledWorkers, from_one
from faults.playing.scenario import scenario
from faults.playing.world import QUEUE, FaultHarness
from faults.scenarios.operations import demand_that_nobody_was_blamed

_HURRY: Final = 10.0
"""The autoscaler decides every 1.5 s instead of 15, and holds on for 30 s instead of 300."""
_BACKLOG: Final = 50_000
_ARRIVING: Final = {"ok": 9, "slow:0.2": 1}
_BUDGET_SECONDS: Final = 900.0


@scenario(
    "autoscaling by a backlog",
    "50,000 messages wait; KEDA's formula takes one replica to ten and back to one while messages come in",
    faults=(ADDED, REMOVED),
    budget=_BUDGET_SECONDS,
)
async def autoscaling_by_a_backlog(world: FaultHarness) -> None:
    demand_that_nobody_was_blamed(world)
    rules = from_one(ScalingRules.of_service(QUEUE.removesuffix("-commands")))
    backlog = world.count(_BACKLOG, fast=5_000)
    await world.submit(backlog, brands=200)
    async with (
        ScaledWorkers.running(world, rules, hurry=_HURRY, database_connections=3) as workers,
        world.load(20, _ARRIVING),
    ):
        await eventually(lambda: workers.replicas == rules.most, within=_BUDGET_SECONDS / 3)
        await eventually(lambda: workers.replicas == rules.fewest, within=_BUDGET_SECONDS)
    world.history.note("replicas", counts=workers.counts)
    up = workers.counts[: workers.counts.index(rules.most) + 1]
    down = workers.counts[workers.counts.index(rules.most) :]
    world.demand("replicas only came while the backlog waited", lambda _: up == sorted(up))
    world.demand("replicas only went after it", lambda _: down == sorted(down, reverse=True))
    world.demand(
        "every replica had its share",
        lambda seen: len({effect.worker for effect in seen.effects}) == rules.most,
    )
