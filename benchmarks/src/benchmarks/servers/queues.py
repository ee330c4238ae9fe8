"""Inspects queues without async: their lengths and messages."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Self

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage

from envelope.brand import EVENTS_QUEUE
from messaging.topology import COMMANDS


class Queues:
    """One connection to a vhost."""

    def __init__(self, url: str) -> None:
        self._runner = asyncio.Runner()
        # Heartbeats are off, because nothing answers them between two calls.
        self._connection: AbstractConnection = self._runner.run(
            _connect(f"{url}{'&' if '?' in url else '?'}heartbeat=0")
        )
        self._channel: AbstractChannel = self._runner.run(_channel(self._connection))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._connection.close())
        self._runner.close()

    def ready(self, name: str) -> int:
        """The number of ready messages in a queue, without unacknowledged ones."""
        return self._runner.run(self._ready(name))

    def take(self, name: str, count: int, each: Callable[[bytes], None]) -> None:
        """Takes `count` messages off a queue and returns their bodies."""
        self._runner.run(self._take(name, count, each))

    def put(self, name: str, body: bytes) -> None:
        """Puts a message into a queue, past the exchanges."""
        message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        self._runner.run(self._channel.default_exchange.publish(message, name, mandatory=True))

    def tap(self, exchanges: Sequence[str]) -> str:
        """Declares a temporary queue with a copy of all messages of these topic exchanges; returns its name."""
        return self._runner.run(self._tap(exchanges))

    def repeat(self, tap: str, exchange: str, *, share: float) -> int:
        """Sends a share of a tap's messages again to their queues; returns their number."""
        return self._runner.run(self._repeat(tap, exchange, share))

    async def _tap(self, exchanges: Sequence[str]) -> str:
        queue = await self._channel.declare_queue(exclusive=True)
        for exchange in exchanges:
            await queue.bind(exchange, "#")
        return queue.name

    async def _repeat(self, tap: str, exchange: str, share: float) -> int:
        source = await self._channel.get_queue(tap, ensure=False)
        target = await self._channel.get_exchange(exchange, ensure=False)
        seen = sent = 0
        while (message := await source.get(no_ack=True, fail=False)) is not None:
            seen += 1
            if seen * share >= sent + 1:
                queue = message.routing_key if message.exchange == COMMANDS else EVENTS_QUEUE
                await target.publish(message, queue or "", mandatory=True)
                sent += 1
        return sent

    async def _ready(self, name: str) -> int:
        declared = await self._channel.declare_queue(name, passive=True)
        return declared.declaration_result.message_count or 0

    async def _take(self, name: str, count: int, each: Callable[[bytes], None]) -> None:
        queue = await self._channel.get_queue(name, ensure=False)
        left, done = count, asyncio.Event()

        async def on_message(message: AbstractIncomingMessage) -> None:
            nonlocal left
            each(message.body)
            left -= 1
            if left == 0:
                done.set()

        if count:
            tag = await queue.consume(on_message, no_ack=True)
            async with asyncio.timeout(60):
                await done.wait()
            await queue.cancel(tag)


async def _connect(url: str) -> AbstractConnection:
    return await aio_pika.connect(url, timeout=15)


async def _channel(connection: AbstractConnection) -> AbstractChannel:
    return await connection.channel()
