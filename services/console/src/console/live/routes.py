"""`/live`: the stream of a tab."""

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from console.pages.parts import parts_of
from console.pages.viewer import find_viewer
from console.watching.pages import WatchedAddress
from console.watching.streams import LiveStream, TooManyStreamsError

_HEADERS: Final = {
    # Nothing on the way may keep events back or change them.
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
}
_LONGEST_ID: Final = 60
router = APIRouter(include_in_schema=False)


@router.get("/live")
async def stream_events(request: Request, page: str) -> Response:
    """Says when the page at an address of the console, as its tab has it, is no longer as it was."""
    parts = parts_of(request)
    viewer = await find_viewer(request, touch=False)
    if viewer is None:
        return PlainTextResponse("Sign in first.", HTTPStatus.UNAUTHORIZED)
    address = WatchedAddress.of(page, parts.live_pages)
    if address is None or (address.brand is not None and not viewer.may_see(address.brand)):
        return PlainTextResponse(viewer.t("live.unknown"), HTTPStatus.NOT_FOUND)
    seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
    try:
        stream = parts.live.open(viewer.person, viewer.session.id)
    except TooManyStreamsError:
        return PlainTextResponse(
            viewer.t("live.too_many"), HTTPStatus.TOO_MANY_REQUESTS, headers={"Retry-After": "60"}
        )
    events = parts.live.events(stream, address, viewer.alone(), seen[:_LONGEST_ID])
    return _LiveResponse(request, stream, events)


class _LiveResponse(StreamingResponse):
    """Gives its place back also if the tab has left before the first event."""

    def __init__(self, request: Request, stream: LiveStream, events: AsyncIterator[str]) -> None:
        super().__init__(events, media_type="text/event-stream", headers=_HEADERS)
        self._live = parts_of(request).live
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._live.close(self._stream)
