"""ASGI middleware at `/mcp`: lets assistants with an API key of their own to the tools, and loads these for the first of them."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.api_keys import ApiKey
from client import ClientError, RefusedError
from console.service_clients import ServiceConnections, is_away
from console.urls import ConsoleUrls

if TYPE_CHECKING:
    from console.assistants.tools import AssistantTools

PATH: Final = "/mcp"
MAX_BODY_BYTES: Final = 256_000
"""Of a request; a draft that an assistant edits has at most 200,000 characters."""
MOST_AT_ONCE: Final = 20
"""Requests of assistants under way in a process."""
_BODY_SECONDS: Final = 30.0
_TRUSTED_SECONDS: Final = 60.0
"""So long a key that the orchestrator has accepted is let in; services check it in each call of a tool."""
_MOST_TRUSTED: Final = 1_000


class _RefusedRequestError(Exception):
    def __init__(self, status: HTTPStatus, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class AssistantMiddleware:
    """Wraps the application; all other paths are passed on."""

    def __init__(self, app: ASGIApp, endpoint: "AssistantEndpoint") -> None:
        self._app = app
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        try:
            await self._endpoint.serve(scope, receive, send)
        except _RefusedRequestError as refused:
            answer = JSONResponse({"detail": refused.sentence}, refused.status, refused.headers)
            await answer(scope, receive, send)


class AssistantEndpoint:
    """The checks before the tools, and the tools once they are loaded. `is_open` is the setting ASSISTANTS."""

    def __init__(self, services: ServiceConnections, urls: ConsoleUrls, *, is_open: bool) -> None:
        self._services = services
        self._urls = urls
        self._is_open = is_open
        self._trusted: OrderedDict[bytes, float] = OrderedDict()
        self._loading = asyncio.Lock()
        self._tools: AssistantTools | None = None
        self._under_way = 0

    async def aclose(self) -> None:
        if self._tools is not None:
            await self._tools.aclose()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request of an assistant. Raises _RefusedRequestError for one that gets no further."""
        if not self._is_open:
            raise _RefusedRequestError(
                HTTPStatus.NOT_FOUND, "Assistants are turned off here (ASSISTANTS). Ask the operator."
            )
        headers = Headers(scope=scope)
        self._check_origin(headers)
        if scope["method"] != "POST":
            raise _RefusedRequestError(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "This address is for assistants: they POST here. The page “Assistants” of the console says how to connect one.",
                Allow="POST",
            )
        key = _key_of(headers)
        if self._under_way >= MOST_AT_ONCE:
            raise _RefusedRequestError(
                HTTPStatus.SERVICE_UNAVAILABLE, "Too many assistants ask at once. Try again.", Retry_After="1"
            )
        self._under_way += 1
        try:
            await self._check_key(key)
            body = await _read_body(headers, receive)
            tools = await self._load()
            await tools.app(scope, _replayed(body, receive), send)
        finally:
            self._under_way -= 1

    def _check_origin(self, headers: Headers) -> None:
        """Refuses pages of other sites, also those whose name leads to this machine."""
        origin = headers.get("origin")
        if origin is not None and origin != self._urls.origin:
            raise _RefusedRequestError(
                HTTPStatus.FORBIDDEN, "A page of another site asked for this, so nothing was done."
            )

    async def _check_key(self, key: str) -> None:
        digest, now = hashlib.sha256(key.encode()).digest(), time.monotonic()
        if self._trusted.get(digest, 0.0) > now:
            return
        try:
            await self._services.service("orchestrator", key).get_own_key()
        except RefusedError as error:
            if is_away(error):
                raise _away() from error
            if error.status == HTTPStatus.UNAUTHORIZED:
                raise _unknown_key() from error
            # Such as the limit of its requests.
            raise _RefusedRequestError(HTTPStatus(error.status), str(error)) from error
        except ClientError as error:
            raise _away() from error
        self._trusted[digest] = now + _TRUSTED_SECONDS
        self._trusted.move_to_end(digest)
        while len(self._trusted) > _MOST_TRUSTED:
            self._trusted.popitem(last=False)

    async def _load(self) -> "AssistantTools":
        async with self._loading:
            if self._tools is None:
                # In a thread: pages go on meanwhile.
                await asyncio.to_thread(_import_tools)
                from console.assistants.tools import AssistantTools, tools_app  # noqa: PLC0415

                tools = AssistantTools(tools_app(self._services))
                await tools.begin()
                self._tools = tools
        return self._tools


def _import_tools() -> None:
    import console.assistants.tools  # noqa: F401, PLC0415


def _key_of(headers: Headers) -> str:
    """The API key of the request; no service is asked about a text that is none."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or ApiKey.read(key.strip()) is None:
        raise _unknown_key()
    return key.strip()


def _unknown_key() -> _RefusedRequestError:
    return _RefusedRequestError(
        HTTPStatus.UNAUTHORIZED,
        "Send an API key of this installation as `Authorization: Bearer KEY`.",
        WWW_Authenticate='Bearer realm="Brand Engine"',
    )


def _away() -> _RefusedRequestError:
    return _RefusedRequestError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The orchestrator does not answer. Try again in a minute.",
        Retry_After="60",
    )


async def _read_body(headers: Headers, receive: Receive) -> bytes:
    length = headers.get("content-length", "0")
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            is_whole = False
            while not is_whole and len(body) <= MAX_BODY_BYTES:
                if length.isascii() and length.isdigit() and int(length[:20]) > MAX_BODY_BYTES:
                    break
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _RefusedRequestError(HTTPStatus.BAD_REQUEST, "The request broke off.")
                body += message.get("body", b"")
                is_whole = not message.get("more_body", False)
    except TimeoutError:
        raise _RefusedRequestError(
            HTTPStatus.REQUEST_TIMEOUT, f"The request took more than {_BODY_SECONDS:.0f} seconds to arrive."
        ) from None
    if not is_whole or len(body) > MAX_BODY_BYTES:
        raise _RefusedRequestError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request has at most {MAX_BODY_BYTES // 1000} kB."
        )
    return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Gives the body once, then what the client sends next, which is its end."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again
