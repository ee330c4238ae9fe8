"""Fills a queue quickly: publishes thousands of messages at once, without the client and its history."""

import asyncio
from collections.abc import Iterable
from itertools import count, islice

import aio_pika
import aiormq

from messaging.broker import frames
from messaging.broker.bulk_publish import BulkPublisher, OutgoingMessage
from messaging.topology import RETURNS

_AT_ONCE = 1_000
_CONFIRM_SECONDS = 30.0


async def fill(url: str, queue: str, bodies: Iterable[bytes]) -> None:
    """Publishes the bodies to one queue, each confirmed."""
    frames.install()
    numbers, rest = count(1), iter(bodies)
    connection = await aio_pika.connect(url, timeout=15)
    async with connection, connection.channel(publisher_confirms=True) as channel:
        underlay = await channel.get_underlay_channel()
        assert isinstance(underlay, aiormq.Channel)
        publisher = BulkPublisher.on(underlay)
        assert publisher is not None
        while bodies_now := list(islice(rest, _AT_ONCE)):
            batch = [
                OutgoingMessage(RETURNS, queue, body, str(next(numbers)), "", None, "backlog", {})
                for body in bodies_now
            ]
            async with asyncio.timeout(_CONFIRM_SECONDS):
                sent = await publisher.send(batch, [each.properties() for each in batch])
                await publisher.wait(sent)
            assert not any(publisher.outcomes(sent)), "the broker refused some"
