"""One consumer on one queue, through FastStream: declares, starts, stops, watches, pauses and resumes it.

FastStream's subscriber keeps declaration, lifecycle and description. Its `consume` callback is replaced by one that passes on the
raw delivery: the framework's own pipeline runs one task, one parse and one dependency graph per message and halves the
throughput. This callback and the subscriber's queue object are the only internals used here (FastStream 0.7).
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
from messaging.broker.connections import cancellation_as_connection_error
from messaging.broker.deliveries import Delivery, delivery_of
from messaging.errors import BROKER_ERRORS

log = structlog.get_logger(__name__)

RPC_SECONDS: Final = 10.0
WATCH_SECONDS: Final = 10.0
AGAIN_SECONDS: Final = 1.0
"""Seconds before the first attempt to restore a lost consumer; doubled for each further one, up to `WATCH_SECONDS`."""


class Subscription:
    """Passes the messages of a queue to a callback, unless paused by an outage or the end of the process, or held by operators."""

    def __init__(
        self, broker: RabbitBroker, queue: str, *, prefetch: int, on_delivery: Callable[[Delivery], None]
    ) -> None:
        self.queue = queue
        self._on_delivery = on_delivery
        self._paused = False
        self._held = False
        self._started = False
        self._starts_later = False
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
        """Receives messages from the client library, if its internals are not as `messaging.broker.frames` expects."""
        self._on_delivery(delivery_of(message))

    def take(self, delivery: Delivery) -> None:
        self._on_delivery(delivery)

    def cancelled(self, tag: str) -> None:
        """Makes `watch` open a new consumer, with a new tag, on a new channel.

        RabbitMQ 4.3.0 to 4.3.6 still delivers to a consumer on the old channel after cancelling it for holding messages too long. It closes
        the connection if the tag is used again, as the client library would.
        """
        noted: dict[str, Any] = getattr(self._robust_queue, "_consumers", {})
        noted.pop(tag, None)
        if self._subscriber._consumer_tag == tag:  # noqa: SLF001
            self._subscriber._consumer_tag = None  # noqa: SLF001
            self._needs_new_channel = True
            self._ended.set()

    async def start(self) -> None:
        """Checks that the queue exists and starts to consume; while held, both come with `let_go`.

        Raises:
            aio_pika.exceptions.ChannelNotFoundEntity: it does not; declare the topology first.
        """
        async with self._lock:
            if self._held or self._started:
                self._starts_later = True
                return
            await self._start()

    async def _start(self) -> None:
        with cancellation_as_connection_error():
            await self._subscriber.start()
        self._started = True

    async def pause(self) -> None:
        """Stops deliveries; unsettled ones stay here."""
        async with self._lock:
            self._paused = True
            await self._cancel()

    async def resume(self) -> None:
        """Starts deliveries again; if the broker is unreachable, `watch` restores them."""
        async with self._lock:
            self._paused = False
            await self._try_to_consume()

    @property
    def held(self) -> bool:
        return self._held

    async def hold(self) -> None:
        """Stops deliveries until `let_go`, whatever `start` and `resume` say meanwhile; unsettled ones stay here."""
        async with self._lock:
            self._held = True
            await self._cancel()

    async def let_go(self) -> None:
        """Ends `hold`; if the broker is unreachable, `watch` restores the consumer."""
        async with self._lock:
            self._held = False
            await self._try_to_consume()

    async def _try_to_consume(self) -> None:
        if self._paused or self._held:
            return
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
        """Whether the broker has a live consumer of ours, as far as this process can know."""
        queue, tag = self._robust_queue, self._subscriber._consumer_tag  # noqa: SLF001
        if not self._started or queue is None or tag is None or queue.channel.is_closed:
            return False
        channel = self._underlay
        # The client library notes a consumer before the broker has answered, which without a majority it does not.
        if channel is None or channel.is_closed or tag not in channel.consumers:
            return False
        return tag in frames.confirmed_consumers(channel)

    def _is_lost(self) -> bool:
        """Whether a consumer is missing that the broker was not just asked for."""
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
        return self._paused or self._held or self.consuming

    def _unwanted_consumers(self) -> set[str]:
        """Tags of our consumers other than the wanted one; while paused, all of them.

        If a pause overtakes the client library's recovery, the library notes the cancelled consumer again and restores it after every
        reconnect.
        """
        queue, channel = self._robust_queue, self._underlay
        if queue is None or channel is None or channel.is_closed:
            return set()
        noted: dict[str, Any] = getattr(queue, "_consumers", {})
        return {*noted, *frames.confirmed_consumers(channel)} - {self._subscriber._consumer_tag or ""}  # noqa: SLF001

    async def watch(self) -> None:
        """Restores a lost consumer and cancels unwanted ones; runs until cancelled.

        The client library restores consumers after a reconnect, but not a consumer that the broker cancelled because its queue was moved or
        declared anew.
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
        if not self._started:
            if self._starts_later:
                async with asyncio.timeout(RPC_SECONDS):
                    await self._start()
            return
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
        """Closes the channel, so that the library opens a new one; the broker redelivers unsettled messages."""
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
