"""The broker goes away, or the queue that is consumed does."""

import asyncio
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import pytest
import structlog
import uvloop

from chassis.tasks import cancel_all
from chassis.testing import Direction, eventually, running
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchCompleted, ResearchRequested
from messaging import Service, ServiceSettings, Transaction, on_batch, topology
from messaging.broker.publisher import Publisher
from messaging.flow import relay
from messaging.testing import Broker

QUEUE = "research-commands"


@pytest.mark.extended
async def test_a_broker_outage_keeps_what_is_to_be_sent_and_consumption_returns(world) -> None:
    async def answer(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        await world.write_all(messages, tx)
        for message in messages:
            tx.send(
                ResearchCompleted(
                    brand_slug="acme", research_id=message.event_id, keyword=message.payload.keyword
                ),
                caused_by=message,
            )

    async with world.proxy_to_broker() as proxy:
        service = world.service("orchestrator", rabbitmq_url=proxy.url)
        service.consume(QUEUE, on_batch(answer, ResearchRequested))
        async with running(service):
            proxy.cut()
            await eventually(lambda: not service._publisher.ready)
            async with service.database.transaction() as tx:
                tx.send(ResearchRequested(brand_slug="acme", keyword="written during the outage"))
            assert not await world.outbox_is_empty()
            await world.send(world.request("sent during the outage"))
            proxy.mend()
            await eventually(lambda: world.has_effects(2))
            await eventually(world.outbox_is_empty)
    assert await world.effects() == ["sent during the outage", "written during the outage"]
    assert await world.broker.depth("orchestrator-events") == 2


@pytest.mark.extended
async def test_what_was_committed_while_the_broker_went_away_need_not_outlive_its_lease(
    world, monkeypatch
) -> None:
    monkeypatch.setattr(relay, "LEASE", timedelta(hours=1))
    async with world.proxy_to_broker() as proxy:
        service = world.service(rabbitmq_url=proxy.url)
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
            await eventually(world.outbox_is_empty)
    assert await world.broker.depth(QUEUE) == 1


@pytest.mark.extended
async def test_a_consumer_whose_queue_is_missing_for_long_comes_back_with_it(world, monkeypatch) -> None:
    monkeypatch.setattr("messaging.broker.subscription.WATCH_SECONDS", 0.3)
    # The client library's own recovery has ended when it looks between our cancelling and our declaring.
    monkeypatch.setattr("aio_pika.RobustConnection._request_recovery", lambda _: None)
    service = world.service()
    service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
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
    service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    async with running(service):
        await world.broker.delete(QUEUE)
        await eventually(lambda: not service.runners[0].subscription.consuming)
        assert QUEUE in await service.problems()
        await topology.declare(world.rabbitmq_url, CATALOGUE)
        await eventually(lambda: service.runners[0].subscription.consuming)
        await world.send(world.request("after"))
        await eventually(world.effects)
    assert await world.effects() == ["after"]


@pytest.mark.extended
def test_a_peer_that_accepts_and_closes_is_a_broker_that_is_away() -> None:
    """As a load balancer does without a living broker. On the event loop of the services: it matters what is read when."""
    accepted = 0

    def accept_and_close(listener: socket.socket) -> None:
        nonlocal accepted
        with suppress(OSError):
            while True:
                listener.accept()[0].close()
                accepted += 1

    async def connect(url: str) -> None:
        publisher = Publisher(url, name="test")
        values = {
            "rabbitmq_url": url,
            "database_url": "postgresql://nowhere",
            "service_key": "a-key-for-tests-only",
        }
        service = Service("research", ServiceSettings.model_validate(values), CATALOGUE)
        trying = [asyncio.create_task(each) for each in (publisher.run(), service._connect_broker())]
        await eventually(lambda: accepted > 8 or any(task.done() for task in trying))
        ended = [task for task in trying if task.done()]
        await cancel_all(trying)
        assert not ended

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept_and_close, args=(listener,), daemon=True).start()
        uvloop.run(connect(f"amqp://user:password@127.0.0.1:{listener.getsockname()[1]}/"))
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.extended
async def test_a_broker_that_stands_still_is_known_and_left_within_seconds(world) -> None:
    """Connections stay open, and nobody answers on them; idle neighbours must not look ready."""
    async with world.proxy_to_broker() as proxy:
        service = world.service(rabbitmq_url=proxy.url)
        service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
        async with running(service):
            links = proxy.links
            proxy.black_hole()
            with structlog.testing.capture_logs() as logs:
                assert (await service.problems())["broker"] == "does not answer"
                # Both connections are dropped, and made anew.
                await eventually(
                    lambda: [each["event"] for each in logs].count("broker_silent") >= 2, within=15
                )
                await eventually(lambda: proxy.fired["hung"] >= links)
            assert {each["connection"] for each in logs if each["event"] == "broker_silent"} == {
                "research publish",
                "research consume",
            }
            await world.send(world.request("after"))
            proxy.mend()
            await eventually(lambda: world.has_effects(1))
            await eventually(lambda: world.is_ready(service))


@pytest.mark.extended
async def test_a_consumer_counts_only_once_the_broker_has_said_so(world) -> None:
    """A broker without a majority takes the question and does not answer."""
    async with world.proxy_to_broker() as proxy:
        service = world.service(rabbitmq_url=proxy.url)
        service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
        async with running(service):
            consume_ok = proxy.strike(b"\x00\x3c\x00\x15", towards=Direction.CLIENT, action="silence")
            proxy.reset()
            await consume_ok.struck.wait()
            assert not service.runners[0].subscription.consuming
            # That connection is silent now, and left; the next one gets its answer.
            await eventually(lambda: world.is_ready(service))


async def test_the_queue_missing_at_the_start_is_waited_for(world, make_vhost) -> None:
    url = await make_vhost(topology=False)
    service = world.service(rabbitmq_url=url)
    service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    task = asyncio.create_task(service.run())
    await eventually(lambda: service.port)
    await topology.declare(url, CATALOGUE)
    await eventually(lambda: world.is_ready(service))
    async with Broker.connected(url) as broker:
        assert await broker.consumers(QUEUE) == 1
    service.stop()
    await task
