"""Deliveries in hand, and settling them with the broker in as few frames as possible."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import aio_pika
import aiormq
from aio_pika.abc import AbstractIncomingMessage


@dataclass(slots=True, eq=False)
class Delivery:
    """One delivery from the broker, not settled yet."""

    channel: Any
    """The aiormq channel it came on: its tag means nothing on any other."""
    tag: int
    body: bytes
    type: str | None
    headers: dict[str, Any]
    redelivered: bool
    readable: bool = True
    """False if its properties could not be read; then it has none."""


def delivery_of(message: AbstractIncomingMessage) -> Delivery:
    assert message.delivery_tag is not None
    return Delivery(
        channel=message.channel,
        tag=message.delivery_tag,
        body=message.body,
        type=message.type,
        headers=dict(message.headers),
        redelivered=bool(message.redelivered),
    )


class Unsettled:
    """The deliveries of one consumer that have been received and not settled yet, in order of arrival.

    Settling on a channel that is gone does nothing: the broker delivers those messages again, and the inbox knows them.
    """

    def __init__(self) -> None:
        self._deliveries: dict[Delivery, None] = {}
        self._settled = asyncio.Event()
        self._arrived_up_to: dict[Any, int] = {}
        """Per channel, the last tag before which no tag is missing; -1 once one was."""

    def __len__(self) -> int:
        return len(self._deliveries)

    def __iter__(self) -> Iterator[Delivery]:
        return iter(self._deliveries)

    async def wait_until_none(self) -> None:
        """Returns once every delivery is settled, or its channel gone."""
        while self._deliveries:
            self._settled.clear()
            try:
                async with asyncio.timeout(0.5):
                    await self._settled.wait()
            except TimeoutError:
                self.forget_closed()

    def received(self, delivery: Delivery) -> None:
        self._deliveries[delivery] = None
        # Tags count from 1 on each channel. One frame may acknowledge "all up to here" only while none is missing.
        if delivery.channel not in self._arrived_up_to:
            self.forget_closed()
        previous = self._arrived_up_to.get(delivery.channel, 0)
        self._arrived_up_to[delivery.channel] = delivery.tag if delivery.tag == previous + 1 else -1

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledges; with one frame, where these are the oldest on their channel and nothing older is open."""
        for delivery in deliveries:
            self._deliveries.pop(delivery, None)
        self._settled.set()
        by_channel: dict[Any, list[int]] = {}
        for delivery in deliveries:
            by_channel.setdefault(delivery.channel, []).append(delivery.tag)
        for channel, tags in by_channel.items():
            with suppress(aio_pika.exceptions.AMQPError, aiormq.exceptions.ChannelInvalidStateError, OSError):
                await self._ack_tags(channel, sorted(tags))

    async def _ack_tags(self, channel: Any, tags: Sequence[int]) -> None:
        oldest_open = next((open_.tag for open_ in self._deliveries if open_.channel is channel), None)
        covered = [tag for tag in tags if oldest_open is None or tag < oldest_open]
        if self._arrived_up_to.get(channel, -1) < 0:
            covered = []
        if covered:
            await channel.basic_ack(covered[-1], multiple=True, wait=False)
        for tag in tags[len(covered) :]:
            await channel.basic_ack(tag, wait=False)

    async def reject(self, delivery: Delivery) -> None:
        """Hands it to the broker's dead-letter exchange."""
        self._deliveries.pop(delivery, None)
        self._settled.set()
        with suppress(aio_pika.exceptions.AMQPError, aiormq.exceptions.ChannelInvalidStateError, OSError):
            await delivery.channel.basic_reject(delivery.tag, requeue=False, wait=False)

    async def requeue(self, deliveries: Iterable[Delivery]) -> None:
        """Gives deliveries back to the queue, without blaming them (`nack`, which RabbitMQ 4.3 does not count)."""
        for delivery in list(deliveries):
            if self._deliveries.pop(delivery, delivery) is delivery:
                continue  # settled already
            with suppress(aio_pika.exceptions.AMQPError, aiormq.exceptions.ChannelInvalidStateError, OSError):
                await delivery.channel.basic_nack(delivery.tag, requeue=True, wait=False)

    def forget_closed(self) -> None:
        """Drops deliveries whose channel is gone; the broker has taken them back."""
        for delivery in [each for each in self._deliveries if each.channel.is_closed]:
            del self._deliveries[delivery]
        for channel in [each for each in self._arrived_up_to if each.is_closed]:
            del self._arrived_up_to[channel]
