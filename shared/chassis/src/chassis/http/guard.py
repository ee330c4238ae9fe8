"""What stands before the routes of an API: the key, its scope, the size, and that a body is JSON that is quickly looked through.

Where a route takes a file or a list instead, it is handed on as it came: nothing here looks into it.

It is an ASGI middleware, because a web framework reads and parses the body before it asks any dependency: a stranger
would learn what is wrong with his body, and would have it held in memory, before he is told that he lacks the key.
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
from chassis.http.bodies.values import TooManyValuesError, ValueCounter
from chassis.http.callers import Authorise, Caller, remember
from chassis.http.problems import ProblemResponse
from chassis.http.service_key import API_PREFIX
from chassis.http.throttling.quotas import Quotas, refusal_of, telling

MAX_BODY_BYTES: Final = 64_000
"""Of a body, unless the route says more: a few texts of some thousand characters, or a thousand ids."""
MAX_VALUES: Final = 10_000
"""Fields and entries in one body, however they are nested. Each may cost a complaint, which costs more than its byte or two."""
MAX_VALUES_OF_LARGER: Final = 25_000
"""The same, where the route lets larger bodies through."""
TEXTS: Final = frozenset({"text/plain", "text/csv"})
FILES_AT_A_TIME: Final = 2
"""Files are held in memory while they are received and kept; there are more clients than memory for them."""

DATABASE_AWAY: Final = HTTPException(
    HTTPStatus.SERVICE_UNAVAILABLE, "the database is away; try again in a few seconds", {"Retry-After": "5"}
)

Admit: TypeAlias = Callable[[Request, Caller], bool]
"""Whether the route of a request reads a body; raises HTTPException if the caller may not ask for it."""


class Guard:
    """Lets a request to the API through only with a key, and with a body that is small enough and JSON.

    Args:
        app: what it stands before.
        authorise: asks for the key, and says who has it.
        max_body_bytes: of any body, but for `larger_bodies`.
        larger_bodies: paths as routes have them, `/v1/brands/{slug}/research`, with the bytes that a body may have there.
        files: paths likewise, where the body of a POST or PUT is a file of so many bytes at most.
        lists: paths likewise, where a body may also be text that says so, instead of JSON: it is handed on as it came.
        quotas: counts what each caller asks; None: all may ask as often as they like.
        admit: decides by the head of a request, before its body is read; None: whoever has a key is admitted.
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
            if self._quotas is not None and (standing := await self._quotas(caller)) is not None:
                send = telling(standing, send)
                if standing.is_exceeded:
                    await refusal_of(standing)(scope, receive, send)
                    return
            await self._take(request, caller, send)
        except (HTTPException, DatabaseUnavailableError) as error:
            refusal = error if isinstance(error, HTTPException) else DATABASE_AWAY
            await ProblemResponse.of(refusal)(scope, receive, send)
        except ClientDisconnect:
            return

    async def _take(self, request: Request, caller: Caller, send: Send) -> None:
        """Reads the body that the route takes, and hands it on; raises HTTPException for one that it does not."""
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
            # A client that speaks JSON and did not care to say so is understood all the same.
            MutableHeaders(scope=request.scope)["content-type"] = "application/json"
        await self._app(request.scope, _replay(body, request.receive), send)

    def _may_be_text(self, request: Request) -> bool:
        """Whether the body says that it is a list; one that opens like a JSON object is JSON all the same."""
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
    """A number of bytes as people read it: `64 kB`, `2.5 MB`."""
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
    """Raises TooManyValuesError, or HTTPException 422 for what is no JSON."""
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
    """What a body says that it is, without its parameters: `text/csv`."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


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
