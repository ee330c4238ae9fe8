"""Metrics of requests by route: number, status and duration."""

import time
from typing import Final

from prometheus_client import Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.http.limits import ASKED_BY_MACHINES

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
NO_ROUTE: Final = "none"
"""Stands for the route of what was refused before one was looked for, or asked for what is not there."""
OTHER: Final = "other"
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_FAILED: Final = 500


def request_seconds(prefix: str) -> Histogram:
    """`<prefix>_http_request_seconds`, for `MeasuredRequests` to fill."""
    return Histogram(
        f"{prefix}_http_request_seconds",
        "From a request's arrival to the last of its answer.",
        ("method", "route", "status"),
        buckets=SECONDS,
        registry=None,
    )


class MeasuredRequests:
    """ASGI middleware around everything, so that refusals of what lies within are measured too.

    A route is what the application knows it as, `/v1/cycles/{cycle_id}`: strangers may ask for any path and by any method,
    and what they make up is not to become a label.
    """

    def __init__(self, app: ASGIApp, seconds: Histogram) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(ASKED_BY_MACHINES):
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = _FAILED

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else OTHER
            route = getattr(scope.get("route"), "path", NO_ROUTE)
            self._seconds.labels(method, route, str(status)).observe(time.perf_counter() - began)
