"""The five real services under load, while they, their broker or their databases go down, or their documents are hostile."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import asyncpg
import httpx

from brandctl.local import services
from chassis.testing import eventually
from faults.judging.checker import Violation
from faults.judging.results import ScenarioOutcome
from faults.playing.scenario import scenario
from faults.playing.stack import CORPUS, ServiceStack
from faults.playing.world import FaultHarness
from faults.strange_input import documents

_PER_SECOND = 5
_HOSTILE_DOCUMENTS: Final = 80
_SUFFIXES: Final = frozenset({".html", ".md", ".txt"})
_LONGEST_SILENCE_SECONDS: Final = 2.0
_KILLED = tuple(f"{name} killed" for name in services.NAMES)


@scenario(
    "every service killed in turn",
    "SIGKILL to each of the five services while keywords are on their way through all of them",
    faults=_KILLED,
)
async def every_service_killed_in_turn(world: FaultHarness) -> ScenarioOutcome:
    async with ServiceStack.running(world) as stack:
        async with stack.load(_PER_SECOND):
            for number, name in enumerate(services.NAMES, 1):
                await at_work(stack, 4 * number)
                await stack.kill(name)
                await asyncio.sleep(0.5)  # the others go on without it for a while: that is what is tested
                stack.start(name)
                await stack.ready()
            await at_work(stack, 60)
        return await stack.outcome(_KILLED)


@scenario(
    "broker restarts under the services",
    "the broker is stopped and started again while keywords are on their way",
    faults=("broker restarted",),
    own_nodes=True,
)
async def broker_restarts_under_the_services(world: FaultHarness) -> ScenarioOutcome:
    broker = world.servers.broker
    assert broker is not None
    async with ServiceStack.running(world) as stack:
        async with stack.load(_PER_SECOND):
            await at_work(stack, 10)
            await broker.stop()
            await broker.start()
            world.history.fault("broker restarted")
            await at_work(stack, 40)
        return await stack.outcome(("broker restarted",))


@scenario(
    "database restarts under the services",
    "the database server is killed and started again while keywords are on their way",
    faults=("database killed",),
    own_nodes=True,
)
async def database_restarts_under_the_services(world: FaultHarness) -> ScenarioOutcome:
    database = world.servers.database
    assert database is not None
    async with ServiceStack.running(world) as stack:
        async with stack.load(_PER_SECOND):
            await at_work(stack, 10)
            await database.kill()
            await asyncio.sleep(1)  # long enough for every service to notice
            await database.start()
            world.history.fault("database killed")
            await at_work(stack, 40)
        return await stack.outcome(("database killed",))


async def at_work(stack: ServiceStack, posts: int) -> None:
    """Returns once keywords are in all stages."""

    async def enough() -> bool:
        return await stack.posted() >= posts

    await eventually(enough)


@scenario(
    "hostile documents",
    "documents made to take hours or all of the memory, among good ones; readers and their service are killed over them",
    faults=("reader killed", "research killed"),
    budget=420.0,
)
async def hostile_documents(world: FaultHarness) -> ScenarioOutcome:
    corpus = world.folder / "corpus"
    shutil.copytree(CORPUS, corpus)
    good = {path.relative_to(corpus).as_posix() for path in corpus.rglob("*.*") if path.suffix in _SUFFIXES}
    made = documents.hostile(world.rng, _HOSTILE_DOCUMENTS)
    for document in (*made, *documents.CONDEMNED):
        # Sorted among the others, so that what comes after them has to get its turn.
        (corpus / document.name).write_bytes(document.content)
    async with ServiceStack.running(world, corpus=corpus) as stack:
        async with alive(stack) as silences, stack.load(1):
            await kill_a_reader(stack)
            await being_read(stack, documents.CONDEMNED[0].name)
            await stack.kill("research")
            stack.start("research")
            await stack.ready()
            await all_read(stack, {each.name for each in (*made, *documents.CONDEMNED)} | good)
            await at_work(stack, 5)
        outcome = await stack.outcome(("reader killed", "research killed"), within=150)
        before = await listed(stack)
        await stack.kill("research")
        stack.start("research")
        await stack.ready()
        after = await listed(stack)
    found = (*judge_documents(before, good), *judge_silences(silences))
    if [each["id"] for each in before.values()] != [each["id"] for each in after.values()]:
        found = (*found, Violation(0, "a restart read documents again that had not changed"))
    return replace(outcome, violations=(*outcome.violations, *found))


def judge_documents(listed: dict[str, dict[str, Any]], good: set[str]) -> Iterator[Violation]:
    for name in good:
        if listed[name]["state"] != "read":
            yield Violation(0, f"{name} is {listed[name]['state']}: {listed[name]['problem']}")
    for document in documents.CONDEMNED:
        told = listed[document.name]
        if told["state"] != "set_aside" or document.reason not in (told["problem"] or ""):
            yield Violation(0, f"{document.name} is {told['state']}: {told['problem']}")
    unexplained = [name for name, each in listed.items() if each["state"] != "read" and not each["problem"]]
    if unexplained:
        yield Violation(0, f"set aside or skipped without a reason: {unexplained}")


def judge_silences(silences: list[float]) -> Iterator[Violation]:
    if max(silences, default=0.0) > _LONGEST_SILENCE_SECONDS:
        yield Violation(0, f"research did not say for {max(silences):.1f} s that it lives")


@asynccontextmanager
async def alive(stack: ServiceStack) -> AsyncIterator[list[float]]:
    """Asks research again and again whether it lives; how long each answer took, in seconds, outages apart."""
    silences: list[float] = []

    async def ask() -> None:
        async with stack.api("research") as api:
            while True:
                began = time.monotonic()
                try:
                    (await api.get("/health/live", timeout=60)).raise_for_status()
                except httpx.TransportError:
                    pass  # killed just now
                else:
                    silences.append(time.monotonic() - began)
                await asyncio.sleep(0.1)

    asking = asyncio.create_task(ask(), name="alive")
    try:
        yield silences
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def kill_a_reader(stack: ServiceStack) -> None:
    """Kills a reader, as the kernel does when memory runs out."""
    research = stack.children["research"].process.pid

    def readers() -> list[int]:
        tasks = Path(f"/proc/{research}/task").iterdir()
        return [int(each) for task in tasks for each in (task / "children").read_text().split()]

    await eventually(readers)
    os.kill(readers()[0], signal.SIGKILL)
    stack.world.history.fault("reader killed")


async def being_read(stack: ServiceStack, name: str) -> None:
    """Returns while research reads the document."""
    connection = await asyncpg.connect(stack.environments["research"]["DATABASE_URL"])

    async def begun() -> bool:
        return bool(
            await connection.fetchval("select exists (select from reads_under_way where path = $1)", name)
        )

    try:
        await eventually(begun)
    finally:
        await connection.close()


async def all_read(stack: ServiceStack, files: Collection[str]) -> None:
    """Returns once something has become of each of these files of the corpus."""

    async def enough() -> bool:
        return set(files) <= (await listed(stack)).keys()

    await eventually(enough, within=240)


async def listed(stack: ServiceStack) -> dict[str, dict[str, Any]]:
    """The documents of the corpus by path, as the operator sees them."""
    async with stack.api("research") as api:
        answer = await api.get("/v1/documents", params={"limit": 200})
        answer.raise_for_status()
        return {item["path"]: item for item in answer.json()["items"]}
