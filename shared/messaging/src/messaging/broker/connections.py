"""Connections of the client library that are closed when they cannot be opened.

The library (aio-pika 10.x) closes a forgotten connection when it is collected. Collected on a thread without an event loop, it
leaves "coroutine 'Connection.close' was never awaited" on standard error instead, once for each attempt that failed.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aio_pika
from aio_pika.abc import TimeoutType


@contextmanager
def cancellation_as_connection_error() -> Iterator[None]:
    """Raises `ConnectionError` if the client library raises `CancelledError` and this task was not cancelled.

    If one task closes a connection, aiormq 7.x cancels every task that waits for an answer over it. Without this, such a task
    would end silently, and the service with it.
    """
    task = asyncio.current_task()
    try:
        yield
    except asyncio.CancelledError:
        if task is None or task.cancelling():
            raise
        raise ConnectionError("the connection was closed before the broker answered") from None


def is_blocked(connection: Any) -> bool:
    """Whether the broker has stopped reading from an aiormq connection that publishes (memory or disk alarm)."""
    unblocked = getattr(connection, "_Connection__connection_unblocked", None)
    return unblocked is not None and not unblocked.is_set()


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
