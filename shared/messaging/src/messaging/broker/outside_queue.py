"""Consumes the queue of other systems' commands, over a connection of its own.

These messages are no messages of the catalogue: their bodies are checked by the service that takes them. So they have no inbox, no retries
and no dead letters here. A message is acknowledged once it was handled; an outage delays it in place.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, NoReturn

import aio_pika
import structlog
from aio_pika.abc import AbstractIncomingMessage

from chassis.database.pool import DatabaseUnavailableError
from messaging.broker.connections import PublishingConnection, cancellation_as_connection_error
from messaging.errors import BROKER_ERRORS

log = structlog.get_logger(__name__)

ABSENT_SECONDS: Final = 60.0
"""Pause before looking again for a queue that does not exist: none does before another system has a user."""
_PREFETCH: Final = 8
_LONGEST_PAUSE: Final = 10.0
_TIMEOUT: Final = 15.0


@dataclass(frozen=True, slots=True)
class OutsideMessage:
    body: bytes
    user_id: str | None
    """The publishing user, verified by the broker; None if the sender set none."""


Handle = Callable[[OutsideMessage], Awaitable[None]]
"""Handles a message to its end. It raises DatabaseUnavailableError alone: then it is called again, after a pause."""


class OutsideQueue:
    """Passes the messages of a queue to `handle`, one after the other.

    Args:
        url: the broker's, with a user that may read the queue.
        queue: need not exist yet.
        name: of the connection.
        handle: handles each message.
        absent_seconds: pause before looking again for a missing queue.
    """

    def __init__(
        self, url: str, queue: str, *, name: str, handle: Handle, absent_seconds: float = ABSENT_SECONDS
    ) -> None:
        self._url = url
        self._queue = queue
        self._name = name
        self._handle = handle
        self._absent_seconds = absent_seconds

    async def run(self) -> NoReturn:
        """Consumes until it is cancelled. Unfinished messages return to the queue then."""
        pause = 0.5
        while True:
            try:
                with cancellation_as_connection_error():
                    await self._consume()
                pause = 0.5
            except aio_pika.exceptions.ChannelNotFoundEntity:
                await asyncio.sleep(self._absent_seconds)
            except (*BROKER_ERRORS, aio_pika.exceptions.AMQPError) as error:
                log.warning("outside_queue_unavailable", queue=self._queue, error=repr(error))
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    async def _consume(self) -> None:
        connection = await aio_pika.connect(
            self._url,
            timeout=_TIMEOUT,
            client_properties={"connection_name": self._name},
            connection_class=PublishingConnection,
        )
        async with connection:
            channel = await connection.channel(publisher_confirms=False)
            await channel.set_qos(prefetch_count=_PREFETCH)
            queue = await channel.get_queue(self._queue, ensure=True)
            log.info("outside_queue_consumed", queue=self._queue)
            async with queue.iterator() as messages:
                async for message in messages:
                    await self._settle(message)
        raise ConnectionError("the broker ended the consumer")

    async def _settle(self, message: AbstractIncomingMessage) -> None:
        pause = 0.5
        while True:
            try:
                await self._handle(OutsideMessage(message.body, message.user_id))
                break
            except DatabaseUnavailableError as error:
                log.warning("outside_message_waits", queue=self._queue, problem=str(error))
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
        await message.ack()
