"""Turns cancellations that the client library causes into connection errors."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


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
