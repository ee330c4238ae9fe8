"""Two orchestrators that fire schedules, killed in the midst of it."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from brandctl.local import processes, services
from chassis.testing import eventually
from faults.judging.checker import Violation
from faults.judging.results import Outcome
from faults.playing.scenario import scenario
from faults.playing.stack import CORPUS, KEY
from faults.playing.world import World

KILLED: Final = "orchestrator killed"
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
async def schedules_on_two_replicas(world: World) -> Outcome:
    database_url = await world.servers.create_database("orchestrator")
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(_DUE, _BRANDS)
        await connection.execute(_SCHEDULED, _BRANDS, _SCHEDULES)
        async with Replicas.running(world, database_url) as replicas:
            for count in sorted(world.rng.sample(range(100, _SCHEDULES - 500), _KILLS)):
                await until_fired(connection, count)
                await replicas.kill_and_start()
            await until_fired(connection, _SCHEDULES)
        seen = Seen.of(await connection.fetch(_SEEN))
    finally:
        await connection.close()
    return Outcome(
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
    from schedules as s
"""


@dataclass(frozen=True)
class Seen:
    """What became of every schedule, by its subject."""

    cycles: Counter[str]
    """How often keywords of the subject were handed in."""
    firings: Counter[str]
    not_ahead: frozenset[str]
    """Those that are not active with a time to come."""
    given_up: int

    @classmethod
    def of(cls, rows: Sequence[Any]) -> "Seen":
        return cls(
            Counter({row["subject"]: row["cycles"] for row in rows if row["cycles"]}),
            Counter({row["subject"]: row["firings"] for row in rows if row["firings"]}),
            frozenset(row["subject"] for row in rows if row["state"] != "active" or not row["ahead"]),
            sum(row["given_up"] for row in rows),
        )


def judge(seen: Seen, schedules: int) -> Iterator[Violation]:
    """One cycle and one firing for each schedule, whose next time is to come."""
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


class Replicas:
    """Two orchestrators on one database."""

    def __init__(self, world: World, environments: Sequence[dict[str, str]]) -> None:
        self._world = world
        self._environments = environments
        self._children: list[processes.Child] = []
        self._next = 0

    @classmethod
    @asynccontextmanager
    async def running(cls, world: World, database_url: str) -> AsyncIterator["Replicas"]:
        environments = [
            services.environment(
                "orchestrator",
                addresses=services.choose_addresses(),
                rabbitmq_url=world.rabbitmq_url,
                database_url=database_url,
                service_key=KEY,
                corpus=CORPUS,
            )
            for _ in range(2)
        ]
        replicas = cls(world, environments)
        try:
            for number in range(len(environments)):
                replicas._children.append(replicas._start(number))
            yield replicas
        finally:
            await asyncio.to_thread(services.stop, replicas._children)

    async def kill_and_start(self) -> None:
        """The one that was not killed the last time, once it works; the other goes on meanwhile."""
        number, self._next = self._next, 1 - self._next
        process = self._children[number].process
        await self._at_work(number)
        process.kill()
        await asyncio.to_thread(process.wait)
        self._world.history.fault(KILLED)
        self._children[number] = self._start(number)

    def _start(self, number: int) -> processes.Child:
        logs = self._world.folder / f"orchestrator-{number}-{time.monotonic_ns()}"
        return services.start("orchestrator", self._environments[number], logs)

    async def _at_work(self, number: int) -> None:
        child = self._children[number]

        def started() -> bool:
            return child.log.exists() and "service_started" in child.log.read_text()

        await eventually(started, within=services.READY_WITHIN_SECONDS)
