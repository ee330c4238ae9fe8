"""What stands before the routes: the key, the size, and that a body is JSON at all.

It is an ASGI middleware, because a web framework reads and parses the body before it asks any dependency: a stranger
would learn what is wrong with his body, and would have it held in memory, before he is told that he lacks the key.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Final, TypeAlias

from pydantic_core import from_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES: Final = 4 * 1024 * 1024
"""1,000 keywords of 200 characters, each written as two JSON escapes, come to 2.4 MB."""
MAX_DISCARD_BYTES: Final = 32 * 1024 * 1024
MAX_DISCARD_SECONDS: Final = 5.0
"""How much of a refused body is read, and thrown away, before the answer."""

Authorise: TypeAlias = Callable[[Request], Awaitable[None]]


class Guard:
    """Lets a request to `/v1/` through only with a key, and with a body that is small enough and JSON."""

    def __init__(self, app: ASGIApp, *, authorise: Authorise) -> None:
        self._app = app
        self._authorise = authorise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        incoming = _Incoming(receive)
        request = Request(scope, incoming)
        try:
            await self._authorise(request)
            body = await _read(request)
        except HTTPException as refusal:
            await incoming.discard()
            response = JSONResponse({"detail": refusal.detail}, refusal.status_code, refusal.headers)
            await response(scope, receive, send)
            return
        except ClientDisconnect:
            return
        # Only JSON is spoken here, so a client that did not care to say so is understood all the same.
        MutableHeaders(scope=scope)["content-type"] = "application/json"
        await self._app(scope, _replay(body, receive), send)


class _Incoming:
    """The server's `receive`, which remembers whether the body has come to its end."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self._ended = not message.get("more_body", False)
        return message

    async def discard(self) -> None:
        """Reads on for a while: a client still sending when the connection closes would never see the answer."""
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_DISCARD_SECONDS):
                while not self._ended and size < MAX_DISCARD_BYTES:
                    size += len((await self()).get("body", b""))


async def _read(request: Request) -> bytes:
    if _announced_size(request.headers) > MAX_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
    if body:
        try:
            # This parser bounds the depth of nesting and refuses lone surrogates, unlike the one of the framework.
            from_json(body, allow_inf_nan=False)
        except ValueError as problem:
            raise HTTPException(
                HTTPStatus.UNPROCESSABLE_ENTITY, f"the request body is not valid JSON: {problem}"
            ) from problem
    return bytes(body)


def _announced_size(headers: Headers) -> int:
    announced = headers.get("content-length", "")
    return int(announced) if announced.isdecimal() else 0


def _too_large() -> HTTPException:
    return HTTPException(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the request body is larger than {MAX_BODY_BYTES // 1024 // 1024} MiB; split the keywords over several requests",
        {"Connection": "close"},
    )


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read already, then whatever the server says next (that the client went away)."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
