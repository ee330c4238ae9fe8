"""Settling over a real connection, and over one that ends at the worst moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aio_pika
import aiormq
import pytest

from chassis.testing import eventually
from messaging.broker.deliveries import Delivery, UnsettledDeliveries, delivery_of

QUEUE = "settled"


class Consumer:
    """A queue of its own with a consumer on it that keeps everything in hand."""

    def __init__(self, channel: Any, queue: Any) -> None:
        self.channel = channel
        self.queue = queue
        self.unsettled = UnsettledDeliveries()
        self.deliveries: list[Delivery] = []

    async def _take(self, message: Any) -> None:
        delivery = delivery_of(message)
        self.unsettled.received(delivery)
        self.deliveries.append(delivery)

    async def receive(self, count: int) -> list[Delivery]:
        for number in range(count):
            await self.channel.default_exchange.publish(
                aio_pika.Message(str(number).encode()), routing_key=QUEUE
            )
        await self.queue.consume(self._take)
        await eventually(lambda: len(self.deliveries) == count)
        return self.deliveries


@asynccontextmanager
async def consumer(rabbitmq_url: str) -> AsyncIterator[Consumer]:
    connection = await aio_pika.connect(rabbitmq_url)
    try:
        channel = await connection.channel()
        yield Consumer(channel, await channel.declare_queue(QUEUE, auto_delete=False))
    finally:
        await connection.close()


async def left(rabbitmq_url: str) -> list[int]:
    """What is in the queue once nobody has anything of it in hand."""
    found = []
    async with await aio_pika.connect(rabbitmq_url) as connection:
        queue = await (await connection.channel()).declare_queue(QUEUE, passive=True)
        while message := await queue.get(no_ack=True, fail=False):
            found.append(int(message.body))
    return sorted(found)


async def test_each_delivery_is_settled_as_it_was_asked(make_vhost) -> None:
    url = await make_vhost()
    async with consumer(url) as ours:
        deliveries = await ours.receive(40)
        await ours.unsettled.ack(deliveries[:5])
        await ours.unsettled.ack(deliveries[6:20:2])
        await ours.unsettled.reject(deliveries[5])
        await ours.unsettled.requeue(deliveries[30:])
        await ours.unsettled.ack(deliveries[7:30:2])
        await eventually(lambda: len(ours.deliveries) == 50)
        assert all(delivery.redelivered for delivery in deliveries[40:])
    assert await left(url) == [20, 22, 24, 26, 28, *range(30, 40)]


@pytest.mark.extended
@pytest.mark.parametrize("settle", ["ack", "requeue"])
async def test_settling_ends_with_a_connection_that_no_longer_writes(make_vhost, settle) -> None:
    url = await make_vhost()
    async with consumer(url) as ours:
        deliveries = await ours.receive(60)
        underlay = await ours.channel.get_underlay_channel()
        assert isinstance(underlay, aiormq.Channel)
        # As when the connection breaks: first its writer ends, a little later its channels are told.
        underlay.connection._writer_task.cancel()
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await getattr(ours.unsettled, settle)(deliveries[1::2])
    assert len(await left(url)) == 60
