"""The next version is rolled out under load, with its migrations and its messages, and rolled back."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import asyncpg

from chassis.testing import eventually
from envelope import DomainMessage, encode, new_event_id
from envelope.brand import CATALOGUE
from faults.judging.checker import attempts_made
from faults.judging.history import SubmittedCommand
from faults.judging.observation import RunObservation
from faults.playing.scenario import scenario
from faults.playing.world import PROGRAM, FaultHarness
from faults.scenarios.operations import deploy_over, has_worked
from faults.surroundings.processes import WorkerProcess
from faults.workers import next_version
from faults.workers.next_version import ResearchScheduled
from faults.workload.sender import EncodedCommand
from messaging import topology
from messaging.storage.migrations import migrate

NEXT: Final = next_version.__name__
_MIX: Final = {"ok": 60, "slow:0.2": 1, "fail:1": 3}
_LANGUAGES: Final = ("de", "en", None)


@scenario(
    "rolling upgrade and roll-back",
    "three replicas are replaced one by one by the next version, which migrates and sends what they do not know, and back",
    faults=("SIGTERM", "migration"),
    fast=True,
)
async def rolling_upgrade_and_roll_back(world: FaultHarness) -> None:
    demand_ordinary_attempts(world)
    client = NewerClient(world)
    number = world.count(3, fast=2)
    replicas = [await world.worker(f"old-{each + 1}") for each in range(number)]
    async with world.load(world.count(150, fast=60), _MIX, change=client.changed):
        await eventually(partial(has_worked, world, replicas[-1]))
        await migrated(world, replicas)
        replicas = await replaced(world, replicas, "next", NEXT)
        # Every consumer knows the new type: now it may be sent, and until it is used up none of them may go back.
        await client.schedule(world.count(200, fast=40), within=world.count(15, fast=12))
        await eventually(client.all_scheduled)
        replicas = await replaced(world, replicas, "back")
        await client.repeat_what("next", world.count(100, fast=20))
        await eventually(partial(has_worked, world, replicas[-1]))
    await eventually(client.all_requested)
    mixed_up = await client.mixed_up_languages()
    world.demand("the new field reached who knows it, and nobody else", lambda _: not mixed_up)
    world.demand("what the next version left was sent by the one before", left_over_was_sent)
    world.demand(
        "what the next version handled was known to the one before",
        lambda seen: seen.logged.get("duplicates_ignored", 0) > 0,
    )
    world.demand(
        "what the next version left was handled by the one before",
        lambda seen: any(
            effect.command in client.requests and effect.worker.startswith("back") for effect in seen.effects
        ),
    )


def demand_ordinary_attempts(world: FaultHarness) -> None:
    def met(seen: RunObservation) -> bool:
        made = attempts_made(seen)
        return all(made[each] == world.history.commands[each].attempts for each in world.history.accepted)

    world.demand("each command took the attempts that it asks for", met)
    world.demand(
        "nothing was redone or broken off",
        lambda seen: not any(map(seen.logged.get, ("batch_redone_singly", "grace_period_over"))),
    )


def left_over_was_sent(seen: RunObservation) -> bool:
    written = {
        change.row for change in seen.outbox if change.kind == "insert" and change.worker.startswith("next")
    }
    sent = {
        change.row for change in seen.outbox if change.kind == "delete" and change.worker.startswith("back")
    }
    return bool(written & sent)


# -- steps of a rollout ------------------------------------------------------------------------------------------------


async def replaced(
    world: FaultHarness, replicas: Sequence[WorkerProcess], name: str, program: str = PROGRAM
) -> list[WorkerProcess]:
    """One replica after another gives way to one of another version."""
    successors: list[WorkerProcess] = []
    for old in replicas:
        await eventually(partial(has_worked, world, old))
        successors.append(await world.worker(f"{name}-{len(successors) + 1}", program=program))
        await deploy_over(world, old)
    return successors


async def apply_next(world: FaultHarness) -> list[str]:
    servers = world.servers
    return await migrate(servers.owner_url(world.database_url), [NEXT], runtime_role=servers.runtime_role)


async def migrated(world: FaultHarness, at_work: Sequence[WorkerProcess]) -> None:
    """Tables and topology as the next version wants them, while these go on working and others read for long."""
    async with reading(world, "select 1"):
        async with reading(world, "select count(*) from effects"):
            # As a backup reads: the new column has to wait for its end.
            migration = asyncio.create_task(apply_next(world))
            await work_goes_on(world, at_work, migration)
        # A point in time is enough for an index that is built concurrently to wait for.
        unfinished = "select count(*) from pg_index where not indisvalid"
        await eventually(lambda: world.database.fetchval(unfinished))
        await work_goes_on(world, at_work, migration)
    world.history.fault("migration", len(await migration))
    await topology.declare(world.rabbitmq_url, CATALOGUE)


@asynccontextmanager
async def reading(world: FaultHarness, query: str) -> AsyncIterator[None]:
    """A transaction that sees the database as it was at its start, and stays open."""
    connection = await asyncpg.connect(world.database_url)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await connection.fetchval(query)
            yield
    finally:
        await connection.close()


async def work_goes_on(
    world: FaultHarness, workers: Sequence[WorkerProcess], migration: asyncio.Task[list[str]]
) -> None:
    """Waits for more effects, which must not wait for the migration."""
    query, names = "select count(*) from effects where worker = any($1)", [worker.name for worker in workers]
    enough = await world.database.fetchval(query, names) + world.count(100, fast=30)

    async def more() -> bool:
        return bool(await world.database.fetchval(query, names) >= enough)

    await eventually(more)
    assert not migration.done(), "nothing was worked on while it migrated"


# -- messages of the next version --------------------------------------------------------------------------------------


class NewerClient:
    """Sends messages of the next version: new fields at any time, the new type on request."""

    def __init__(self, world: FaultHarness) -> None:
        self._world = world
        self._languages: dict[str, str | None] = {}
        self._sent: dict[str, EncodedCommand] = {}
        self._scheduled: list[str] = []
        self.requests: dict[str, SubmittedCommand] = {}
        """Commands that the new type leaves for later."""

    def changed(self, sending: EncodedCommand) -> EncodedCommand:
        """The same command with fields that are new in the envelope and in the payload."""
        language = self._world.rng.choice(_LANGUAGES)
        self._languages[sending.command.id] = language
        document = json.loads(sending.body)
        document |= {"tenant": "acme"}
        document["payload"]["language"] = language
        self._sent[sending.command.id] = replace(sending, body=json.dumps(document).encode())
        return self._sent[sending.command.id]

    async def repeat_what(self, version: str, count: int) -> None:
        """Sends copies of so many commands that this version has handled."""
        query = "select event_id::text as id from effects where worker like $1 || '-%'"
        handled = [row["id"] for row in await self._world.database.fetch(query, version)]
        known = sorted(self._sent.keys() & handled)
        await self._world.send(*(self._sent[each] for each in self._world.rng.sample(known, count)))

    async def schedule(self, count: int, *, within: float) -> None:
        """Sends messages of the new type; each leaves a request for later, within the given seconds."""
        for each in range(count):
            sending, request = self._scheduling(f"ok scheduled {each}", self._world.rng.uniform(1, within))
            self._scheduled.append(sending.command.id)
            self.requests[request.id] = request
            await self._world.send(sending)
            self._world.history.invoke(request)
            if sending.command.id in self._world.history.accepted:
                self._world.history.ok(request.id)

    async def all_scheduled(self) -> bool:
        return await self._all_done(self._scheduled)

    async def all_requested(self) -> bool:
        return await self._all_done(self.requests)

    async def _all_done(self, ids: Collection[str]) -> bool:
        query = "select count(*) from effects where event_id = any($1::uuid[])"
        done: int = await self._world.database.fetchval(query, list(ids))
        return done >= len(ids)

    async def mixed_up_languages(self) -> Mapping[str, str]:
        """Command → its worker, where the field is not as it was sent although the version knows it, or the other way."""
        rows = await self._world.database.fetch(
            "select event_id::text as command, worker, language from effects"
        )
        return {
            row["command"]: row["worker"]
            for row in rows
            if row["language"]
            != (self._languages[row["command"]] if row["worker"].startswith("next") else None)
        }

    def _scheduling(self, keyword: str, in_seconds: float) -> tuple[EncodedCommand, SubmittedCommand]:
        usual = self._world.sending(keyword)
        command = usual.command
        request = replace(command, id=str(new_event_id()))
        language = self._world.rng.choice(_LANGUAGES)
        self._languages |= {command.id: language, request.id: language}
        message: DomainMessage[Any] = DomainMessage(
            event_id=command.id,
            type=next_version.SCHEDULED,
            source="orchestrator",
            timestamp=datetime.now(UTC),
            correlation_id=command.correlation_id,
            payload=ResearchScheduled(
                brand_slug=command.brand,
                keyword=keyword,
                language=language,
                request_id=request.id,
                in_seconds=in_seconds,
            ),
        )
        return replace(usual, body=encode(message), type=message.type), request
