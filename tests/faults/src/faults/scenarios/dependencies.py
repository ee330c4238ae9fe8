"""Dependencies of handlers go away: another service that they call."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from chassis.testing import eventually
from faults.playing.recovery import tells, workers
from faults.playing.scenario import REGISTRY, Scenario
from faults.playing.world import BACKOFF_SECONDS, MAX_ATTEMPTS, FaultHarness
from faults.surroundings.neighbour import FixedAnswerServer

_SCHEDULE: Final = sum(BACKOFF_SECONDS * 2**retry for retry in range(MAX_ATTEMPTS - 1))
"""Seconds from the first attempt to the last: whoever counted an outage as failures would be through with a message."""
_AWAY_SECONDS: Final = 10 * _SCHEDULE


async def away(leave: Callable[[FixedAnswerServer], None], world: FaultHarness) -> None:
    neighbour = await world.keep(FixedAnswerServer.serving())
    world.proxies.append(neighbour.proxy)
    started = await workers(world, 2, handler="single", needs_url=neighbour.url)
    before = world.count(50, fast=10)
    await world.submit({"needs": before})
    await eventually(lambda: world.effects_at_least(before))
    leave(neighbour)
    count = world.count(200, fast=30)
    await world.submit({"needs": count, "ok": 50, "fail:1": 4})
    # What needs nobody goes on meanwhile, and the workers are ready: nobody should restart them or take them out.
    await eventually(lambda: world.effects_at_least(before + 54))
    await tells(started[0], "dependency_away", within=30)
    asked = neighbour.asked
    await asyncio.sleep(_AWAY_SECONDS)
    assert not await world.effects_at_least(before + 55), "nobody could have answered"
    for worker in started:
        problems = await worker.problems()
        assert not problems, f"{worker.name} should wait and be ready: {problems}"
    world.history.fault("neighbour away")
    world.history.note("asked in vain", times=neighbour.asked - asked)
    neighbour.status = 200
    await world.heal()
    # Or twice, where an answer that was on its way already is read after the first refusal, and says that it is back.
    world.demand(
        "each worker noticed once", lambda seen: seen.logged.get("dependency_away", 0) <= 2 * len(started)
    )


def _answers_503(neighbour: FixedAnswerServer) -> None:
    neighbour.status = 503


_WAYS: Final[dict[str, tuple[Callable[[FixedAnswerServer], None], str]]] = {
    "dependency refuses": (lambda neighbour: neighbour.proxy.cut(), "refuses connections"),
    "dependency answers 503": (_answers_503, "answers that it is out of service"),
    "dependency is silent": (
        lambda neighbour: neighbour.proxy.black_hole(),
        "takes connections and says nothing",
    ),
}
for _name, (_leave, _what) in _WAYS.items():
    REGISTRY[_name] = Scenario(
        _name,
        f"a service that handlers ask {_what}, ten times as long as all retries of a message would take",
        partial(away, _leave),
        ("neighbour away",),
        fast=_name == "dependency refuses",
    )
