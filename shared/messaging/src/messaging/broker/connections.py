"""Connections of the client library that are closed when they cannot be opened.

The library (aio-pika 10.x) closes a forgotten connection when it is collected. Collected on a thread without an event loop, it
leaves "coroutine 'Connection.close' was never awaited" on standard error instead, once for each attempt that failed.
"""

from typing import Any

import aio_pika
from aio_pika.abc import TimeoutType


class PublishingConnection(aio_pika.Connection):
    """A plain connection; its user opens a new one after a loss."""

    async def connect(self, timeout: TimeoutType = None) -> None:  # noqa: ASYNC109  (the library's signature)
        try:
            await super().connect(timeout)
        except BaseException:
            await self.close()
            raise


class ConsumingConnection(aio_pika.RobustConnection):
    """A connection that the library reopens after a loss, once it has been open."""

    async def connect(self, timeout: TimeoutType = None) -> None:  # noqa: ASYNC109  (the library's signature)
        try:
            await super().connect(timeout)
        except BaseException:
            await self.close()
            raise


def use_for_consuming(broker: Any) -> None:
    """Makes a FastStream broker that is not connected yet open a `ConsumingConnection`; FastStream has no setting for it."""
    broker._connection_kwargs["connection_class"] = ConsumingConnection  # noqa: SLF001
