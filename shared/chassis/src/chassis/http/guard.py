"""The guard of an API: checks key, scope, quota, body size, and that the body is JSON with few values.

Files and text lists pass through unparsed.

It is an ASGI middleware, because a web framework parses the body before it calls any dependency: clients without a key
would use memory, and get errors about their bodies, before the refusal of their key.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from pydantic_core import from_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.database.pool import DatabaseUnavailableError
from chassis.http.bodies import TooManyValuesError, ValueCounter
from chassis.http.callers import Authorise, Caller, remember
from chassis.http.problems import ProblemResponse
from chassis.http.service_key import API_PREFIX
from chassis.http.throttling import Quotas, quota_refusal, with_quota_headers

MAX_BODY_BYTES: Final = 64_000
"""Default maximum of a body: a few texts of some thousand characters, or a thousand ids."""
MAX_VALUES: Final = 10_000
"""Fields and entries in one body, nested ones included. Each may cause an error text, which costs more than its bytes."""
MAX_VALUES_OF_LARGER: Final = 25_000
"""The same for routes with larger bodies."""
TEXTS: Final = frozenset({"text/plain", "text/csv"})
FILES_AT_A_TIME: Final = 2
"""Files in memory at a time: they stay there until they are stored."""

DATABASE_AWAY: Final = HTTPException(
    HTTPStatus.SERVICE_UNAVAILABLE, "the database is away; try again in a few seconds", {"Retry-After": "5"}
)

Admit: TypeAlias = Callable[[Request, Caller], bool]
"""Returns whether the route of a request reads a body; raises HTTPException if the caller may not use it."""


class Guard:
    """Passes API requests on only with a valid key and a small enough JSON body.

    Args:
        app: the wrapped application.
        authorise: checks the key and returns its caller.
        max_body_bytes: maximum of a body, except for `larger_bodies`.
        larger_bodies: maximum body size in bytes by route path, `/v1/brands/{slug}/research`.
        files: maximum file size in bytes by route path, for POST and PUT.
        lists: route paths that take plain text or CSV as well, which passes through unparsed.
        quotas: counts the requests of each caller; None: no quotas.
        admit: checks the head of a request before its body is read; None: every caller is admitted.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        authorise: Authorise,
        max_body_bytes: int = MAX_BODY_BYTES,
        larger_bodies: Mapping[str, int] | None = None,
        files: Mapping[str, int] | None = None,
        lists: Collection[str] = (),
        quotas: Quotas | None = None,
        admit: Admit | None = None,
    ) -> None:
        self._app = app
        self._admit = admit
        self._quotas = quotas
        self._authorise = authorise
        self._max_body_bytes = max_body_bytes
        self._larger_bodies = _compiled(larger_bodies)
        self._files = _compiled(files)
        self._lists = [compile_path(path)[0] for path in lists]
        self._files_in_hand = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(API_PREFIX):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            caller = await self._authorise(request)
            remember(request, caller)
            if self._quotas is not None and (state := await self._quotas(caller)) is not None:
                send = with_quota_headers(state, send)
                if state.is_exceeded:
                    await quota_refusal(state)(scope, receive, send)
                    return
            await self._take(request, caller, send)
        except (HTTPException, DatabaseUnavailableError) as error:
            refusal = error if isinstance(error, HTTPException) else DATABASE_AWAY
            await ProblemResponse.of(refusal)(scope, receive, send)
        except ClientDisconnect:
            return

    async def _take(self, request: Request, caller: Caller, send: Send) -> None:
        """Read the body and pass it on; raise HTTPException for a body that the route does not take."""
        if self._admit is not None and not self._admit(request, caller):
            await self._hand_on(request, b"", send)
            return
        path = request.scope["path"]
        if request.method in {"POST", "PUT"} and (size := _size_at(path, self._files)) is not None:
            await self._take_file(request, size, send)
            return
        larger = _size_at(path, self._larger_bodies)
        max_values = MAX_VALUES_OF_LARGER if larger else MAX_VALUES
        may_be_text = self._may_be_text(request)
        counter = None if may_be_text else ValueCounter(max_values)
        try:
            body = await _read(request, larger or self._max_body_bytes, counter)
            is_text = may_be_text and body.lstrip()[:1] != b"{"
            if body and not is_text:
                _look_through(body, max_values, is_counted=counter is not None)
        except TooManyValuesError:
            raise _too_many_values(max_values) from None
        await self._hand_on(request, body, send, is_text=is_text)

    async def _hand_on(self, request: Request, body: bytes, send: Send, *, is_text: bool = False) -> None:
        if not is_text:
            # JSON without its content type is accepted.
            MutableHeaders(scope=request.scope)["content-type"] = "application/json"
        await self._app(request.scope, _replay(body, request.receive), send)

    def _may_be_text(self, request: Request) -> bool:
        """Return whether the body may be a text list by type and path; one that begins like a JSON object is JSON."""
        if media_type(request.headers) not in TEXTS:
            return False
        return any(regex.match(request.url.path) for regex in self._lists)

    async def _take_file(self, request: Request, max_bytes: int, send: Send) -> None:
        if self._files_in_hand >= FILES_AT_A_TIME:
            raise HTTPException(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "too many files are being sent at once; try again in a few seconds",
                {"Retry-After": "5", "Connection": "close"},
            )
        self._files_in_hand += 1
        try:
            body = await _read(request, max_bytes)
            await self._app(request.scope, _replay(body, request.receive), send)
        finally:
            self._files_in_hand -= 1


def _compiled(sizes: Mapping[str, int] | None) -> list[tuple[re.Pattern[str], int]]:
    return [(compile_path(path)[0], size) for path, size in (sizes or {}).items()]


def _size_at(path: str, sizes: Sequence[tuple[re.Pattern[str], int]]) -> int | None:
    return next((size for regex, size in sizes if regex.match(path)), None)


def shown_size(size: int) -> str:
    """Format a number of bytes: `64 kB`, `2.5 MB`."""
    return f"{size / 1e6:g} MB" if size >= 1e6 else f"{size / 1000:g} kB"  # noqa: PLR2004  (a megabyte)


async def _read(request: Request, max_bytes: int, counter: ValueCounter | None = None) -> bytes:
    if _announced_size(request.headers) > max_bytes:
        raise _too_large(max_bytes)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        if counter is not None:
            counter.feed(chunk)
    return bytes(body)


def _look_through(body: bytes, max_values: int, *, is_counted: bool) -> None:
    """Raise TooManyValuesError, or HTTPException 422 for invalid JSON."""
    if not is_counted:
        ValueCounter(max_values).feed(body)
    try:
        # This parser bounds the depth of nesting and refuses lone surrogates, unlike the one of the framework.
        document = from_json(body, allow_inf_nan=False)
    except ValueError as problem:
        raise HTTPException(
            HTTPStatus.UNPROCESSABLE_ENTITY, f"the request body is not valid JSON: {problem}"
        ) from problem
    if _has_more_values_than(max_values, document):
        raise TooManyValuesError


def _too_many_values(limit: int) -> HTTPException:
    return HTTPException(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"the request body has more than {limit:,} fields and entries; split it over several requests",
    )


def _has_more_values_than(limit: int, document: Any) -> bool:
    found = 0
    inside = [document]
    while inside:
        value = inside.pop()
        if not isinstance(value, dict | list):
            continue
        found += len(value)
        if found > limit:
            return True
        inside.extend(value.values() if isinstance(value, dict) else value)
    return False


def _too_large(max_bytes: int) -> HTTPException:
    return HTTPException(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the request body is larger than {shown_size(max_bytes)}; shorten it or split it over several requests",
        {"Connection": "close"},
    )


def media_type(headers: Headers) -> str:
    """Return the media type of a body without parameters: `text/csv`."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _announced_size(headers: Headers) -> int:
    announced = headers.get("content-length", "")
    return int(announced) if announced.isdecimal() else 0


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body, then the server's next messages (the client's disconnect)."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
