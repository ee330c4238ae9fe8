"""Runs a real process inside a test."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from starlette.types import ASGIApp

from chassis.app import App
from chassis.http.limits import Limits
from chassis.http.server import server
from chassis.testing.waiting import eventually

AppT = TypeVar("AppT", bound=App)


@asynccontextmanager
async def running(app: AppT) -> AsyncIterator[AppT]:
    """Run the app for the block: it is ready at the beginning, and shut down at the end."""
    task = asyncio.create_task(app.run())
    try:
        await eventually(lambda: _ready(app, task))
        yield app
    finally:
        app.stop()
        await task


@asynccontextmanager
async def serving(
    app: ASGIApp, *, limits: Limits | None = None, proxies: Sequence[str] = ()
) -> AsyncIterator[str]:
    """Serve an ASGI application on a free port, without an `App`; yield `http://127.0.0.1:port`."""
    alone = server(app, "127.0.0.1", 0, limits=limits, proxies=proxies)
    task = asyncio.create_task(alone.serve())
    try:
        await eventually(lambda: alone.started)
        yield f"http://127.0.0.1:{alone.servers[0].sockets[0].getsockname()[1]}"
    finally:
        alone.should_exit = True
        await task


async def _ready(app: App, task: asyncio.Task[None]) -> bool:
    if task.done():
        task.result()
        raise AssertionError("it ended before it was ready")
    return app.port != 0 and not await app.problems()
