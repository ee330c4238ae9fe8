"""Messages that kill their consumer, and what comes back so often that it might be one of them."""

import asyncio
import os
import signal
import sys

import pytest

from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand.payloads import ResearchRequested
from messaging import Context, Record, Service, WaitFor, on_each
from messaging.flow.dead_letters import read
from messaging.storage import crashes

QUEUE = "research-commands"
CRASHER = """
import asyncio, os, sys
from messaging import ServiceSettings, Service, on_batch, QueuePolicy
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchRequested

async def handle(messages, tx):
    for message in messages:
        if message.payload.keyword == "crash":
            os._exit(9)
        await tx.connection.execute("insert into effects values ($1, $2)", message.event_id, message.payload.keyword)

async def main():
    service = Service("research", ServiceSettings(), CATALOGUE)
    service.consume("research-commands", on_batch(handle, ResearchRequested), policy=QueuePolicy(max_batch_size=50))
    await service.run()

asyncio.run(main())
"""


@pytest.mark.extended
async def test_a_message_that_kills_its_consumer_dies_alone(world) -> None:
    for number in range(60):
        await world.send(world.request("crash" if number == 30 else f"k{number:02}"))
    environment = {
        **os.environ,
        "RABBITMQ_URL": world.rabbitmq_url,
        "DATABASE_URL": world.database_url,
        "SERVICE_KEY": "a-key-for-tests-only",
        "HTTP_PORT": "0",
    }
    crashes = 0
    dead = asyncio.create_task(world.broker.take(f"{QUEUE}-dlq", within=90))
    while not dead.done():
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", CRASHER, env=environment)
        ended = asyncio.create_task(process.wait())
        await asyncio.wait({dead, ended}, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            crashes += 1
            continue
        await eventually(lambda: world.has_effects(59))
        process.send_signal(signal.SIGTERM)
        await ended
    letter = read((await dead).body, dict((await dead).headers), QUEUE)
    assert letter.reason == "crashed_consumer"
    assert crashes == 5  # twice among its neighbours, then three times alone
    assert await world.effect_count() == 59
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0
    assert sorted((await world.outcomes()).values()) == ["dead"] + ["handled"] * 59


async def test_what_came_back_once_is_handled_side_by_side(world) -> None:
    """An outage or a deployment gives back everything in hand; one at a time, slow handlers would take hours over it."""
    together = asyncio.Barrier(3)

    async def meet(message: DomainMessage, _context: Context) -> Record:
        await together.wait()
        return lambda tx: world.write(tx, message)

    for name in "abc":
        await world.send(world.request(name))
    await world.broker.refuse(QUEUE, 3)
    service = world.service()
    service.consume(QUEUE, on_each(meet, ResearchRequested))
    async with running(service):
        await eventually(lambda: world.has_effects(3))
    assert await world.effects() == ["a", "b", "c"]


@pytest.mark.extended
async def test_a_handler_knows_that_all_others_wait_for_it(world) -> None:
    alone: list[bool] = []

    async def in_steps(message: DomainMessage, context: Context) -> Record:
        alone.append(context.alone)
        if context.alone:
            raise WaitFor("its next turn", "one step is done")
        return lambda tx: world.write(tx, message)

    await world.send(world.request())
    await make_suspect(world)
    service = world.service()
    service.consume(QUEUE, on_each(in_steps, ResearchRequested))
    async with running(service):
        await eventually(lambda: world.has_effects(1))
    assert alone == [True, False]


@pytest.mark.parametrize(
    ("redelivered", "headers", "suspect"),
    [
        (False, {}, False),
        (False, {"x-delivery-count": 7}, False),  # somebody forwards what was delivered to him
        (True, {"x-acquired-count": 3}, False),  # given back by basic.nack alone, from RabbitMQ 4.3
        (True, {"x-acquired-count": 3, "x-delivery-count": 1}, False),
        (True, {"x-acquired-count": 3, "x-delivery-count": 2}, True),
        (True, {"x-delivery-count": 1}, False),
        (True, {"x-delivery-count": 2}, True),
        (True, {}, True),  # a broker that does not count
        (True, {"x-delivery-count": "1"}, True),
    ],
)
def test_a_suspect_is_what_came_back_more_than_once(redelivered, headers, suspect) -> None:
    assert crashes.is_suspect(headers, redelivered=redelivered) == suspect


async def make_suspect(world) -> None:
    """The message that waits has come back once too often."""
    for _ in range(crashes.MAX_RETURNS + 1):
        await world.broker.refuse(QUEUE)


@pytest.mark.extended
async def test_a_suspect_that_another_replica_is_still_at_is_waited_for_and_no_crash_is_counted(
    world,
) -> None:
    begun: list[str] = []
    go_on = asyncio.Event()

    def replica(name: str, **settings: object) -> Service:
        async def slow(message: DomainMessage, _context: Context) -> Record:
            begun.append(name)
            await go_on.wait()
            return lambda tx: world.write(tx, message)

        service = world.service(**settings)
        service.consume(QUEUE, on_each(slow, ResearchRequested))
        return service

    await world.send(world.request())
    await make_suspect(world)
    async with (
        world.proxy_to_broker() as proxy,
        running(replica("first", rabbitmq_url=proxy.url)),
    ):
        await eventually(lambda: begun)
        proxy.cut()
        second = replica("second")
        async with running(second):
            await eventually(lambda: len(second.runners[0]._unsettled))
            go_on.set()
            await eventually(lambda: world.has_effects(1))
            await eventually(lambda: not len(second.runners[0]._unsettled))
            assert second.runners[0].settlement.counts.duplicates == 1
        proxy.mend()
    assert begun == ["first"]
    assert await world.database.fetchval("select count(*) from crash_markers") == 0


@pytest.mark.extended
async def test_who_lost_broker_and_database_at_a_suspect_and_lives_has_not_crashed(world) -> None:
    begun: list[str] = []
    away = asyncio.Event()

    def replica(name: str, **settings: object) -> Service:
        async def handle(message: DomainMessage, _context: Context) -> Record:
            begun.append(name)
            if name == "first":
                await away.wait()
            return lambda tx: world.write(tx, message)

        service = world.service(**settings)
        service.consume(QUEUE, on_each(handle, ResearchRequested))
        return service

    message = world.request()
    await world.database.execute(
        "insert into crash_markers (queue, event_id, starts) values ($1, $2, $3)",
        QUEUE,
        message.event_id,
        crashes.MAX_STARTS - 1,
    )
    await world.send(message)
    await make_suspect(world)
    async with (
        world.proxy_to_broker() as to_broker,
        world.proxy_to_database() as to_database,
    ):
        urls = {"rabbitmq_url": to_broker.url, "database_url": to_database.url}
        async with running(replica("first", **urls)):
            await eventually(lambda: begun)
            to_database.cut()
            to_broker.cut()
            away.set()
            async with running(replica("second")):
                # The second looks at the mark of the first, which cannot take it back yet.
                await eventually(lambda: someone_has_a_turn(world))
                to_database.mend()
                await eventually(lambda: world.has_effects(1))
            to_broker.mend()
    assert begun == ["first", "second"]
    assert await world.outcomes() == {message.event_id: "handled"}
    assert await world.database.fetchval("select count(*) from crash_markers") == 0


async def someone_has_a_turn(world) -> bool:
    query = "select count(*) > 0 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"
    return await world.database.fetchval(query)
