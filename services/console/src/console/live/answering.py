"""`/live`: the stream of a tab, answered outside of the pages' application.

A stream lasts as long as its tab, and would keep each layer that it goes through: some 50 kB for every person who watches.
"""

import asyncio
from contextlib import aclosing
from http import HTTPStatus
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from chassis.database.pool import DatabaseUnavailableError
from console.pages.layout import texts_of
from console.pages.parts import parts_of
from console.pages.viewer import find_viewer
from console.service_clients import PersonClients
from console.watching.pages import WatchedAddress
from console.watching.streams import LiveStream, LiveStreams, NoRoomError, TooManyStreamsError

_PATH: Final = "/live"
_HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    # Nothing on the way may keep events back or change them.
    (b"cache-control", b"no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
)
_LONGEST_ID: Final = 60
_RETRY_SECONDS: Final = 60


class LiveAnswers:
    """ASGI middleware: says when the page at an address of the console, as its tab has it, is no longer as it was."""

    def __init__(self, app: ASGIApp, pages: FastAPI, live: LiveStreams) -> None:
        self._app = app
        self._pages = pages
        self._live = live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != _PATH or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        begun = await _begin(Request({**scope, "app": self._pages}), self._live)
        if isinstance(begun, Response):
            await begun(scope, receive, send)
            return
        stream, address, clients, seen = begun
        leaving = asyncio.create_task(_end_when_left(receive, stream), name="live tab")
        try:
            await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": list(_HEADERS)})
            async with aclosing(self._live.events(stream, address, clients, seen)) as events:
                async for text in events:
                    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            leaving.cancel()
            # Gives its place back also if the tab has left before the first event.
            self._live.close(stream)


async def _begin(
    request: Request, live: LiveStreams
) -> Response | tuple[LiveStream, WatchedAddress, PersonClients, str]:
    """Opens a stream for the tab of a signed-in person, or refuses it."""
    parts = parts_of(request)
    try:
        viewer = await find_viewer(request, touch=False)
    except DatabaseUnavailableError:
        # Also if all connections are in use for long.
        return _later(texts_of(request, None)("layout.error.database"))
    if viewer is None:
        return PlainTextResponse("Sign in first.", HTTPStatus.UNAUTHORIZED)
    address = WatchedAddress.of(request.query_params.get("page", ""), parts.live_pages, parts.connections)
    if address is None or (address.brand is not None and not viewer.may_see(address.brand)):
        return PlainTextResponse(viewer.t("live.unknown"), HTTPStatus.NOT_FOUND)
    seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
    try:
        stream = live.open(viewer.person, viewer.session.id)
    except TooManyStreamsError:
        return _later(viewer.t("live.too_many"), HTTPStatus.TOO_MANY_REQUESTS)
    except NoRoomError:
        return _later(viewer.t("live.no_room"))
    return stream, address, viewer.alone(), seen[:_LONGEST_ID]


def _later(text: str, status: HTTPStatus = HTTPStatus.SERVICE_UNAVAILABLE) -> Response:
    """Refuses for now; `live.js` asks again after as long."""
    return PlainTextResponse(text, status, headers={"Retry-After": str(_RETRY_SECONDS)})


async def _end_when_left(receive: Receive, stream: LiveStream) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.end("left")
