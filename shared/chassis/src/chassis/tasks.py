"""Ending tasks for good."""

import asyncio
from collections.abc import Iterable
from typing import Any


async def cancel_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels the tasks and returns once all have ended, however they ended."""
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        # Again if need be: a rollback that fails on a lost connection takes the place of a cancellation, and whoever
        # waits out an outage then goes on.
        ended, running = await asyncio.wait(running, timeout=1.0)
        for task in ended:
            if not task.cancelled():
                task.exception()  # looked at, or asyncio reports it as forgotten
