"""For tests of services: run one for real, look at a real broker, and wait for conditions instead of sleeping."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

from messaging.service import Service


async def eventually(check: Callable[[], Any], *, within: float = 30.0) -> Any:
    """Waits until `check`, a plain or an async function, returns something true, and returns it.

    Raises:
        AssertionError: it did not within so many seconds; names the last value.
    """
    deadline = asyncio.get_running_loop().time() + within
    while True:
        result = check()
        value = await result if inspect.isawaitable(result) else result
        if value:
            return value
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(
                f"not within {within:g} s: {inspect.getsource(check).strip()} (last: {value!r})"
            )
        await asyncio.sleep(0.02)


@asynccontextmanager
async def running(service: Service) -> AsyncIterator[Service]:
    """Runs a service, ready when the block begins, stopped in order when it ends."""
    task = asyncio.create_task(service.run())
    try:
        await eventually(lambda: _ready(service, task))
        yield service
    finally:
        service.stop()
        await task


async def _ready(service: Service, task: asyncio.Task[None]) -> bool:
    if task.done():
        task.result()
        raise AssertionError("the service ended before it was ready")
    return service.port != 0 and not await service.problems()


class Broker:
    """A direct line to the broker, past everything this library does."""

    def __init__(self, channel: AbstractChannel) -> None:
        self._channel = channel

    @classmethod
    @asynccontextmanager
    async def connected(cls, url: str) -> AsyncIterator["Broker"]:
        connection = await aio_pika.connect(url, timeout=15)
        async with connection, connection.channel() as channel:
            yield cls(channel)

    async def publish(
        self,
        exchange: str,
        routing_key: str,
        body: bytes,
        *,
        type: str | None = None,  # noqa: A002  (AMQP's name for the property)
        headers: dict[str, Any] | None = None,
    ) -> None:
        message = aio_pika.Message(
            body, type=type, headers=headers or {}, delivery_mode=aio_pika.DeliveryMode.PERSISTENT
        )
        target = await self._channel.get_exchange(exchange, ensure=False)
        await target.publish(message, routing_key, mandatory=True, timeout=15)

    async def depth(self, queue: str) -> int:
        """Messages ready in a queue; those in a consumer's hands do not count."""
        declared = await self._channel.declare_queue(queue, passive=True)
        return declared.declaration_result.message_count or 0

    async def consumers(self, queue: str) -> int:
        declared = await self._channel.declare_queue(queue, passive=True)
        return declared.declaration_result.consumer_count or 0

    async def take(self, queue: str, *, within: float = 30.0) -> AbstractIncomingMessage:
        """Takes one message off a queue, waiting for it."""
        declared = await self._channel.get_queue(queue, ensure=False)

        async def fetch() -> AbstractIncomingMessage | None:
            return await declared.get(no_ack=True, fail=False)

        message: AbstractIncomingMessage | None = await eventually(fetch, within=within)
        assert message is not None
        return message

    async def refuse(self, queue: str) -> None:
        """Takes one message off a queue and gives it back as failed, as a consumer does that dies over it."""
        declared = await self._channel.get_queue(queue, ensure=False)
        message: AbstractIncomingMessage = await eventually(lambda: declared.get(fail=False))
        await message.reject(requeue=True)

    async def delete(self, queue: str) -> None:
        await self._channel.queue_delete(queue)


class TcpProxy:
    """A TCP proxy on a free port of the loopback, which can be cut and mended."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.StreamWriter] = set()
        self._open = True

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def cut(self) -> None:
        """Resets every connection and refuses new ones."""
        self._open = False
        for writer in self._links:
            writer.transport.abort()

    def mend(self) -> None:
        self._open = True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._open:
            writer.transport.abort()
            return
        try:
            target_reader, target_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._links |= {writer, target_writer}
        await asyncio.gather(self._pump(reader, target_writer), self._pump(target_reader, writer))
        self._links -= {writer, target_writer}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()
