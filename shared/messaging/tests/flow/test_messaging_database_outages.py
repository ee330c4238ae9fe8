"""The database goes away, in the middle of work or for a while, or takes no writes."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest

from chassis.database.pool import DatabaseUnavailableError
from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand.payloads import ResearchRequested
from messaging import Context, QueuePolicy, Record, Transaction, on_batch, on_each

QUEUE = "research-commands"


@pytest.mark.extended
async def test_a_database_outage_pauses_consumption_and_costs_no_attempt(world) -> None:
    attempts: list[int] = []

    async def note(message: DomainMessage, context: Context) -> Record:
        attempts.append(context.attempt)
        return lambda tx: world.write(tx, message)

    async with world.proxy_to_database() as proxy:
        service = world.service(database_url=proxy.url, max_attempts=1)
        service.consume(QUEUE, on_each(note, ResearchRequested))
        async with running(service):
            proxy.cut()
            for number in range(5):
                await world.send(world.request(f"k{number}"))
            await eventually(lambda: world.has_consumers(0))
            problems = await service.problems()
            assert problems["database"] == "does not answer"
            assert problems[QUEUE] == "is not being consumed"
            proxy.mend()
            await eventually(lambda: world.has_effects(5))
            await eventually(lambda: world.is_ready(service))
    assert set(attempts) == {1}
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0
    assert await world.effect_count() == 5
    assert await world.database.fetchval("select count(*) from crash_markers") == 0


async def test_an_outage_that_several_tasks_of_a_handler_met_costs_no_attempt(world) -> None:
    attempts: list[int] = []

    async def note(message: DomainMessage, context: Context) -> Record:
        attempts.append(context.attempt)
        if len(attempts) == 1:
            raise ExceptionGroup("read together", [DatabaseUnavailableError("gone for a moment")] * 2)
        return lambda tx: world.write(tx, message)

    service = world.service(max_attempts=1)
    service.consume(QUEUE, on_each(note, ResearchRequested))
    async with running(service):
        await world.send(world.request())
        await eventually(lambda: world.has_effects(1))
    assert attempts == [1, 1]
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0


@pytest.mark.extended
async def test_the_database_lost_in_the_middle_of_a_batch_leaves_one_effect_each(world) -> None:
    async with world.proxy_to_database() as proxy:
        tripped = asyncio.Event()

        async def trip(messages: Sequence[DomainMessage], tx: Transaction) -> None:
            await world.write_all(messages, tx)
            if not tripped.is_set():
                tripped.set()
                proxy.cut()
                asyncio.get_running_loop().call_later(1, proxy.mend)
                await tx.connection.execute("select 1")

        service = world.service(database_url=proxy.url)
        service.consume(QUEUE, on_batch(trip, ResearchRequested))
        for number in range(20):
            await world.send(world.request(f"k{number:02}"))
        async with running(service):
            await eventually(lambda: world.has_effects(20))
    assert await world.effects() == [f"k{number:02}" for number in range(20)]
    assert service.runners[0].settlement.counts.retried.total() == 0


@pytest.mark.extended
async def test_a_database_that_is_lost_while_a_batch_gathers_keeps_no_message_back(world) -> None:
    """What was not begun is not begun any more, and is given back all the same, though nothing else arrives."""

    async def note(message: DomainMessage, _: Context) -> Record:
        return lambda tx: world.write(tx, message)

    service = world.service()
    service.consume(QUEUE, on_each(note, ResearchRequested), policy=QueuePolicy(max_batch_timeout=1.0))
    async with running(service):
        runner = service.runners[0]
        await world.send(world.request())
        await eventually(lambda: runner.in_hand)
        runner._pause_consumption(DatabaseUnavailableError("gone for a moment"))
        await eventually(lambda: world.has_effects(1))


async def test_a_database_that_takes_no_writes_is_an_outage_too(world, postgres_url) -> None:
    name = urlsplit(world.database_url).path.removeprefix("/")
    administrator = await asyncpg.connect(postgres_url)
    service = world.service(max_attempts=1)
    service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    try:
        async with running(service):
            await set_read_only(administrator, name, "on")
            await world.send(world.request())
            await eventually(lambda: world.has_consumers(0))
            assert "database" in await service.problems()
            await set_read_only(administrator, name, "off")
            await eventually(lambda: world.has_effects(1))
    finally:
        await administrator.close()
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0


async def set_read_only(administrator: asyncpg.Connection, database: str, value: str) -> None:
    await administrator.execute(f'alter database "{database}" set default_transaction_read_only = {value}')
    await administrator.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'research'",
        database,
    )


async def test_health_says_what_is_wrong(world) -> None:
    async with world.proxy_to_database() as proxy:
        service = world.service(database_url=proxy.url)
        service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
        async with running(service), httpx.AsyncClient(base_url=f"http://127.0.0.1:{service.port}") as client:
            assert (await client.get("/health/ready")).status_code == 200
            proxy.cut()
            answer = await client.get("/health/ready", timeout=60)
            assert answer.status_code == 503
            assert "database" in answer.json()["problems"]
            assert (await client.get("/health/live")).status_code == 200
            proxy.mend()
