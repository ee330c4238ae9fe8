"""Cancels tasks reliably."""

import asyncio
from collections.abc import Iterable
from typing import Any


async def cancel_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the tasks and wait until all have ended."""
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        # Repeated, as a rollback that fails on a lost connection replaces the cancellation, and a task that waits out
        # an outage would then continue.
        ended, running = await asyncio.wait(running, timeout=1.0)
        for task in ended:
            if not task.cancelled():
                task.exception()  # retrieved, or asyncio logs it as never retrieved
