"""Running a service for real, inside a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from messaging.service import Service
from messaging.testing.waiting import eventually


@asynccontextmanager
async def running(service: Service) -> AsyncIterator[Service]:
    """Runs a service, ready when the block begins, stopped in order when it ends."""
    task = asyncio.create_task(service.run())
    try:
        await eventually(lambda: _ready(service, task))
        yield service
    finally:
        service.stop()
        await task


async def _ready(service: Service, task: asyncio.Task[None]) -> bool:
    if task.done():
        task.result()
        raise AssertionError("the service ended before it was ready")
    return service.port != 0 and not await service.problems()
