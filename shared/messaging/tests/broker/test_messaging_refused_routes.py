"""Services under users of their own: the broker's refusals harm nothing else, and lost routes come back."""

from collections.abc import Sequence
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest

from chassis.testing import ServerProxy, eventually, running
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublished, ResearchFailed, ResearchRequested
from messaging import Transaction, on_batch, topology
from messaging.broker.refused_routes import RefusedRoutes
from messaging.errors import PublishRefusedError

QUEUE = "research-commands"
ALLOWED = ResearchFailed(brand_slug="acme", keyword="k", reason="insufficient_sources")
REFUSED = ContentPublished(brand_slug="acme", content_id=uuid4(), published_url="https://acme.example/k")


async def write_all(messages: Sequence[DomainMessage], tx: Transaction) -> None:
    for message in messages:
        await tx.connection.execute(
            "insert into effects values ($1, $2)", message.event_id, message.payload.keyword
        )


@pytest.mark.parametrize(
    ("text", "exchange", "routing_key"),
    [
        (  # RabbitMQ 3.10
            "ACCESS_REFUSED - access to topic 'a.b' in exchange 'brand-events' in vhost '/' refused for user 'research'",
            "brand-events",
            "a.b",
        ),
        (  # RabbitMQ 4
            "ACCESS_REFUSED - write access to topic 'a' in exchange exchange 'returns' in vhost '/' refused for user 'u'",
            "returns",
            "a",
        ),
        (
            "ACCESS_REFUSED - write access to exchange 'commands' in vhost '/' refused for user 'research'",
            "commands",
            None,
        ),
    ],
)
def test_a_refusal_names_what_is_not_to_be_sent_again_soon(
    text: str, exchange: str, routing_key: str | None
) -> None:
    refusals = RefusedRoutes()
    refusals.note(ConnectionError("reset by peer, access to nothing"))
    refusals.note(None)
    assert refusals.of(exchange, routing_key or "any") is None
    refusals.note(Exception(text))
    assert isinstance(refusals.of(exchange, routing_key or "any"), PublishRefusedError)
    assert (refusals.of(exchange, "other") is None) is (routing_key is not None)
    assert refusals.of("dead-letters", routing_key or "any") is None


@pytest.mark.extended
async def test_a_message_we_may_not_publish_holds_up_nobody_and_leaves_once_we_may(
    world, broker_urls: dict[str, str], rabbitmq_api: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.broker.refused_routes.REFUSED_SECONDS", 2.0)
    service = world.service(rabbitmq_url=broker_urls["research"])
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    async with running(service):
        for _ in range(3):
            async with service.database.transaction() as tx:
                tx.send(REFUSED)
                for _ in range(10):
                    tx.send(ALLOWED)
        await eventually(lambda: refused_alone_are_left(world))
        await world.send(world.request("goes on"))
        await eventually(world.effects)
        assert await service.problems() == {}

        parts = urlsplit(broker_urls["research"])
        body = {"exchange": "brand-events", "write": ".*", "read": "^$"}
        vhost = parts.path.removeprefix("/")
        rabbitmq_api.put(f"/api/topic-permissions/{vhost}/{parts.username}", json=body).raise_for_status()
        await eventually(world.outbox_is_empty)
    # What was on its way when the channel was closed may have arrived before as well.
    seen = [(await world.broker.take("orchestrator-events")).type for _ in range(33)]
    assert seen.count("content.published") == 3


async def refused_alone_are_left(world) -> bool:
    rows = await world.database.fetch("select type, last_error from outbox")
    return {row["type"] for row in rows} == {"content.published"} and all(
        "RefusedError" in (row["last_error"] or "") for row in rows
    )


@pytest.mark.extended
async def test_a_service_that_lost_its_connection_consumes_again_as_its_own_user(
    world, broker_urls: dict[str, str]
) -> None:
    async with ServerProxy(broker_urls["research"]) as proxy:
        service = world.service(rabbitmq_url=proxy.url)
        service.consume(QUEUE, on_batch(write_all, ResearchRequested))
        async with running(service):
            proxy.cut()
            await eventually(service.problems)
            proxy.mend()
            await world.send(world.request("after"))
            await eventually(world.effects)
            async with service.database.transaction() as tx:
                tx.send(ALLOWED)
            await eventually(world.outbox_is_empty)
    assert (await world.broker.take("orchestrator-events")).type == "research.failed"


async def test_a_consumer_that_the_broker_cancelled_is_brought_back_as_its_own_user(
    world, broker_urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.broker.subscription.WATCH_SECONDS", 0.3)
    service = world.service(rabbitmq_url=broker_urls["research"])
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    async with running(service):
        await world.broker.delete(QUEUE)
        await eventually(lambda: not service.runners[0].subscription.consuming)
        await topology.declare(world.rabbitmq_url, CATALOGUE)
        await eventually(lambda: service.runners[0].subscription.consuming)
        await world.send(world.request("after"))
        await eventually(world.effects)
