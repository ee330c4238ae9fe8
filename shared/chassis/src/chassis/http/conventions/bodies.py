"""Checks of request bodies: the media type, and unique member names."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.routing import BaseRoute, compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.http.callers import Authorise, Caller
from chassis.http.problem_codes import DUPLICATE_MEMBER, UNSUPPORTED_MEDIA_TYPE, RefusalError
from chassis.http.problems import ProblemResponse
from chassis.http.service_key import API_PREFIX

JSON: Final = "application/json"
_ANY_FILE: Final = "application/octet-stream"
_FORMS: Final = frozenset({"multipart/form-data", "application/x-www-form-urlencoded"})
_TAKES_BODIES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_SHOWN: Final = 80


class BodyTypes:
    """Authorises a request, then refuses wrong media types before the body is read.

    A body without a type counts as the route's own.

    Args:
        authorise: checks the key first, so that clients without one learn nothing about bodies.
        routes: the application's routes; those that take other types than JSON have them in their `openapi_extra`.
        files: paths of routes that take files: they accept `application/octet-stream` too. A route with only this
            type accepts files of all types.
    """

    def __init__(self, authorise: Authorise, routes: Sequence[BaseRoute], files: Collection[str]) -> None:
        self._authorise = authorise
        self._routes = routes
        self._files = frozenset(files)
        self._special: list[tuple[re.Pattern[str], frozenset[str], tuple[str, ...]]] | None = None

    async def __call__(self, request: Request) -> Caller:
        caller = await self._authorise(request)
        if request.method in _TAKES_BODIES and _has_body(request):
            given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            taken = self._taken_by(request)
            if given and not _is_taken(given, taken):
                raise RefusalError(
                    UNSUPPORTED_MEDIA_TYPE,
                    f"this takes {' or '.join(taken)}, and the body says that it is {_shown(given)}; send the header"
                    f" 'Content-Type: {taken[0]}' with a body that is of it",
                    {"Accept": ", ".join(taken)},
                )
        return caller

    def _taken_by(self, request: Request) -> tuple[str, ...]:
        if self._special is None:
            # At the first body, all routes are known.
            self._special = list(_special_routes(self._routes, self._files))
        for path, methods, types in self._special:
            if request.method in methods and path.match(request.url.path):
                return types
        return (JSON,)


def _special_routes(
    routes: Iterable[BaseRoute], files: Collection[str]
) -> Iterable[tuple[re.Pattern[str], frozenset[str], tuple[str, ...]]]:
    for route in routes:
        if isinstance(route, APIRoute):
            content = (route.openapi_extra or {}).get("requestBody", {}).get("content", {})
            types = tuple(content) if route.path in files or route.body_field is None else (JSON, *content)
            if route.path in files and content:
                types = (*types, _ANY_FILE)
            if content:
                yield compile_path(route.path)[0], frozenset(route.methods or ()), tuple(dict.fromkeys(types))


def _has_body(request: Request) -> bool:
    return "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"


def _is_taken(media_type: str, taken: Collection[str]) -> bool:
    if media_type in taken:
        return True
    if taken == (_ANY_FILE,):
        # A file may have any type, except a form, which would wrap the file.
        return media_type not in _FORMS
    return JSON in taken and media_type.startswith("application/") and media_type.endswith("+json")


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:_SHOWN])


class _DuplicateMemberError(ValueError):
    pass


class UniqueMembers:
    """ASGI middleware behind the guard: refuses JSON objects with duplicate members.

    Parsers differ in which of the two they use (RFC 8259, section 4), so such a request is ambiguous.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not (scope["type"] == "http" and scope["path"].startswith(API_PREFIX) and _says_json(scope)):
            await self._app(scope, receive, send)
            return
        first = await receive()
        # The guard has read the whole body and checked that it is JSON of limited size.
        if (
            first["type"] == "http.request"
            and not first.get("more_body", False)
            and (twice := duplicate_member(first.get("body", b""))) is not None
        ):
            await ProblemResponse.coded(
                DUPLICATE_MEMBER,
                f"the body has the member '{_shown(twice)}' twice in one object; leave one of them out",
            )(scope, receive, send)
            return
        await self._app(scope, _beginning_with(first, receive), send)


def duplicate_member(body: bytes) -> str | None:
    """Return the name of a duplicate member in any object of the JSON document, or None."""
    if b"{" not in body:
        return None
    try:
        json.loads(body, object_pairs_hook=_checked_members)
    except _DuplicateMemberError as error:
        return str(error)
    except (ValueError, RecursionError):
        pass  # the parser of the route reports other errors
    return None


def _checked_members(members: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        seen: set[str] = set()
        raise _DuplicateMemberError(next(name for name, _ in members if name in seen or seen.add(name)))  # type: ignore[func-returns-value]
    return found


def _says_json(scope: Scope) -> bool:
    return scope["method"] in _TAKES_BODIES and any(
        name == b"content-type" and value.split(b";")[0].strip().lower() == b"application/json"
        for name, value in scope["headers"]
    )


def _beginning_with(first: Message, receive: Receive) -> Receive:
    messages = [first]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again
