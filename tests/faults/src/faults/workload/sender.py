"""The client: submits commands with publisher confirms and tells the history what it knows of each, which is not all."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection

from faults.judging.history import CommandHistory, SubmittedCommand
from messaging.errors import BROKER_ERRORS
from messaging.topology import COMMANDS

_AT_ONCE: Final = 200
_CONFIRM_SECONDS: Final = 5.0
_RECONNECT_SECONDS: Final = 0.2

HeaderValues = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EncodedCommand:
    """A command and the bytes that it travels in."""

    command: SubmittedCommand
    body: bytes
    type: str | None = None
    headers: HeaderValues = field(default_factory=dict)
    exchange: str = COMMANDS
    delivery_mode: aio_pika.DeliveryMode = aio_pika.DeliveryMode.PERSISTENT


class CommandSender:
    """Keeps a connection, and makes another one when it is lost."""

    def __init__(self, url: str, history: CommandHistory, rng: random.Random) -> None:
        self._url = url
        self._history = history
        self._rng = rng
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None
        self._lock = asyncio.Lock()

    async def send(self, sendings: Sequence[EncodedCommand], *, copies: float = 0.0) -> None:
        """Publishes each once and a fraction of them once more, right away or a little later."""
        for start in range(0, len(sendings), _AT_ONCE):
            batch = list(sendings[start : start + _AT_ONCE])
            again = [sending for sending in batch if self._rng.random() < copies]
            self._rng.shuffle(again)
            await asyncio.gather(*(self._send(sending) for sending in (*batch, *again)))

    async def close(self) -> None:
        await self._drop()

    async def _send(self, sending: EncodedCommand) -> None:
        command = sending.command
        if command.id not in self._history.commands:
            self._history.invoke(command)
        try:
            async with asyncio.timeout(_CONFIRM_SECONDS):
                channel = await self._ready()
                exchange = await channel.get_exchange(sending.exchange, ensure=False)
                message = aio_pika.Message(
                    sending.body,
                    type=sending.type,
                    headers=dict(sending.headers),
                    delivery_mode=sending.delivery_mode,
                )
                await exchange.publish(message, command.queue, mandatory=True)
        except BROKER_ERRORS as error:
            self._history.info(command.id, repr(error))
            await asyncio.sleep(_RECONNECT_SECONDS)
        else:
            self._history.ok(command.id)

    async def _ready(self) -> AbstractChannel:
        async with self._lock:
            if self._channel is None or self._channel.is_closed:
                await self._drop()
                self._connection = await aio_pika.connect(self._url, timeout=_CONFIRM_SECONDS)
                self._channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
            return self._channel

    async def _drop(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            with suppress(Exception):
                async with asyncio.timeout(2):
                    await connection.close()
