"""Tools for tests of messages at a broker and of handlers' records; `chassis.testing` has the rest."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage

from chassis.testing.waiting import eventually
from messaging import GroupedRecord, Record, Transaction


class Broker:
    """A direct connection to the broker, without this library."""

    def __init__(self, connection: AbstractConnection, channel: AbstractChannel) -> None:
        self._connection = connection
        self._channel = channel

    @classmethod
    @asynccontextmanager
    async def connected(cls, url: str) -> AsyncIterator["Broker"]:
        connection = await aio_pika.connect(url, timeout=15)
        async with connection, connection.channel() as channel:
            yield cls(connection, channel)

    async def publish(
        self,
        exchange: str,
        routing_key: str,
        body: bytes,
        *,
        type: str | None = None,  # noqa: A002  (AMQP's name for the property)
        headers: dict[str, Any] | None = None,
        user_id: str | None = None,
    ) -> None:
        message = aio_pika.Message(
            body,
            type=type,
            headers=headers or {},
            user_id=user_id,
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        )
        target = self._channel.default_exchange
        if exchange:
            target = await self._channel.get_exchange(exchange, ensure=False)
        await target.publish(message, routing_key, mandatory=True, timeout=15)

    async def tap(self, exchange: str) -> str:
        """Creates a queue that gets a copy of every message the exchange receives from now on; returns its name."""
        queue = await self._channel.declare_queue(exclusive=True)
        await queue.bind(exchange, "#")
        return queue.name

    async def exists(self, queue: str) -> bool:
        """Checks on a channel of its own, because the broker closes it if the queue is missing."""
        channel = await self._connection.channel()
        try:
            await channel.declare_queue(queue, passive=True)
        except aio_pika.exceptions.ChannelNotFoundEntity:
            return False
        await channel.close()
        return True

    async def depth(self, queue: str) -> int:
        """Messages ready in a queue, without unacknowledged ones."""
        declared = await self._channel.declare_queue(queue, passive=True)
        return declared.declaration_result.message_count or 0

    async def consumers(self, queue: str) -> int:
        declared = await self._channel.declare_queue(queue, passive=True)
        return declared.declaration_result.consumer_count or 0

    async def take(self, queue: str, *, within: float = 60.0) -> AbstractIncomingMessage:
        """Takes one message off a queue, waiting for it."""
        declared = await self._channel.get_queue(queue, ensure=False)

        async def fetch() -> AbstractIncomingMessage | None:
            return await declared.get(no_ack=True, fail=False)

        message: AbstractIncomingMessage | None = await eventually(fetch, within=within)
        assert message is not None
        return message

    async def refuse(self, queue: str, count: int = 1) -> None:
        """Takes messages off a queue and returns them as failed, like a consumer that dies."""
        declared = await self._channel.get_queue(queue, ensure=False)
        taken: list[AbstractIncomingMessage] = [
            await eventually(lambda: declared.get(fail=False)) for _ in range(count)
        ]
        for message in taken:
            await message.reject(requeue=True)

    async def delete(self, queue: str) -> None:
        await self._channel.queue_delete(queue)


async def write_records(tx: Transaction, *records: Record | GroupedRecord[Any] | None) -> None:
    """Writes the handlers' records in this transaction; grouped records in one call each, after the others."""
    together: dict[Any, list[Any]] = {}
    for record in records:
        if isinstance(record, GroupedRecord):
            together.setdefault(record.write, []).append(record.row)
        elif record is not None:
            await record(tx)
    for write, rows in together.items():
        await write(tx, rows)
