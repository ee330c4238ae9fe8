"""Updates a live broker to the current topology: declares it, and moves messages from queues with former names.

During and after the move, a consumer of the previous version may still work on the former queue. No message is lost: the new queue
also gets what that consumer publishes under the former name, and duplicates have the same `event_id`.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from time import monotonic
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage, AbstractQueue

from envelope import Catalogue
from messaging import headers as header
from messaging import topology
from messaging.flow import dead_letters
from messaging.topology import dead_letter_queue
from messaging.topology.users import ManagementApi

BATCH: Final = 200
_BATCH_BYTES: Final = 16 * 1024 * 1024
_CONFIRM_SECONDS: Final = 15.0
_LOOK_SECONDS: Final = 1.0
_QUIET_SECONDS: Final = 12.0
"""How long the management API must report an empty queue: its figures are up to five seconds old."""
_PATIENCE_SECONDS: Final = 60.0
"""How long the upgrade waits for messages that old consumers hold."""

Say = Callable[[str], object]


async def apply_topology(url: str, catalogue: Catalogue, *, api_url: str | None = None, say: Say) -> None:
    """Declares the topology on the broker at `url`, then empties and removes queues with former names.

    Safe to repeat, at any time and from anywhere; an interrupted run leaves copies, never gaps.

    Args:
        url: an administrator's AMQP URL.
        catalogue: has the queue's former names.
        api_url: an administrator's URL of the management API. Without it, unacknowledged messages of the former queue are
            invisible, so the queue is emptied and not removed.
        say: prints lines for people: the moved messages, and remaining steps.

    Raises:
        aio_pika.exceptions.AMQPError, OSError, TimeoutError: the broker is unreachable or refuses.
        UsersError: the management API is unreachable or refuses.
    """
    await topology.declare(url, catalogue)
    connection = await aio_pika.connect(url, timeout=15)
    async with connection:
        for former in catalogue.events_queue_formerly:
            move = await _QueueMigration.of(connection, catalogue, former)
            if move.targets:
                await move.run(connection, _QueueInspector.at(url, api_url), say)


class _QueueInspector:
    """Checks with the management API whether queues are empty, unacknowledged messages included."""

    def __init__(self, api: ManagementApi, vhost: str) -> None:
        self._api = api
        self._vhost = vhost

    @classmethod
    def at(cls, url: str, api_url: str | None) -> "_QueueInspector | None":
        vhost = unquote(urlsplit(url).path.removeprefix("/")) or "/"
        return None if api_url is None else cls(ManagementApi.at(api_url), vhost)

    async def sees_nothing(self, queues: Iterable[str]) -> bool:
        for queue in queues:
            state = await asyncio.to_thread(self._api.read, "queues", self._vhost, queue)
            # An API without statistics, which can be switched off, has no count.
            if state is not None and state.get("messages") != 0:
                return False
        return True

    def close(self) -> None:
        self._api.connection.close()


class _QueueMigration:
    """Moves messages from the queues of a version that called its events queue `former` to the current ones."""

    def __init__(self, catalogue: Catalogue, former: str, targets: Mapping[str, str]) -> None:
        self._catalogue = catalogue
        self._former = former
        self.targets = targets
        """Former queue → current queue, for existing former queues."""
        self._moved: Counter[str] = Counter()

    @classmethod
    async def of(cls, connection: AbstractConnection, catalogue: Catalogue, former: str) -> Self:
        today = catalogue.name_today(former)
        targets = {former: today, dead_letter_queue(former): dead_letter_queue(today)}
        there = {source: target for source, target in targets.items() if await _exists(connection, source)}
        return cls(catalogue, former, there)

    async def run(self, connection: AbstractConnection, inspector: _QueueInspector | None, say: Say) -> None:
        async with connection.channel(on_return_raises=True) as channel:
            await self._unbind(channel)
            await self._drain(channel)
            try:
                empty = inspector is not None and await self._wait_until_empty(channel, inspector)
            finally:
                if inspector is not None:
                    inspector.close()
            for source, target in self.targets.items():
                if count := self._moved[source]:
                    say(
                        f"moved {count:,} {'message' if count == 1 else 'messages'} from {source} to {target}"
                    )
                say(await self._remove(channel, source, looked=inspector is not None, empty=empty))

    async def _remove(self, channel: AbstractChannel, source: str, *, looked: bool, empty: bool) -> str:
        """Removes the queue if no message can be lost; returns a line about the result or the next step."""
        declared = await channel.declare_queue(source, passive=True)
        consumers = declared.declaration_result.consumer_count or 0
        if empty and not consumers:
            await channel.queue_delete(source)
            return f"removed {source}: it was empty and unused"
        stays = f"{source} stays and gets no more messages"
        if not looked:
            return (
                f"{stays}: only the management API shows unacknowledged messages. Once the previous version "
                "is stopped, run this again with RABBITMQ_API_URL set to remove it"
            )
        if consumers:
            return (
                f"{stays}: the previous version still consumes it. Once that is stopped, run this again: returned messages "
                "are moved, and the queue is removed"
            )
        return f"{stays}: it has unacknowledged messages, or gets more. Run this again"

    async def _unbind(self, channel: AbstractChannel) -> None:
        """Removes the bindings of the previous version and of the way back to it."""
        then = topology.describe(self._catalogue.calling_events_queue(self._former))
        for binding in then.bindings:
            if binding.queue in self.targets:
                queue = await channel.get_queue(binding.queue, ensure=False)
                await queue.unbind(binding.exchange, binding.routing_key)

    async def _drain(self, channel: AbstractChannel) -> bool:
        """Moves ready messages; returns whether there were any. It acknowledges after the confirm: a crash makes copies."""
        before = self._moved.total()
        for source, target in self.targets.items():
            queue = await channel.get_queue(source, ensure=False)
            while batch := [message async for message in _next_batch(queue)]:
                copies = [self._copy(message, source) for message in batch]
                async with asyncio.timeout(_CONFIRM_SECONDS):
                    await asyncio.gather(
                        *(channel.default_exchange.publish(copy, target, mandatory=True) for copy in copies)
                    )
                await batch[-1].ack(multiple=True)
                self._moved[source] += len(batch)
        return self._moved.total() > before

    async def _wait_until_empty(self, channel: AbstractChannel, inspector: _QueueInspector) -> bool:
        """Whether the queue is empty, unacknowledged messages included; moves messages that return meanwhile."""
        began = last_seen = monotonic()
        while monotonic() - began < _PATIENCE_SECONDS:
            await asyncio.sleep(_LOOK_SECONDS)
            if await self._drain(channel) or not await inspector.sees_nothing(self.targets):
                last_seen = monotonic()
            elif monotonic() - last_seen >= _QUIET_SECONDS:
                return True
        return False

    def _copy(self, message: AbstractIncomingMessage, source: str) -> aio_pika.Message:
        return aio_pika.Message(
            message.body,
            headers=self._headers(message, source),
            content_type=message.content_type,
            content_encoding=message.content_encoding,
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            correlation_id=message.correlation_id,
            message_id=message.message_id,
            timestamp=message.timestamp,
            type=message.type,
            app_id=message.app_id,
        )

    def _headers(self, message: AbstractIncomingMessage, source: str) -> dict[str, Any]:
        """Its own, without the broker's: of those, what says why a message died is written down in our words."""
        headers = {name: value for name, value in message.headers.items() if not name.startswith("x-")}
        if source != dead_letter_queue(self._former):
            return headers
        letter = dead_letters.read_leniently(message.body, dict(message.headers), self._former)
        return {header.FAILURE_QUEUE: self._former, **headers, **dead_letters.fact_headers(letter)}


async def _exists(connection: AbstractConnection, queue: str) -> bool:
    channel = await connection.channel()
    try:
        await channel.declare_queue(queue, passive=True)
    except aio_pika.exceptions.ChannelNotFoundEntity:
        return False
    await channel.close()
    return True


async def _next_batch(queue: AbstractQueue) -> AsyncIterator[AbstractIncomingMessage]:
    """Yields ready messages, up to a batch."""
    count = size = 0
    while count < BATCH and size < _BATCH_BYTES:
        message = await queue.get(fail=False)
        if message is None:
            return
        count += 1
        size += len(message.body)
        yield message
