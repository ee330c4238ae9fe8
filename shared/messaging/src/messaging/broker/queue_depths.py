"""Messages and consumers of queues, as the broker tells their reader; no management API is needed."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import aio_pika

from messaging.broker.connections import PublishingConnection, cancellation_as_connection_error
from messaging.errors import BROKER_ERRORS

_SECONDS: Final = 4.0
"""For all queues together."""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    ready: int
    """Messages that wait; those that consumers hold are not counted."""
    consumers: int
    """Of all processes."""


async def read_queue_depths(url: str, queues: Collection[str], *, name: str) -> dict[str, QueueDepth]:
    """Reads the depth of each queue over a connection of its own; leaves out queues that are missing, or all of them in an outage.

    Args:
        url: the broker's, with a user that reads the queues.
        queues: names.
        name: of the connection.
    """
    found: dict[str, QueueDepth] = {}
    if not queues:
        return found
    with suppress(*BROKER_ERRORS), cancellation_as_connection_error():
        async with asyncio.timeout(_SECONDS):
            connection = await aio_pika.connect(
                url,
                timeout=_SECONDS,
                client_properties={"connection_name": name},
                connection_class=PublishingConnection,
            )
            async with connection:
                for queue in queues:
                    with suppress(aio_pika.exceptions.ChannelNotFoundEntity):
                        channel = await connection.channel(publisher_confirms=False)
                        told = (await channel.declare_queue(queue, passive=True)).declaration_result
                        found[queue] = QueueDepth(told.message_count or 0, told.consumer_count or 0)
                        await channel.close()
    return found
