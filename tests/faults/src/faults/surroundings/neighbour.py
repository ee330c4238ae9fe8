"""A dependency of the workers: a service that their handlers call over HTTP, through a proxy that can cut it off."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from chassis.http import server
from chassis.testing import TcpProxy, eventually


class FixedAnswerServer:
    """Answers every request with `status`."""

    def __init__(self) -> None:
        self.status = 200
        self.asked = 0
        self.proxy = TcpProxy("127.0.0.1", 0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.proxy.port}"

    @classmethod
    @asynccontextmanager
    async def serving(cls) -> AsyncIterator["FixedAnswerServer"]:
        neighbour = cls()
        app = Starlette(routes=[Route("/{path:path}", neighbour._answer)])
        serving = server.server(app, "127.0.0.1", 0)
        task = asyncio.create_task(serving.serve())
        await eventually(lambda: serving.started)
        port = serving.servers[0].sockets[0].getsockname()[1]
        try:
            async with TcpProxy("127.0.0.1", port) as neighbour.proxy:
                yield neighbour
        finally:
            serving.should_exit = True
            await task

    async def _answer(self, request: Request) -> PlainTextResponse:
        self.asked += request.url.path != "/health/ready"
        return PlainTextResponse("as you wish", status_code=self.status)
