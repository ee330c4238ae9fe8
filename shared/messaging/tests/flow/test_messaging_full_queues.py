"""Another service's queue that refuses messages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aio_pika
import pytest
import structlog

from chassis.testing import eventually, running
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchCompleted, ResearchRequested
from messaging import Service
from messaging.flow import route_backoff

FILLED_BY = "research.completed"


@asynccontextmanager
async def full_queue(world) -> AsyncIterator[aio_pika.abc.AbstractQueue]:
    """Beside the events' own queue; it has room for one message."""
    connection = await aio_pika.connect(world.rabbitmq_url)
    async with connection, connection.channel() as channel:
        full = await channel.declare_queue(
            "outsider", arguments={"x-max-length": 1, "x-overflow": "reject-publish"}
        )
        await full.bind(CATALOGUE.events, FILLED_BY)
        yield full


async def fill(world, service: Service) -> None:
    async with service.database.transaction() as tx:
        for number in range(16):
            tx.send(
                ResearchCompleted(
                    brand_slug="acme", research_id=world.request().event_id, keyword=f"k{number}"
                )
            )


@pytest.mark.extended
async def test_a_full_queue_does_not_make_its_neighbours_receive_the_same_again_and_again(
    world, monkeypatch
) -> None:
    # On a busy machine the one that finds out may take longer than others usually wait for it.
    monkeypatch.setattr(route_backoff, "_PROBE_SECONDS", 15.0)
    service = world.service()
    async with full_queue(world) as full, running(service):
        with structlog.testing.capture_logs() as logs:
            await fill(world, service)
            await eventually(lambda: [each["event"] for each in logs].count("queue_full") >= 3)
            arrived = await world.broker.depth(CATALOGUE.events_queue)
            pauses = [each["retry_seconds"] for each in logs if each["event"] == "queue_full"]
        assert pauses[:3] == [1, 2, 4]
        # All at first, and after each pause one that finds out.
        assert arrived <= 16 + len(pauses)
        assert await world.database.fetchval("select count(*) from outbox where last_error like 'QueueFull%'")
        await full.delete(if_empty=False)
        await eventually(world.outbox_is_empty)
    assert service._relay.counts.failed["full"] >= 3


async def test_while_a_route_rests_others_are_as_quick_as_ever(world) -> None:
    service = world.service()
    resting = service._relay._routes._resting
    async with full_queue(world), running(service):
        await fill(world, service)
        await eventually(lambda: resting)
        for rest in resting.values():
            rest.until += 3600
        async with service.database.transaction() as tx:
            tx.send(ResearchRequested(brand_slug="acme", keyword="another route"))
        await eventually(lambda: world.has_waiting(1))
        assert {routing_key for _, routing_key in resting} == {FILLED_BY}
