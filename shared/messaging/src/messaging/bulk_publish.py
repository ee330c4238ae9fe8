"""Many publishes in one write: the frames of a batch are marshalled together and their confirms awaited together.

This reaches into aiormq's channel (tested with 7.x), which would take one lock, one write and one drain per message;
a batch this way has about twice the throughput. `available` tells whether the internals are as expected; where they
are not, `messaging.publisher` publishes one by one.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiormq
import pamqp.frame
from aiormq.abc import ChannelFrame
from pamqp import commands
from pamqp.base import Frame
from pamqp.body import ContentBody
from pamqp.header import ContentHeader


@dataclass(frozen=True, slots=True)
class Publication:
    """One message as it goes to the broker; `properties.message_id` is unique within a batch."""

    exchange: str
    routing_key: str
    body: bytes
    properties: commands.Basic.Properties


def available(channel: Any) -> bool:
    """Whether this channel has the internals that `publish` works on."""
    names = ("lock", "delivery_tag", "confirmations", "message_id_delivery_tag", "write_queue", "_split_body")
    return all(hasattr(channel, name) for name in names) and bool(
        getattr(channel, "publisher_confirms", False)
    )


async def publish(channel: aiormq.Channel, publications: Sequence[Publication]) -> list[asyncio.Future[Any]]:
    """Sends the batch; returns a future per message, done when the broker has confirmed or returned it.

    If this raises, some of the batch may have left: the channel must not be used again.
    """
    wire = bytearray()
    confirmations: list[asyncio.Future[Any]] = []
    async with channel.lock:
        for publication in publications:
            message_id = publication.properties.message_id
            assert message_id is not None
            wire += _marshal(channel, publication)
            confirmations.append(_expect_confirmation(channel, message_id))
        await channel.write_queue.put(ChannelFrame(payload=bytes(wire), should_close=False))
    return confirmations


def _marshal(channel: aiormq.Channel, publication: Publication) -> bytes:
    number = channel.number
    method = commands.Basic.Publish(
        exchange=publication.exchange, routing_key=publication.routing_key, mandatory=True
    )
    content = ContentHeader(properties=publication.properties, body_size=len(publication.body))
    body = channel._split_body(publication.body)  # noqa: SLF001  (see the module's docstring)
    frames: list[Frame | ContentHeader | ContentBody] = [method, content, *body]
    return b"".join(pamqp.frame.marshal(frame, number) for frame in frames)


def _expect_confirmation(channel: aiormq.Channel, message_id: str) -> asyncio.Future[Any]:
    channel.delivery_tag += 1
    tag = channel.delivery_tag
    confirmation = channel.create_future()
    channel.confirmations[tag] = confirmation
    # Returned (unroutable) messages come back by message id, not by tag.
    channel.message_id_delivery_tag[message_id] = tag

    def forget(_: asyncio.Future[Any]) -> None:
        if channel.message_id_delivery_tag.get(message_id) == tag:
            del channel.message_id_delivery_tag[message_id]

    confirmation.add_done_callback(forget)
    return confirmation
