"""Unsettled deliveries, and settling them with the broker in as few frames as possible."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aio_pika.abc import AbstractIncomingMessage

from messaging.broker import frame_writing


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
    user_id: str | None = None
    """The publishing user, verified by the broker; None if the sender set none."""
    published_to: bytes = b""
    """Exchange and routing key as the broker wrote them: two short strings, decoded only on demand."""

    def came_by(self, exchange: str) -> bool:
        """Whether it was published to this exchange."""
        return self.published_to.startswith(_short(exchange))

    def origin(self) -> tuple[str, str]:
        """The exchange and the routing key it was published with; empty if unknown."""
        if not self.published_to:
            return "", ""
        end = 1 + self.published_to[0]
        return self.published_to[1:end].decode(errors="replace"), self.published_to[end + 1 :].decode(
            errors="replace"
        )


def delivery_of(message: AbstractIncomingMessage) -> Delivery:
    assert message.delivery_tag is not None
    return Delivery(
        channel=message.channel,
        tag=message.delivery_tag,
        body=message.body,
        type=message.type,
        headers=dict(message.headers),
        redelivered=bool(message.redelivered),
        user_id=message.user_id,
        published_to=_short(message.exchange) + _short(message.routing_key),
    )


def _short(text: str | None) -> bytes:
    encoded = (text or "").encode()
    return bytes((len(encoded),)) + encoded


class UnsettledDeliveries:
    """The deliveries of one consumer that are received and not settled yet, in order of arrival.

    Settling on a closed channel does nothing: the broker delivers those messages again, and the inbox knows them.
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

    def __contains__(self, delivery: Delivery) -> bool:
        return delivery in self._deliveries

    async def wait_until_none(self) -> None:
        """Returns once every delivery is settled or its channel closed."""
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
        for channel, group in _by_channel(deliveries).items():
            await self._settle(channel, group, self._acks)

    async def reject(self, delivery: Delivery) -> None:
        """Hands it to the broker's dead-letter exchange."""
        await self._settle(delivery.channel, [delivery], _rejects)

    async def requeue(self, deliveries: Iterable[Delivery]) -> None:
        """Returns deliveries to the queue without counting a failure."""
        for channel, group in _by_channel(deliveries).items():
            await self._settle(channel, group, _requeues)

    async def _settle(
        self, channel: Any, deliveries: Sequence[Delivery], frames: Callable[[Any, Sequence[int]], bytes]
    ) -> None:
        writable = await frame_writing.wait_for_room(channel)
        # Nothing is awaited from here on: one that is taken off and not yet settled would look settled to an
        # acknowledgement of "all up to here".
        tags = sorted(each.tag for each in deliveries if each in self._deliveries)
        for delivery in deliveries:
            self._deliveries.pop(delivery, None)
        self._settled.set()
        if writable and tags:
            frame_writing.write(channel, frames(channel, tags))

    def _acks(self, channel: Any, tags: Sequence[int]) -> bytes:
        oldest_open = next((open_.tag for open_ in self._deliveries if open_.channel is channel), None)
        covered = [tag for tag in tags if oldest_open is None or tag < oldest_open]
        if self._arrived_up_to.get(channel, -1) < 0:
            covered = []
        frames = [frame_writing.ack(channel, covered[-1], multiple=True)] if covered else []
        frames += [frame_writing.ack(channel, tag, multiple=False) for tag in tags[len(covered) :]]
        return b"".join(frames)

    def forget_closed(self) -> None:
        """Drops deliveries of closed channels; the broker has taken them back."""
        for delivery in [each for each in self._deliveries if each.channel.is_closed]:
            del self._deliveries[delivery]
        for channel in [each for each in self._arrived_up_to if each.is_closed]:
            del self._arrived_up_to[channel]


def _by_channel(deliveries: Iterable[Delivery]) -> dict[Any, list[Delivery]]:
    found: dict[Any, list[Delivery]] = {}
    for delivery in deliveries:
        found.setdefault(delivery.channel, []).append(delivery)
    return found


def _rejects(channel: Any, tags: Sequence[int]) -> bytes:
    return b"".join(frame_writing.reject(channel, tag) for tag in tags)


def _requeues(channel: Any, tags: Sequence[int]) -> bytes:
    return b"".join(frame_writing.requeue(channel, tag) for tag in tags)
