"""Two orchestrators run schedules and are killed meanwhile."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from chassis.testing import eventually
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.replicas import KILLED, OrchestratorReplicas
from faults.playing.scenario import scenario
from faults.playing.world import FaultHarness

_SCHEDULES: Final = 10_000
_BRANDS: Final = 20
_KILLS: Final = 20
_DUE: Final = """
    insert into brands (slug, name, description, language, channels, target)
    select 'brand-' || n, 'Brand ' || n, '', 'en', '{feed}', 'site' from generate_series(0, $1 - 1) as n
"""
_SCHEDULED: Final = """
    insert into schedules (schedule_id, brand_slug, name, keywords, priority, cron, time_zone, state, due_at, try_at)
    select gen_random_uuid(), 'brand-' || n % $1, 'daily-' || n, array['subject ' || n], 'normal', '0 6 * * *', 'UTC', 'active',
           date_trunc('day', now()) - interval '66 hours', now() - interval '66 hours' + n * interval '1 second'
    from generate_series(1, $2) as n
"""


@scenario(
    "schedules on two replicas",
    "SIGKILL to one of two orchestrators after the other while 10,000 schedules are due, each having missed two times",
    faults=(KILLED,),
    budget=480.0,
)
async def schedules_on_two_replicas(world: FaultHarness) -> ScenarioOutcome:
    database_url = await world.servers.create_database("orchestrator")
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(_DUE, _BRANDS)
        await connection.execute(_SCHEDULED, _BRANDS, _SCHEDULES)
        async with OrchestratorReplicas.running(world, database_url) as replicas:
            for count in sorted(world.rng.sample(range(100, _SCHEDULES - 500), _KILLS)):
                await until_fired(connection, count)
                await replicas.kill_and_start()
            await until_fired(connection, _SCHEDULES)
        seen = ScheduleCounts.of(await connection.fetch(_SEEN))
    finally:
        await connection.close()
    return ScenarioOutcome(
        submitted=_SCHEDULES,
        effects=seen.cycles.total(),
        dead_letters=0,
        lost=_SCHEDULES - len(seen.cycles),
        duplicated=seen.cycles.total() - len(seen.cycles),
        fired=world.history.faults[KILLED],
        seconds_to_heal=0.0,
        violations=tuple(judge(seen, _SCHEDULES)),
    )


_SEEN: Final = """
    select s.keywords[1] as subject, s.state, s.due_at > now() as ahead,
           (select count(*) from keywords as k where k.keyword = s.keywords[1]) as cycles,
           (select count(*) from firings as f where f.schedule_id = s.schedule_id and f.failure is null) as firings,
           (select count(*) from firings as f where f.schedule_id = s.schedule_id and f.failure is not null) as given_up
    from schedules as s where s.kind = 'research'
"""


@dataclass(frozen=True)
class ScheduleCounts:
    """Results of the schedules, by subject."""

    cycles: Counter[str]
    """How often keywords of the subject were handed in."""
    firings: Counter[str]
    not_ahead: frozenset[str]
    """Those that are not active with a time to come."""
    given_up: int

    @classmethod
    def of(cls, rows: Sequence[Any]) -> "ScheduleCounts":
        return cls(
            Counter({row["subject"]: row["cycles"] for row in rows if row["cycles"]}),
            Counter({row["subject"]: row["firings"] for row in rows if row["firings"]}),
            frozenset(row["subject"] for row in rows if row["state"] != "active" or not row["ahead"]),
            sum(row["given_up"] for row in rows),
        )


def judge(seen: ScheduleCounts, schedules: int) -> Iterator[Violation]:
    """Checks one cycle, one firing and a next time for each schedule."""
    if missing := schedules - len(seen.cycles):
        yield Violation(1, f"{missing} schedules have begun no cycle")
    if twice := [subject for subject, count in seen.cycles.items() if count > 1]:
        yield Violation(1, f"{len(twice)} due times fired more than once, such as {twice[0]}")
    if seen.firings != seen.cycles:
        yield Violation(1, "what is told of firings is not what was begun")
    if seen.not_ahead:
        yield Violation(1, f"{len(seen.not_ahead)} schedules have no time to come")
    if seen.given_up:
        yield Violation(1, f"{seen.given_up} due times were given up, though nothing was wrong with them")


async def until_fired(connection: asyncpg.Connection, count: int) -> None:
    async def reached() -> bool:
        await asyncio.sleep(0.02)
        return bool(await connection.fetchval("select count(*) from firings") >= count)

    await eventually(reached, within=300)
