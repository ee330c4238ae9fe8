"""What operators do, at a bad moment or twice: replay, discard, stop, deploy."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import httpx

from brandctl.local import ports
from chassis.testing import eventually
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.scenario import scenario
from faults.playing.world import FaultHarness
from faults.surroundings import processes
from faults.surroundings.processes import WorkerProcess

_KEY: Final = "a-key-for-tests-only"
_LETTERS: Final = "/v1/dead-letters"
_DONE: Final = (httpx.codes.ACCEPTED, httpx.codes.OK)


# -- stopping and deploying --------------------------------------------------------------------------------------------

_MIX: Final = {"ok": 60, "slow:0.2": 1}


def demand_that_nobody_was_blamed(world: FaultHarness) -> None:
    world.demand(
        "no attempt failed",
        lambda seen: (
            not any(
                seen.logged.get(event)
                for event in ("attempt_failed", "batch_redone_singly", "grace_period_over")
            )
        ),
    )
    world.demand("nothing was tried again", lambda seen: all(change.attempt == 1 for change in seen.outbox))


async def deploy_over(world: FaultHarness, old: WorkerProcess) -> None:
    code = await old.terminate()
    assert code == 0, f"{old.name} ended with code {code}"
    assert not old.would_not_stop
    world.history.fault("SIGTERM")


@scenario(
    "SIGTERM under load",
    "the only worker is stopped in order, again and again, while messages come in",
    faults=("SIGTERM",),
    fast=True,
)
async def sigterm_under_load(world: FaultHarness) -> None:
    demand_that_nobody_was_blamed(world)
    async with world.load(100, _MIX):
        for number in range(world.count(5, fast=2)):
            worker = await world.worker(handler="single" if number % 2 else "batch", batch_timeout=0.05)
            await eventually(partial(has_worked, world, worker))
            await deploy_over(world, worker)
    await world.worker()


@scenario(
    "rolling restart",
    "three replicas are replaced one after another while messages come in",
    faults=("SIGTERM",),
)
async def rolling_restart(world: FaultHarness) -> None:
    demand_that_nobody_was_blamed(world)
    replicas = [await world.worker() for _ in range(3)]
    async with world.load(150, _MIX):
        for old in replicas:
            await eventually(partial(has_worked, world, old))
            new = await world.worker()
            await deploy_over(world, old)
            await eventually(partial(has_worked, world, new))


async def has_worked(world: FaultHarness, worker: WorkerProcess) -> bool:
    query = "select count(*) from effects where worker = $1"
    done: int = await world.database.fetchval(query, worker.name)
    return done >= world.count(50, fast=20)


# -- replay and discard ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def monitored(world: FaultHarness) -> AsyncIterator[httpx.AsyncClient]:
    """The real monitor on this world's broker, and its API."""
    environment = {
        "RABBITMQ_URL": world.rabbitmq_url,
        "DATABASE_URL": await world.servers.create_database("monitor"),
        "SERVICE_KEY": _KEY,
    }
    monitor = processes.start("monitor", "monitor", environment, world.folder, world.history)
    try:
        await monitor.ready()
        async with httpx.AsyncClient(
            base_url=f"http://{ports.LOOPBACK}:{monitor.port}",
            headers={"X-Service-Key": _KEY},
            timeout=30,
            trust_env=False,
        ) as api:
            yield api
    finally:
        await monitor.terminate()
        await world.servers.drop_database(environment["DATABASE_URL"])


async def letters(api: httpx.AsyncClient, state: str) -> list[dict[str, Any]]:
    answer = await api.get(_LETTERS, params={"state": state, "limit": 200})
    answer.raise_for_status()
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def dead_of_impatience(world: FaultHarness, api: httpx.AsyncClient, count: int) -> list[dict[str, Any]]:
    """So many dead letters of a worker with too short a deadline, which is then replaced."""
    hasty = await world.worker(handler="single", handler_timeout=0.2, concurrency=20)
    await world.submit({"slow:0.6": count})

    async def all_recorded() -> list[dict[str, Any]] | None:
        found = await letters(api, "open")
        return found if len(found) == count else None

    dead: list[dict[str, Any]] = await eventually(all_recorded)
    await hasty.terminate()
    # Only the service whose queue it is can say that a replay was handled.
    await world.worker("research", handler="single", concurrency=20)
    return dead


async def judged(
    world: FaultHarness, api: httpx.AsyncClient, discarded: set[str], fired: int, wrong: Sequence[str]
) -> ScenarioOutcome:
    """Waits until every replay has ended; then each dead letter has one effect, or none and was discarded."""
    started = time.monotonic()

    async def at_rest() -> bool:
        return not await letters(api, "replaying") and not await letters(api, "open")

    await eventually(at_rest)
    seconds = time.monotonic() - started
    rows = await world.database.fetch("select correlation_id, count(*) as times from effects group by 1")
    effects = Counter({row["correlation_id"]: row["times"] for row in rows})
    closed = {each["correlation_id"] for each in await letters(api, "discarded")}
    resolved = {each["correlation_id"] for each in await letters(api, "resolved")}
    commands = {command.correlation_id or "" for command in world.history.commands.values()}
    violations = [Violation(1, each) for each in wrong]
    if closed != discarded:
        violations.append(Violation(1, f"{len(closed ^ discarded)} discards ended otherwise than answered"))
    lost = {each for each in commands if each not in closed and not effects[each]}
    both = {each for each in closed if effects[each]}
    if both or commands != closed | resolved:
        violations.append(Violation(1, f"{len(both)} discarded ones took effect all the same"))
    duplicated = sum(times - 1 for times in effects.values())
    if lost or duplicated:
        violations.append(Violation(1, f"{len(lost)} have no outcome, {duplicated} effects are one too many"))
    return ScenarioOutcome(
        submitted=len(commands),
        effects=effects.total(),
        dead_letters=len(closed),
        lost=len(lost),
        duplicated=duplicated,
        fired=fired,
        seconds_to_heal=seconds,
        violations=tuple(violations),
    )


@scenario(
    "replay clicked twice",
    "every dead letter is replayed by several operators at the same time, one by one and all together",
    faults=("replay",),
)
async def replay_clicked_twice(world: FaultHarness) -> ScenarioOutcome:
    count = world.count(60, fast=10)
    async with monitored(world) as api:
        dead = await dead_of_impatience(world, api, count)
        single = [
            api.post(f"{_LETTERS}/{each['id']}/replay") for each in dead[: count // 2] for _ in range(3)
        ]
        bulk = [api.post(f"{_LETTERS}/replay", json={"limit": 500}) for _ in range(3)]
        answers = await asyncio.gather(*single, *bulk)
        one_by_one = sum(answer.status_code == httpx.codes.ACCEPTED for answer in answers[: len(single)])
        together = sum(answer.json()["replayed"] for answer in answers[len(single) :])
        refused = sum(answer.status_code == httpx.codes.CONFLICT for answer in answers)
        wrong = []
        if one_by_one + together != count:
            wrong.append(f"{count} dead letters, {one_by_one} + {together} replays")
        if one_by_one + refused != len(single):
            wrong.append(f"of {len(single)} clicks {one_by_one} were accepted and {refused} refused")
        return await judged(world, api, set(), len(answers), wrong)


@scenario(
    "replay and discard race",
    "every dead letter is replayed and discarded at the same moment",
    faults=("race",),
)
async def replay_and_discard_race(world: FaultHarness) -> ScenarioOutcome:
    count = world.count(60, fast=10)
    async with monitored(world) as api:
        dead = await dead_of_impatience(world, api, count)
        discarded: set[str] = set()
        wrong: list[str] = []

        async def race(letter: dict[str, Any]) -> None:
            address = f"{_LETTERS}/{letter['id']}"
            clicks = [
                api.post(f"{address}/replay"),
                api.post(f"{address}/discard", json={"reason": "not needed"}),
                api.post(f"{address}/replay"),
            ]
            world.rng.shuffle(clicks)
            answers = await asyncio.gather(*clicks)
            won = [answer for answer in answers if answer.status_code in _DONE]
            if len(won) != 1:
                wrong.append(f"{[answer.status_code for answer in answers]} for one dead letter")
            elif str(won[0].url).endswith("/discard"):
                discarded.add(letter["correlation_id"])

        await asyncio.gather(*map(race, dead))
        return await judged(world, api, discarded, count, wrong)
