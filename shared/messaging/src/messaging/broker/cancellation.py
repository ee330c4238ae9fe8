"""The client library's cancellations, told as what they are."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cancellation_as_connection_error() -> Iterator[None]:
    """Raises `ConnectionError` where the client library raises `CancelledError` and nobody cancelled this task.

    Whoever waits for an answer over a connection that another task closes is handed the cancellation of the library's own
    writer (aiormq 7.x). A task of ours would end of it without a word, and the service with it.
    """
    task = asyncio.current_task()
    try:
        yield
    except asyncio.CancelledError:
        if task is None or task.cancelling():
            raise
        raise ConnectionError("the connection was closed before the broker answered") from None
