"""What happens when the database, the broker or the process goes away."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import httpx
import pytest
import structlog

from chassis.testing import TcpProxy, eventually, running
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ArticleContext, ResearchCompleted, ResearchRequested, SocialCreate
from messaging import Context, QueuePolicy, Record, Service, Transaction, on_batch, on_each, topology
from messaging.broker.deliveries import Delivery
from messaging.flow.dead_letters import read
from messaging.flow.relay import LEASE
from messaging.storage import crashes
from messaging.testing import Broker

QUEUE = "research-commands"


async def write(tx: Transaction, message: DomainMessage) -> None:
    await tx.connection.execute(
        "insert into effects values ($1, $2)", message.event_id, message.payload.keyword
    )


async def write_all(messages: Sequence[DomainMessage], tx: Transaction) -> None:
    for message in messages:
        await write(tx, message)


def through(proxy: TcpProxy, url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{proxy.port}").geturl()


def proxy_to(url: str, default_port: int) -> TcpProxy:
    parts = urlsplit(url)
    return TcpProxy(parts.hostname or "127.0.0.1", parts.port or default_port)


async def effect_count(world) -> int:
    return await world.database.fetchval("select count(*) from effects")


async def test_a_database_outage_pauses_consumption_and_costs_no_attempt(world) -> None:
    attempts: list[int] = []

    async def note(message: DomainMessage, context: Context) -> Record:
        attempts.append(context.attempt)
        return lambda tx: write(tx, message)

    async with proxy_to(world.database_url, 5432) as proxy:
        service = world.service(database_url=through(proxy, world.database_url), max_attempts=1)
        service.consume(QUEUE, on_each(note, ResearchRequested))
        async with running(service):
            proxy.cut()
            for number in range(5):
                await world.send(world.request(f"k{number}"))
            await eventually(lambda: consumers(world, 0))
            problems = await service.problems()
            assert problems["database"] == "does not answer"
            assert problems[QUEUE] == "is not being consumed"
            proxy.mend()
            await eventually(lambda: counted(world, 5))
            await eventually(lambda: ready(service))
    assert set(attempts) == {1}
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0
    assert await effect_count(world) == 5
    assert await world.database.fetchval("select count(*) from crash_markers") == 0


async def consumers(world, wanted: int) -> bool:
    return await world.broker.consumers(QUEUE) == wanted


async def counted(world, wanted: int) -> bool:
    return await effect_count(world) == wanted


async def ready(service) -> bool:
    return not await service.problems()


async def test_the_database_lost_in_the_middle_of_a_batch_leaves_one_effect_each(world) -> None:
    async with proxy_to(world.database_url, 5432) as proxy:
        tripped = asyncio.Event()

        async def trip(messages: Sequence[DomainMessage], tx: Transaction) -> None:
            await write_all(messages, tx)
            if not tripped.is_set():
                tripped.set()
                proxy.cut()
                asyncio.get_running_loop().call_later(1, proxy.mend)
                await tx.connection.execute("select 1")

        service = world.service(database_url=through(proxy, world.database_url))
        service.consume(QUEUE, on_batch(trip, ResearchRequested))
        for number in range(20):
            await world.send(world.request(f"k{number:02}"))
        async with running(service):
            await eventually(lambda: counted(world, 20))
    assert await world.effects() == [f"k{number:02}" for number in range(20)]
    assert service.runners[0].settlement.counts.retried.total() == 0


async def test_a_broker_outage_keeps_what_is_to_be_sent_and_consumption_returns(world) -> None:
    async def answer(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        await write_all(messages, tx)
        for message in messages:
            tx.send(
                ResearchCompleted(
                    brand_slug="acme", research_id=message.event_id, keyword=message.payload.keyword
                ),
                caused_by=message,
            )

    async with proxy_to(world.rabbitmq_url, 5672) as proxy:
        service = world.service(rabbitmq_url=through(proxy, world.rabbitmq_url))
        service.consume(QUEUE, on_batch(answer, ResearchRequested))
        async with running(service):
            proxy.cut()
            await eventually(lambda: not service._publisher.ready)
            async with service.database.transaction() as tx:
                tx.send(ResearchRequested(brand_slug="acme", keyword="written during the outage"))
            assert not await world.outbox_is_empty()
            await world.send(world.request("sent during the outage"))
            proxy.mend()
            await eventually(lambda: counted(world, 2), within=60)
            await eventually(world.outbox_is_empty, within=60)
    assert await world.effects() == ["sent during the outage", "written during the outage"]
    assert await world.broker.depth("brand-events") == 2


async def test_what_a_crashed_publisher_left_is_published_by_another(world) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    async with running(service):
        async with service.database.transaction() as tx:
            tx.send(ResearchRequested(brand_slug="acme", keyword="left behind"))
            rows, tx.outgoing = tx.outgoing, []
            # As a process leaves it that dies between commit and publish: written, leased, never published.
            await service._relay.write(tx.connection, rows)
            await tx.connection.execute("update outbox set due_at = clock_timestamp() + interval '1 second'")
        service._relay._wake.set()
        await eventually(world.effects)
        await eventually(world.outbox_is_empty)
    assert await world.effects() == ["left behind"]


async def test_what_was_committed_while_the_broker_went_away_need_not_outlive_its_lease(world) -> None:
    async with proxy_to(world.rabbitmq_url, 5672) as proxy:
        service = world.service(rabbitmq_url=through(proxy, world.rabbitmq_url))
        async with running(service):
            await service._publisher.wait_until_ready()
            async with service.database.transaction() as tx:
                tx.send(ResearchRequested(brand_slug="acme", keyword="between"))
                rows, tx.outgoing = tx.outgoing, []
                held = await service._relay.write(tx.connection, rows)
                proxy.cut()
                await eventually(lambda: not service._publisher.ready)
            service._relay.submit(rows, held=held)
            proxy.mend()
            await eventually(world.outbox_is_empty, within=LEASE.total_seconds() / 2)
    assert await world.broker.depth(QUEUE) == 1


async def test_a_stopped_consumers_backlog_is_processed_on_restart(world) -> None:
    for number in range(250):
        await world.send(world.request(f"k{number:03}"))
    first = world.service()
    first.consume(
        QUEUE, on_batch(write_all, ResearchRequested), policy=QueuePolicy(max_batch_size=10, prefetch=20)
    )
    async with running(first):
        await eventually(lambda: effect_count(world))
    second = world.service()
    second.consume(QUEUE, on_batch(write_all, ResearchRequested))
    async with running(second):
        await eventually(lambda: counted(world, 250))
        assert await world.broker.depth(QUEUE) == 0
    assert await world.effects() == [f"k{number:03}" for number in range(250)]


async def test_shutdown_finishes_what_is_in_hand_and_gives_back_the_rest(world) -> None:
    started = asyncio.Event()

    async def slow(message: DomainMessage, _context: Context) -> Record:
        started.set()
        await asyncio.sleep(0.5)
        return lambda tx: write(tx, message)

    for number in range(20):
        await world.send(world.request(f"k{number:02}"))
    service = world.service()
    service.consume(QUEUE, on_each(slow, ResearchRequested), policy=QueuePolicy(max_concurrency=2))
    async with running(service):
        await started.wait()
    done = await effect_count(world)
    assert 2 <= done < 20
    assert service.runners[0].settlement.counts.retried.total() == 0
    await eventually(lambda: depth_is(world, 20 - done))


async def test_shutdown_finishes_what_set_based_handlers_wait_for(world) -> None:
    service = world.service()

    async def once_it_stops(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        await eventually(lambda: service.runners[0]._stopping)
        await write_all(messages, tx)

    for number in range(40):
        await world.send(world.request(f"k{number:02}"))
    policy = QueuePolicy(max_batch_size=5, prefetch=40)
    service.consume(QUEUE, on_batch(once_it_stops, ResearchRequested), policy=policy)
    async with running(service):
        await eventually(lambda: service.runners[0].in_hand == 40)
    assert await effect_count(world) == 40
    assert await world.broker.depth(QUEUE) == 0


async def depth_is(world, wanted: int) -> bool:
    return await world.broker.depth(QUEUE) == wanted


async def test_past_the_grace_period_the_attempt_is_given_back_uncounted(world) -> None:
    started = asyncio.Event()

    async def endless(_message: DomainMessage, _context: Context) -> None:
        started.set()
        await asyncio.sleep(3600)

    service = world.service(shutdown_grace_seconds=0.3)
    service.consume(QUEUE, on_each(endless, ResearchRequested))
    await world.send(world.request())
    async with running(service):
        await started.wait()
    await eventually(lambda: depth_is(world, 1))
    assert await world.outbox_is_empty()
    assert await world.outcomes() == {}


CRASHER = """
import asyncio, os, sys
from messaging import ServiceSettings, Service, on_batch, QueuePolicy
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
        await eventually(lambda: counted(world, 59))
        process.send_signal(signal.SIGTERM)
        await ended
    letter = read((await dead).body, dict((await dead).headers), QUEUE)
    assert letter.reason == "crashed_consumer"
    assert crashes == 5  # twice among its neighbours, then three times alone
    assert await effect_count(world) == 59
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0
    assert sorted((await world.outcomes()).values()) == ["dead"] + ["handled"] * 59


async def test_what_came_back_once_is_handled_side_by_side(world) -> None:
    """An outage or a deployment gives back everything in hand; one at a time, slow handlers would take hours over it."""
    together = asyncio.Barrier(3)

    async def meet(message: DomainMessage, _context: Context) -> Record:
        await together.wait()
        return lambda tx: write(tx, message)

    for name in "abc":
        await world.send(world.request(name))
    await world.broker.refuse(QUEUE, 3)
    service = world.service()
    service.consume(QUEUE, on_each(meet, ResearchRequested))
    async with running(service):
        await eventually(lambda: counted(world, 3))
    assert await world.effects() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("redelivered", "headers", "suspect"),
    [
        (False, {}, False),
        (False, {"x-delivery-count": 7}, False),  # somebody forwards what was delivered to him
        (True, {"x-delivery-count": 0}, False),  # given back by basic.nack, from RabbitMQ 4.3
        (True, {"x-delivery-count": 1}, False),
        (True, {"x-delivery-count": 2}, True),
        (True, {}, True),  # a broker that does not count
        (True, {"x-delivery-count": "1"}, True),
    ],
)
def test_a_suspect_is_what_came_back_more_than_once(redelivered, headers, suspect) -> None:
    delivery = Delivery(None, 1, b"", None, headers, redelivered)
    assert crashes.is_suspect(delivery) == suspect


async def make_suspect(world) -> None:
    """The message that waits has come back once too often."""
    for _ in range(crashes.MAX_RETURNS + 1):
        await world.broker.refuse(QUEUE)


async def test_a_suspect_that_another_replica_is_still_at_is_waited_for_and_no_crash_is_counted(
    world,
) -> None:
    begun: list[str] = []
    go_on = asyncio.Event()

    def replica(name: str, **settings: object) -> Service:
        async def slow(message: DomainMessage, _context: Context) -> Record:
            begun.append(name)
            await go_on.wait()
            return lambda tx: write(tx, message)

        service = world.service(**settings)
        service.consume(QUEUE, on_each(slow, ResearchRequested))
        return service

    await world.send(world.request())
    await make_suspect(world)
    async with (
        proxy_to(world.rabbitmq_url, 5672) as proxy,
        running(replica("first", rabbitmq_url=through(proxy, world.rabbitmq_url))),
    ):
        await eventually(lambda: begun)
        proxy.cut()
        second = replica("second")
        async with running(second):
            await eventually(lambda: len(second.runners[0]._unsettled))
            go_on.set()
            await eventually(lambda: counted(world, 1))
            await eventually(lambda: not len(second.runners[0]._unsettled))
            assert second.runners[0].settlement.counts.duplicates == 1
        proxy.mend()
    assert begun == ["first"]
    assert await world.database.fetchval("select count(*) from crash_markers") == 0


async def test_who_lost_broker_and_database_at_a_suspect_and_lives_has_not_crashed(world) -> None:
    begun: list[str] = []
    away = asyncio.Event()

    def replica(name: str, **settings: object) -> Service:
        async def handle(message: DomainMessage, _context: Context) -> Record:
            begun.append(name)
            if name == "first":
                await away.wait()
            return lambda tx: write(tx, message)

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
        proxy_to(world.rabbitmq_url, 5672) as to_broker,
        proxy_to(world.database_url, 5432) as to_database,
    ):
        urls = {
            "rabbitmq_url": through(to_broker, world.rabbitmq_url),
            "database_url": through(to_database, world.database_url),
        }
        async with running(replica("first", **urls)):
            await eventually(lambda: begun)
            to_database.cut()
            to_broker.cut()
            away.set()
            async with running(replica("second")):
                # The second looks at the mark of the first, which cannot take it back yet.
                await eventually(lambda: someone_has_a_turn(world))
                to_database.mend()
                await eventually(lambda: counted(world, 1))
            to_broker.mend()
    assert begun == ["first", "second"]
    assert await world.outcomes() == {message.event_id: "handled"}
    assert await world.database.fetchval("select count(*) from crash_markers") == 0


async def someone_has_a_turn(world) -> bool:
    query = "select count(*) > 0 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"
    return await world.database.fetchval(query)


async def test_a_consumer_whose_queue_is_missing_for_long_comes_back_with_it(world, monkeypatch) -> None:
    monkeypatch.setattr("messaging.broker.subscription.WATCH_SECONDS", 0.3)
    # The client library's own recovery has ended when it looks between our cancelling and our declaring.
    monkeypatch.setattr("aio_pika.RobustConnection._request_recovery", lambda _: None)
    service = world.service()
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    with structlog.testing.capture_logs() as logs:
        async with running(service):
            await world.broker.delete(QUEUE)
            await eventually(lambda: [each["event"] for each in logs].count("consumer_not_restored") > 3)
            await topology.declare(world.rabbitmq_url, CATALOGUE)
            await eventually(lambda: service.runners[0].subscription.consuming)
            await world.send(world.request("after"))
            await eventually(world.effects)
    assert await world.effects() == ["after"]


async def test_a_consumer_that_the_broker_cancelled_is_brought_back(world, monkeypatch) -> None:
    monkeypatch.setattr("messaging.broker.subscription.WATCH_SECONDS", 0.3)
    service = world.service()
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    async with running(service):
        await world.broker.delete(QUEUE)
        await eventually(lambda: not service.runners[0].subscription.consuming)
        assert QUEUE in await service.problems()
        await topology.declare(world.rabbitmq_url, CATALOGUE)
        await eventually(lambda: service.runners[0].subscription.consuming)
        await world.send(world.request("after"))
        await eventually(world.effects)
    assert await world.effects() == ["after"]


async def test_an_unroutable_message_stays_in_the_outbox_and_holds_up_nobody(world) -> None:
    await world.broker.delete("social-commands")
    service = world.service()
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    async with running(service):
        async with service.database.transaction() as tx:
            article = ArticleContext(title="t", keyword="k", meta_description="")
            tx.send(
                SocialCreate(brand_slug="acme", content_id=world.request().event_id, article_context=article)
            )
            tx.send(ResearchRequested(brand_slug="acme", keyword="routable"))
        await eventually(world.effects)
        row = await eventually(
            lambda: world.database.fetchrow("select * from outbox where last_error is not null")
        )
    assert row["routing_key"] == "social-commands"
    assert "Unroutable" in row["last_error"]


async def test_health_says_what_is_wrong(world) -> None:
    async with proxy_to(world.database_url, 5432) as proxy:
        service = world.service(database_url=through(proxy, world.database_url))
        service.consume(QUEUE, on_batch(write_all, ResearchRequested))
        async with running(service), httpx.AsyncClient(base_url=f"http://127.0.0.1:{service.port}") as client:
            assert (await client.get("/health/ready")).status_code == 200
            proxy.cut()
            answer = await client.get("/health/ready", timeout=20)
            assert answer.status_code == 503
            assert "database" in answer.json()["problems"]
            assert (await client.get("/health/live")).status_code == 200
            proxy.mend()


async def test_the_queue_missing_at_the_start_is_waited_for(world, make_vhost) -> None:
    url = await make_vhost(topology=False)
    service = world.service(rabbitmq_url=url)
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    task = asyncio.create_task(service.run())
    await eventually(lambda: service.port)
    await topology.declare(url, CATALOGUE)
    await eventually(lambda: ready(service))
    async with Broker.connected(url) as broker:
        assert await broker.consumers(QUEUE) == 1
    service.stop()
    await task


async def test_too_full_an_outbox_slows_consumption_until_it_has_drained(world) -> None:
    await world.broker.delete("social-commands")
    service = world.service()
    service._relay._backlog_limit = 5
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    article = ArticleContext(title="t", keyword="k", meta_description="")
    async with running(service):
        async with service.database.transaction() as tx:
            for _ in range(10):
                tx.send(SocialCreate(brand_slug="acme", content_id=uuid4(), article_context=article))
        assert "outbox" in await service.problems()
        await world.send(world.request("waits"))
        await eventually(lambda: world.database.fetchval("select bool_and(publish_attempts > 1) from outbox"))
        assert await world.effects() == []
        await topology.declare(world.rabbitmq_url, CATALOGUE)
        await eventually(world.effects, within=60)
        await eventually(lambda: ready(service))
    assert await world.broker.depth("social-commands") == 10


async def test_a_service_whose_runner_breaks_ends_instead_of_standing_still(world, monkeypatch) -> None:
    async def broken(*_: object) -> None:
        raise AssertionError("a mistake in the runtime itself")

    service = world.service(shutdown_grace_seconds=0.2)
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    monkeypatch.setattr(service.runners[0], "_handle", broken)
    await world.send(world.request())
    with pytest.raises(AssertionError, match="the runtime itself"):
        await service.run()
    await eventually(lambda: depth_is(world, 1))


async def test_logs_of_a_handler_carry_the_message_they_are_about(world) -> None:
    bound: list[dict[str, object]] = []

    async def note(_message: DomainMessage, _context: Context) -> None:
        bound.append(structlog.contextvars.get_contextvars())

    service = world.service()
    service.consume(QUEUE, on_each(note, ResearchRequested))
    message = world.request()
    async with running(service):
        await world.send(message, headers={"attempt": 2})
        await eventually(lambda: bound)
    delay = bound[0].pop("processing_delay_ms")
    assert isinstance(delay, int)
    assert 0 <= delay < 30_000
    assert bound[0] == {
        "event_id": str(message.event_id),
        "type": "research.requested",
        "correlation_id": "chain-1",
        "attempt": 2,
        "queue": QUEUE,
    }


async def test_a_database_that_takes_no_writes_is_an_outage_too(world, postgres_url) -> None:
    name = urlsplit(world.database_url).path.removeprefix("/")
    administrator = await asyncpg.connect(postgres_url)
    service = world.service(max_attempts=1)
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    try:
        async with running(service):
            await set_read_only(administrator, name, "on")
            await world.send(world.request())
            await eventually(lambda: consumers(world, 0))
            assert "database" in await service.problems()
            await set_read_only(administrator, name, "off")
            await eventually(lambda: counted(world, 1), within=60)
    finally:
        await administrator.close()
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0


async def set_read_only(administrator: asyncpg.Connection, database: str, value: str) -> None:
    await administrator.execute(f'alter database "{database}" set default_transaction_read_only = {value}')
    await administrator.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'research'",
        database,
    )
