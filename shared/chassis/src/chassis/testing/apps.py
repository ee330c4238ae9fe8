"""Running a process for real, inside a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from chassis.app import App
from chassis.testing.waiting import eventually

AppT = TypeVar("AppT", bound=App)


@asynccontextmanager
async def running(app: AppT) -> AsyncIterator[AppT]:
    """Runs it, ready when the block begins, stopped in order when it ends."""
    task = asyncio.create_task(app.run())
    try:
        await eventually(lambda: _ready(app, task))
        yield app
    finally:
        app.stop()
        await task


async def _ready(app: App, task: asyncio.Task[None]) -> bool:
    if task.done():
        task.result()
        raise AssertionError("it ended before it was ready")
    return app.port != 0 and not await app.problems()
