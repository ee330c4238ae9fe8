"""Around the routes, not in them: whatever changes something over the API is noted, and no route can forget it.

A request that may change something is carried out in one transaction, to which `Connections.connection` and what is built on it
belong. What it changes is read before and afterwards as the API itself shows it, in that transaction, so that nothing is noted that a
reader could not see. If the request is refused, nothing is noted, and nothing of it is kept.
"""

import hashlib
import json
from collections.abc import Collection, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import BaseRoute, Match, Route, compile_path
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as RequestScope

from chassis.database.pool import DatabaseUnavailableError, Whole
from chassis.http.audit import log
from chassis.http.audit.changes import Document, difference, hashed
from chassis.http.callers import Scope, caller_of, remember
from chassis.http.guard import DATABASE_AWAY
from chassis.http.idempotency import HeldAnswer
from chassis.http.problems import ProblemResponse
from chassis.http.service_key import API_PREFIX

_READING: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_OF_A_BRAND: Final = f"{API_PREFIX}brands/{{slug}}"


@dataclass(frozen=True, slots=True)
class Operation:
    """What is known of a route that changes something."""

    name: str
    of_a_brand: bool
    """Its path names the brand."""
    depth: int | None
    """So many parts of its path are the address of what it changes; None: it makes something, or that cannot be read."""


def operation_of(method: str, route: Route, shown: Collection[str]) -> Operation:
    """`shown`: paths of the routes that answer GET."""
    path = route.path
    declared: dict[Any, Any] = getattr(route, "responses", {})
    gives_location = any("Location" in answer.get("headers", ()) for answer in declared.values())
    item: str | None
    if method == "POST":
        item = None if path in shown or gives_location else _nearest(path, shown)
    else:
        item = path if path in shown else None
    depth = None if item is None else item.count("/") + 1
    return Operation(f"{method} {path}", path.startswith(_OF_A_BRAND), depth)


def _nearest(path: str, shown: Collection[str]) -> str | None:
    """The thing that an action belongs to: `/v1/cycles/{cycle_id}` of `/v1/cycles/{cycle_id}/pause`."""
    while path := path.rpartition("/")[0]:
        if path.endswith("}") and path in shown:
            return path
    return None


class Audited:
    """ASGI middleware right around the routes.

    Args:
        app: what it stands before.
        routes: of the application, as they are once all are there.
        database: of the process.
        changes_nothing: paths as routes have them of requests that change nothing, though they are no GET.
        shown_once: likewise, whose answers nobody is to see again.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        routes: list[BaseRoute],
        database: log.Storing,
        changes_nothing: Iterable[str] = (),
        shown_once: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._routes = routes
        self._database = database
        self._changes_nothing = frozenset(changes_nothing)
        self._operations: dict[tuple[str, str], Operation] = {}
        """By method and path as the route has it; filled as they are asked for."""
        self._shown_once = [compile_path(path)[0] for path in shown_once]

    async def __call__(self, scope: RequestScope, receive: Receive, send: Send) -> None:
        operation = self._operation(scope)
        if operation is None:
            await self._app(scope, receive, send)
            return
        held = HeldAnswer()
        try:
            async with self._whole() as whole:
                await self._carry_out(operation, whole, scope, receive, held)
        except DatabaseUnavailableError:
            await ProblemResponse.of(DATABASE_AWAY)(scope, receive, send)
            return
        await held.send_on(scope, receive, send)

    def _operation(self, scope: RequestScope) -> Operation | None:
        if (
            scope["type"] != "http"
            or scope["method"] in _READING
            or not scope["path"].startswith(API_PREFIX)
            or "\0" in scope["path"]
            or scope["path"] in self._changes_nothing
        ):
            return None
        for route in self._routes:
            if isinstance(route, Route) and route.matches(scope)[0] is Match.FULL:
                if route.path in self._changes_nothing:
                    return None
                key = scope["method"], route.path
                if key not in self._operations:
                    self._operations[key] = operation_of(scope["method"], route, self._shown())
                return self._operations[key]
        return None

    def _shown(self) -> set[str]:
        return {
            route.path
            for route in self._routes
            if isinstance(route, Route) and "GET" in (route.methods or ())
        }

    def _whole(self) -> AbstractAsyncContextManager[Whole]:
        """That of the request, if it has one already, because its answer is kept."""
        outer = self._database.joined()
        return self._database.whole() if outer is None else nullcontext(outer)

    async def _carry_out(
        self, operation: Operation, whole: Whole, scope: RequestScope, receive: Receive, held: HeldAnswer
    ) -> None:
        item, before = None, None
        if operation.depth is not None:
            item = "/".join(scope["path"].split("/")[: operation.depth])
            # One change after the other, so that each has before it what the other left behind.
            await whole.connection.execute("select pg_advisory_xact_lock($1)", _lock_of(item))
            before = await self._read(scope, item)
        await self._app(scope, receive, held)
        if not held.is_answer:
            whole.undone = True
            return
        after = await self._after(scope, item, held)
        told = after or before or {}
        about = scope.get("path_params", {})
        brand = about.get("slug") if operation.of_a_brand else told.get("brand_slug")
        chain = whole.correlation_id or told.get("correlation_id")
        kept_before, kept_after = difference(before, after)
        caller = caller_of(Request(scope))
        await log.write(
            whole.connection,
            log.Change(
                caller=caller.name,
                key_id=caller.key_id,
                operation=operation.name,
                path=scope["path"],
                address=scope["client"][0] if scope.get("client") else None,
                brand=brand if isinstance(brand, str) else None,
                correlation_id=chain if isinstance(chain, str) else None,
                before=kept_before,
                after=kept_after,
            ),
        )

    async def _after(self, scope: RequestScope, item: str | None, held: HeldAnswer) -> Document | None:
        if scope["method"] == "DELETE":
            return None
        if item is not None:
            return await self._read(scope, item)
        if not any(path.match(scope["path"]) for path in self._shown_once):
            return _document(held)
        place = dict(held.answer().headers).get("location")
        return None if place is None else await self._read(scope, place)

    async def _read(self, scope: RequestScope, path: str) -> Document | None:
        """What the API shows there, to somebody who may see what the caller may; None: there is nothing."""
        asked = {name: value for name, value in scope.items() if name in _OF_THE_SERVER} | {
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [],
        }
        remember(Request(asked), replace(caller_of(Request(scope)), scopes=frozenset(Scope)))
        shown = HeldAnswer()
        await self._app(asked, _nothing_more, shown)
        return _document(shown) if shown.messages[0]["status"] == HTTPStatus.OK else None


_OF_THE_SERVER: Final = frozenset(
    {"type", "asgi", "http_version", "scheme", "server", "client", "root_path", "app"}
)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _document(held: HeldAnswer) -> Document | None:
    answer = held.answer()
    if not answer.body:
        return None
    if not Headers(dict(answer.headers)).get("content-type", "").startswith("application/json"):
        return hashed(answer.body)
    document = json.loads(answer.body)
    return document if isinstance(document, dict) else {"answer": document}


def _lock_of(item: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(f"audit\n{item}".encode(), digest_size=8).digest(), "big", signed=True
    )
