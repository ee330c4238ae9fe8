"""One consumer on one queue, through FastStream: declared, started, stopped, watched, paused and resumed.

FastStream's subscriber keeps declaration, lifecycle and description. Its `consume` callback is replaced by one that
hands over the raw delivery: the framework's own pipeline runs one task, one parse and one dependency graph per message
and halves the throughput. That, and the subscriber's queue object, are the only internals used here (FastStream 0.7).
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast
from uuid import uuid4

import structlog
from aio_pika.abc import AbstractIncomingMessage, AbstractRobustChannel, AbstractRobustQueue
from faststream import AckPolicy
from faststream.rabbit import Channel, QueueType, RabbitBroker, RabbitQueue

from messaging.broker import frames
from messaging.broker.cancellation import cancellation_as_connection_error
from messaging.broker.deliveries import Delivery, delivery_of
from messaging.errors import BROKER_ERRORS

log = structlog.get_logger(__name__)

RPC_SECONDS: Final = 10.0
WATCH_SECONDS: Final = 10.0
AGAIN_SECONDS: Final = 1.0
"""Before a lost consumer is brought back again, the first time; then twice as long, up to the watch's own pause."""


class Subscription:
    """Delivers the messages of a queue to a callback while it is not paused."""

    def __init__(
        self, broker: RabbitBroker, queue: str, *, prefetch: int, on_delivery: Callable[[Delivery], None]
    ) -> None:
        self.queue = queue
        self._on_delivery = on_delivery
        self._paused = False
        self._started = False
        self._ended = asyncio.Event()
        self._needs_new_channel = False
        self._lock = asyncio.Lock()
        # Each subscriber its own channel: on a shared one, one bad frame takes all consumers down.
        self._subscriber = broker.subscriber(
            RabbitQueue(queue, queue_type=QueueType.QUORUM, durable=True, declare=False),
            channel=Channel(prefetch_count=prefetch),
            ack_policy=AckPolicy.MANUAL,
            title=queue,
        )

        async def handled_elsewhere(message: bytes) -> None:
            """The runtime's queue runner handles this queue's messages."""

        self._subscriber(handled_elsewhere)
        frames.install()
        frames.take_deliveries(self)
        # mypy sees a method; the subscriber reads it as an attribute when it starts consuming.
        cast("Any", self._subscriber).consume = self._consume

    async def _consume(self, message: AbstractIncomingMessage) -> None:
        """The client library's own way, for when its inside is not as `messaging.broker.frames` expects it."""
        self._on_delivery(delivery_of(message))

    def take(self, delivery: Delivery) -> None:
        self._on_delivery(delivery)

    def cancelled(self, tag: str) -> None:
        """Has `watch` make a new consumer, with a new tag, on a new channel.

        On this one, RabbitMQ 4.3.0 to 4.3.6 goes on with a consumer that it has cancelled for holding messages too long: it
        delivers to it again, and ends the connection if the tag is used again, as the client library would.
        """
        noted: dict[str, Any] = getattr(self._robust_queue, "_consumers", {})
        noted.pop(tag, None)
        if self._subscriber._consumer_tag == tag:  # noqa: SLF001
            self._subscriber._consumer_tag = None  # noqa: SLF001
            self._needs_new_channel = True
            self._ended.set()

    async def start(self) -> None:
        """Checks that the queue is there and starts to consume.

        Raises:
            aio_pika.exceptions.ChannelNotFoundEntity: it is not; declare the topology first.
        """
        async with self._lock:
            with cancellation_as_connection_error():
                await self._subscriber.start()
            self._started = True

    async def pause(self) -> None:
        """Stops deliveries; those in hand stay in hand."""
        async with self._lock:
            self._paused = True
            await self._cancel()

    async def resume(self) -> None:
        """Starts deliveries again; where the broker is away as well, `watch` brings them back."""
        async with self._lock:
            self._paused = False
            try:
                with cancellation_as_connection_error():
                    await self._consume_again()
            except BROKER_ERRORS as error:
                log.warning("consumer_not_restored", queue=self.queue, error=repr(error))

    @property
    def _robust_queue(self) -> AbstractRobustQueue | None:
        return cast("AbstractRobustQueue | None", self._subscriber._queue_obj)  # noqa: SLF001

    @property
    def consuming(self) -> bool:
        """Whether the broker has a live consumer of ours, as far as this side can know."""
        queue, tag = self._robust_queue, self._subscriber._consumer_tag  # noqa: SLF001
        if not self._started or queue is None or tag is None or queue.channel.is_closed:
            return False
        channel = self._underlay
        # The client library notes a consumer before the broker has answered, which without a majority it does not.
        if channel is None or channel.is_closed or tag not in channel.consumers:
            return False
        return tag in frames.confirmed_consumers(channel)

    def _is_lost(self) -> bool:
        """Whether there should be a consumer and is none; not one that the broker was asked for and has yet to answer."""
        if self.healthy:
            return False
        channel, tag = self._underlay, self._subscriber._consumer_tag  # noqa: SLF001
        asked = channel is not None and not channel.is_closed and tag in channel.consumers
        return not (asked and tag not in frames.confirmed_consumers(channel))

    @property
    def _underlay(self) -> Any:
        """The present aiormq channel, or None."""
        queue = self._robust_queue
        return None if queue is None else getattr(getattr(queue.channel, "_channel", None), "channel", None)

    @property
    def healthy(self) -> bool:
        """Consuming, or paused on purpose."""
        return self._paused or self.consuming

    def _unwanted_consumers(self) -> set[str]:
        """Consumers of ours beside the one that is wanted, which is none while paused.

        Where a pause overtakes the client library's recovery, the library notes the cancelled consumer once more, and
        restores it after every reconnect.
        """
        queue, channel = self._robust_queue, self._underlay
        if queue is None or channel is None or channel.is_closed:
            return set()
        noted: dict[str, Any] = getattr(queue, "_consumers", {})
        return {*noted, *frames.confirmed_consumers(channel)} - {self._subscriber._consumer_tag or ""}  # noqa: SLF001

    async def watch(self) -> None:
        """Brings a lost consumer back, and cancels what nobody wants; runs until cancelled.

        The client library restores consumers after a reconnect, but a consumer that the broker cancelled (its queue
        moved or was declared anew) stays gone unless somebody looks.
        """
        pause = WATCH_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._ended.wait()
            self._ended.clear()
            try:
                async with self._lock:
                    with cancellation_as_connection_error():
                        await self._repair()
                pause = WATCH_SECONDS
            except BROKER_ERRORS as error:
                log.warning("consumer_not_restored", queue=self.queue, error=repr(error))
                pause = min(AGAIN_SECONDS if pause == WATCH_SECONDS else 2 * pause, WATCH_SECONDS)

    async def _repair(self) -> None:
        if strays := self._unwanted_consumers():
            log.warning("consumers_too_many", queue=self.queue, consumers=len(strays))
            await self._cancel_all(strays)
        if self._is_lost():
            log.error("consumer_lost", queue=self.queue)
            await self._consume_again()
            log.info("consumer_restored", queue=self.queue)

    async def _consume_again(self) -> None:
        queue = self._robust_queue
        if queue is None or self.consuming:
            return
        async with asyncio.timeout(RPC_SECONDS):
            await self._cancel()
            if self._needs_new_channel:
                await self._leave_channel()
                self._needs_new_channel = False
            # Where the queue was missing before, the broker has closed the channel, and the client library may have
            # tried in vain to open it with the queue in it, and given up.
            await cast("AbstractRobustChannel", queue.channel).restore()
            await queue.declare(timeout=RPC_SECONDS)
            tag = f"{self.queue} {uuid4()}"
            # Known before the answer: should that come too late for us, the consumer is there all the same.
            self._subscriber._consumer_tag = tag  # noqa: SLF001
            await queue.consume(self._consume, consumer_tag=tag, timeout=RPC_SECONDS)

    async def _leave_channel(self) -> None:
        """Closes the channel, which the client library then opens anew; what is in hand comes back as after a lost connection."""
        queue = self._robust_queue
        opened = None if queue is None else getattr(queue.channel, "_channel", None)
        if opened is not None:
            await opened.close()

    async def _cancel(self) -> None:
        tag, self._subscriber._consumer_tag = self._subscriber._consumer_tag, None  # noqa: SLF001
        await self._cancel_all(self._unwanted_consumers() | ({tag} if tag is not None else set()))

    async def _cancel_all(self, tags: set[str]) -> None:
        queue = self._robust_queue
        if queue is None:
            return
        for tag in tags:
            try:
                with cancellation_as_connection_error():
                    async with asyncio.timeout(RPC_SECONDS):
                        await queue.cancel(tag)
            except BROKER_ERRORS as error:
                # A consumer on a lost channel is gone anyway, and the client was told not to restore it.
                log.debug("consumer_cancel_failed", queue=self.queue, error=repr(error))
