"""What stands before the routes of an API: the key, the size, and that a body is JSON at all.

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

from chassis.http.service_key import API_PREFIX

MAX_BODY_BYTES: Final = 1024 * 1024
"""Enough for 20,000 ids in one request."""
MAX_DISCARD_BYTES: Final = 32 * 1024 * 1024
MAX_DISCARD_SECONDS: Final = 5.0
"""How much of a refused body is read, and thrown away, before the answer."""

Authorise: TypeAlias = Callable[[Request], Awaitable[None]]
"""Raises HTTPException 401 for a request without the service's key."""


class Guard:
    """Lets a request to the API through only with a key, and with a body that is small enough and JSON."""

    def __init__(self, app: ASGIApp, *, authorise: Authorise, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._authorise = authorise
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(API_PREFIX):
            await self._app(scope, receive, send)
            return
        incoming = _Incoming(receive)
        request = Request(scope, incoming)
        try:
            await self._authorise(request)
            body = await self._read(request)
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

    async def _read(self, request: Request) -> bytes:
        if _announced_size(request.headers) > self._max_body_bytes:
            raise self._too_large()
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self._max_body_bytes:
                raise self._too_large()
        if body:
            try:
                # This parser bounds the depth of nesting and refuses lone surrogates, unlike the one of the framework.
                from_json(body, allow_inf_nan=False)
            except ValueError as problem:
                raise HTTPException(
                    HTTPStatus.UNPROCESSABLE_ENTITY, f"the request body is not valid JSON: {problem}"
                ) from problem
        return bytes(body)

    def _too_large(self) -> HTTPException:
        return HTTPException(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the request body is larger than {shown_size(self._max_body_bytes)}; split it over several requests",
            {"Connection": "close"},
        )


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


def shown_size(size: int) -> str:
    """A number of bytes as people read it: `4 MiB`, or `1,000 bytes` where that is not even."""
    mebibytes, rest = divmod(size, 1024 * 1024)
    return f"{size:,} bytes" if rest else f"{mebibytes} MiB"


def _announced_size(headers: Headers) -> int:
    announced = headers.get("content-length", "")
    return int(announced) if announced.isdecimal() else 0


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
