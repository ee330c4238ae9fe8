"""The HTTP server and the health routes."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from chassis.http.bodies import RequestBodies, WaitingBodies
from chassis.http.headers import SafeHeaders
from chassis.http.limits import Limits, limited_protocol

ReadinessCheck = Callable[[], Awaitable[dict[str, str]]]
"""Returns what is not ready, and why; empty when all is."""


Remarks = Callable[[], dict[str, str]]
"""Returns what people should know of a process that works all the same; empty mostly."""


def health_routes(check: ReadinessCheck, remarks: Remarks = dict) -> list[Route]:
    """`/health/live`: the event loop turns. `/health/ready`: everything that work needs is there right now.

    The latter's status tells whether to send work; remarks, which it carries too, never change it.
    """

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        problems = await check()
        remarked = {"remarks": known} if (known := remarks()) else {}
        if problems:
            return JSONResponse({"status": "not ready", "problems": problems, **remarked}, status_code=503)
        return JSONResponse({"status": "ok", **remarked})

    return [
        Route("/health/live", live, include_in_schema=False),
        Route("/health/ready", ready, include_in_schema=False),
    ]


class _Server(uvicorn.Server):
    """uvicorn without signal handlers, as the process stops its parts in order."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def server(
    app: ASGIApp, host: str, port: int, *, limits: Limits | None = None, proxies: Sequence[str] = ()
) -> uvicorn.Server:
    """Build an HTTP server for the app; `await server.serve()` runs it, `server.should_exit = True` ends it.

    It trusts `X-Forwarded-For` only from `proxies` (addresses and networks).
    """
    limits = limits or Limits()
    waiting = WaitingBodies(limits.bodies, limits.bodies_of_one)
    config = uvicorn.Config(
        SafeHeaders(RequestBodies(app, waiting, limits.lingering)),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=5,
        server_header=False,
        proxy_headers=bool(proxies),
        # Never left to uvicorn, which would take it from its own variable, or believe this machine.
        forwarded_allow_ips=list(proxies),
        http=limited_protocol(limits),
        ws="none",
        timeout_keep_alive=limits.idle_seconds,
    )
    return _Server(config)
