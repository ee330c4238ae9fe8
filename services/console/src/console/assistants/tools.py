"""The tools of assistants, as an application. Imported at the first request: the protocol's package takes 17 MB and a second."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from assistants import Services, assistant_server
from assistants.services import bearer_key
from console.service_clients import ServiceConnections


class AssistantTools:
    """Runs the application, whose life needs a task."""

    def __init__(self, app: Starlette) -> None:
        self.app = app
        self._ending = asyncio.Event()
        self._began: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live())

    async def begin(self) -> None:
        """Waits until the application takes requests."""
        await asyncio.shield(self._began)

    async def aclose(self) -> None:
        self._ending.set()
        await self._task

    async def _live(self) -> None:
        try:
            async with self.app.router.lifespan_context(self.app):
                self._began.set_result(None)
                await self._ending.wait()
        except Exception as error:
            if self._began.done():
                raise
            self._began.set_exception(error)


def tools_app(services: ServiceConnections) -> Starlette:
    """The application, without sessions: each request has its key, and any replica answers it."""

    @asynccontextmanager
    async def connect(context: Any) -> AsyncIterator[Services]:
        key = bearer_key(context)
        # They share the console's connections, so nothing has to be closed.
        yield Services(
            orchestrator=services.service("orchestrator", key),
            publisher=services.service("publisher", key),
            social=services.service("social", key),
        )

    return assistant_server(connect).streamable_http_app(
        json_response=True,
        stateless_http=True,
        # The endpoint has checked the origin; behind a proxy, the host is any.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
