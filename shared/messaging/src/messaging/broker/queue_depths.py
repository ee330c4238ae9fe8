"""Messages and consumers of queues, as the broker tells their reader; no management API is needed."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection

from messaging.broker.connections import PublishingConnection, cancellation_as_connection_error
from messaging.errors import BROKER_ERRORS

_SECONDS: Final = 4.0
"""For all queues together, and the reads before it."""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    ready: int
    """Messages that wait; those that consumers hold are not counted."""
    consumers: int
    """Of all processes."""


class QueueDepthReader:
    """Reads queues over a connection of its own, which publishes nothing: the broker blocks those that publish when it runs short.

    The first read opens the connection and its channel, and later ones use them. One read at a time.

    Args:
        url: the broker's, with a user that reads the queues.
        name: of the connection.
    """

    def __init__(self, url: str, *, name: str) -> None:
        self._url = url
        self._name = name
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None
        self._turn = asyncio.Lock()

    async def read(self, queues: Collection[str]) -> dict[str, QueueDepth]:
        """Reads the depth of each queue; leaves out queues that are missing, or all of them in an outage."""
        found: dict[str, QueueDepth] = {}
        if not queues:
            return found
        with suppress(*BROKER_ERRORS), cancellation_as_connection_error():
            async with asyncio.timeout(_SECONDS), self._turn:
                try:
                    for queue in queues:
                        if (depth := await self._read(queue)) is not None:
                            found[queue] = depth
                except BaseException:
                    # The next read opens another connection.
                    await self._close()
                    raise
        return found

    async def close(self) -> None:
        """Closes the connection; a read after it opens another."""
        async with self._turn:
            await self._close()

    async def _open(self) -> AbstractChannel:
        if self._connection is not None and not self._connection.connected.is_set():
            await self._close()
        if self._connection is None:
            self._connection = await aio_pika.connect(
                self._url,
                timeout=_SECONDS,
                client_properties={"connection_name": self._name},
                connection_class=PublishingConnection,
            )
        if self._channel is None or self._channel.is_closed:
            self._channel = await self._connection.channel(publisher_confirms=False)
        return self._channel

    async def _read(self, queue: str) -> QueueDepth | None:
        channel = await self._open()
        try:
            told = (await channel.declare_queue(queue, passive=True)).declaration_result
        except aio_pika.exceptions.ChannelNotFoundEntity:
            # A missing queue closes its channel.
            self._channel = None
            return None
        return QueueDepth(told.message_count or 0, told.consumer_count or 0)

    async def _close(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            with suppress(*BROKER_ERRORS):
                await connection.close()
