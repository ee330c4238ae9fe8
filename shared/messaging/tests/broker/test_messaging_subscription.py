"""Recovery and pauses of a subscription that get in each other's way."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from faststream.rabbit import RabbitBroker

from chassis.tasks import cancel_all
from chassis.testing import eventually
from messaging.broker.publisher import CONNECT_SECONDS
from messaging.broker.subscription import Subscription

QUEUE = "research-commands"


@asynccontextmanager
async def subscribed(rabbitmq_url: str) -> AsyncIterator[Subscription]:
    broker = RabbitBroker(
        rabbitmq_url,
        logger=None,
        timeout=CONNECT_SECONDS,
        reconnect_interval=0.1,
        graceful_timeout=None,
        apply_types=False,
    )
    subscription = Subscription(broker, QUEUE, prefetch=1, on_delivery=lambda _: None)
    await broker.connect()
    await subscription.start()
    watch = asyncio.create_task(subscription.watch())
    try:
        yield subscription
    finally:
        await cancel_all([watch])
        await broker.stop()


@contextmanager
def left_behind(subscription: Subscription) -> Iterator[None]:
    """What the client library is left with when a pause comes between its asking for a consumer and its noting it."""
    queue = subscription._robust_queue
    tag = subscription._subscriber._consumer_tag
    noted = queue._consumers[tag]
    yield
    queue._consumers[tag] = noted


def look_soon(subscription: Subscription, monkeypatch) -> None:
    """Ends the pause that began while it was still ten seconds."""
    monkeypatch.setattr("messaging.broker.subscription.WATCH_SECONDS", 0.3)
    subscription._ended.set()


async def test_a_consumer_that_is_restored_beside_the_wanted_one_is_cancelled(world, monkeypatch) -> None:
    async with world.proxy_to_broker() as proxy, subscribed(proxy.url) as subscription:
        with left_behind(subscription):
            await subscription.pause()
            await subscription.resume()
        proxy.reset()
        await eventually(lambda: world.has_consumers(2))
        look_soon(subscription, monkeypatch)
        await eventually(lambda: world.has_consumers(1))
        assert subscription.consuming
        # And it stays away.
        before = subscription._underlay
        proxy.reset()
        await eventually(lambda: subscription.consuming and subscription._underlay is not before)
        assert await world.has_consumers(1)


async def test_a_pause_ends_whatever_consumes(world) -> None:
    async with world.proxy_to_broker() as proxy, subscribed(proxy.url) as subscription:
        with left_behind(subscription):
            await subscription.pause()
            await subscription.resume()
        proxy.reset()
        await eventually(lambda: world.has_consumers(2))
        await subscription.pause()
        assert await world.has_consumers(0)


async def test_what_is_restored_during_a_pause_is_cancelled(world, monkeypatch) -> None:
    async with world.proxy_to_broker() as proxy, subscribed(proxy.url) as subscription:
        with left_behind(subscription):
            await subscription.pause()
        proxy.reset()
        await eventually(lambda: world.has_consumers(1))
        look_soon(subscription, monkeypatch)
        await eventually(lambda: world.has_consumers(0))
        assert subscription.healthy
        await subscription.resume()
        assert subscription.consuming
        assert await world.has_consumers(1)
