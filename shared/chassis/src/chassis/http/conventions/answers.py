"""Middleware for API answers: HEAD without a body, 304 for current copies, compression."""

from collections.abc import MutableSequence
from http import HTTPStatus
from typing import Final, TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.http.conditional import entity_tag, is_known
from chassis.http.service_key import API_PREFIX

ASKED_METHOD: Final = "chassis.asked_method"
"""Key of a request's scope: the method that the client sent."""
WORTH_COMPRESSING_BYTES: Final = 1024
_COMPRESSION: Final = 5
"""Level of 9: higher ones take twice the time for a few percent."""
_NO_CACHE: Final = "private, no-cache"

_Header: TypeAlias = tuple[bytes, bytes]


def _is_api(scope: Scope) -> bool:
    return bool(scope["type"] == "http" and scope["path"].startswith(API_PREFIX))


class HeadRequests:
    """ASGI middleware before the guard: answers HEAD like GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_api(scope) or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        asked = {**scope, "method": "GET", ASKED_METHOD: "HEAD"}
        try:
            await self._app(asked, receive, sending)
        finally:
            # Request metrics need the route, and look at the original scope.
            if "route" in asked:
                scope["route"] = asked["route"]


class TaggedAnswers:
    """ASGI middleware: adds an ETag to each answer to GET, or responds 304 if the client has it already.

    Routes may set their own ETag. Streamed answers and those with `no-store` get none.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_api(scope) or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        known = Headers(scope=scope).get("if-none-match")
        await self._app(scope, receive, _Tagging(send, known))


class _Tagging:
    """A `send` that holds the head back until the body comes."""

    def __init__(self, send: Send, known: str | None) -> None:
        self._send = send
        self._known = known
        self._head: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if _can_be_tagged(message):
                self._head = message
            else:
                await self._send(message)
            return
        if self._head is not None:
            head, self._head = self._head, None
            if not message.get("more_body", False):
                head, message = self._tagged(head, message)
            await self._send(head)
        await self._send(message)

    def _tagged(self, head: Message, message: Message) -> tuple[Message, Message]:
        etag = entity_tag(message.get("body", b""))
        headers = MutableHeaders(raw=list(head["headers"]))
        headers["ETag"] = etag
        headers.setdefault("Cache-Control", _NO_CACHE)
        if self._known is None or not is_known(etag, self._known):
            return {**head, "headers": headers.raw}, message
        # A 304 has no body, so it has no headers about one.
        del headers["content-length"]
        del headers["content-type"]
        unchanged = {**head, "status": HTTPStatus.NOT_MODIFIED.value, "headers": headers.raw}
        return unchanged, {**message, "body": b""}


def _can_be_tagged(head: Message) -> bool:
    headers = Headers(raw=list(head.get("headers", ())))
    return (
        head["status"] == HTTPStatus.OK
        and "etag" not in headers
        and "no-store" not in headers.get("cache-control", "")
    )


class CompressedAnswers:
    """ASGI middleware: compresses large answers with gzip if the client accepts it.

    Compressed answers get a weak ETag, as their bytes differ.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._compressing = GZipMiddleware(
            app, minimum_size=WORTH_COMPRESSING_BYTES, compresslevel=_COMPRESSION
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_api(scope):
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _weakened(list(message["headers"]))}
            await send(message)

        await self._compressing(scope, receive, sending)


def _weakened(headers: MutableSequence[_Header]) -> MutableSequence[_Header]:
    if (b"content-encoding", b"gzip") not in headers:
        return headers
    return [
        (name, b"W/" + value) if name == b"etag" and not value.startswith(b"W/") else (name, value)
        for name, value in headers
    ]
