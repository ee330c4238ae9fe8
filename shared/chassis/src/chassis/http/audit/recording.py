"""Records every change over the API in a middleware, so that no route can forget it.

A changing request runs in one transaction, which `Connections.connection` joins. The middleware reads the item before and after
with the API's own GET in that transaction, so it records nothing that a reader could not see. A refused request is rolled back
and leaves no record.
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as RequestScope

from chassis.database.pool import DatabaseUnavailableError, UnitOfWork
from chassis.http.audit import log
from chassis.http.audit.changes import Document, difference, hashed
from chassis.http.audit.operations import Operation, Operations
from chassis.http.callers import Scope, caller_of, remember
from chassis.http.guard import DATABASE_AWAY
from chassis.http.idempotency import BufferedAnswer
from chassis.http.problems import ProblemResponse


class Audited:
    """Innermost ASGI middleware: runs a changing request in a transaction and writes its audit log entry.

    Args:
        app: the wrapped application.
        operations: the application's changing operations.
        database: the process's database.
        shown_once: route paths with secret answers.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        operations: Operations,
        database: log.AuditDatabase,
        shown_once: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._operations = operations
        self._database = database
        self._shown_once = [compile_path(path)[0] for path in shown_once]

    async def __call__(self, scope: RequestScope, receive: Receive, send: Send) -> None:
        operation = self._operations.of(scope)
        if operation is None:
            await self._app(scope, receive, send)
            return
        held = BufferedAnswer()
        try:
            async with self._whole() as whole:
                await self._carry_out(operation, whole, scope, receive, held)
        except DatabaseUnavailableError:
            await ProblemResponse.of(DATABASE_AWAY)(scope, receive, send)
            return
        await held.send_on(scope, receive, send)

    def _whole(self) -> AbstractAsyncContextManager[UnitOfWork]:
        """Join the request's transaction (idempotent requests have one), or open one."""
        outer = self._database.joined()
        return self._database.whole() if outer is None else nullcontext(outer)

    async def _carry_out(
        self,
        operation: Operation,
        whole: UnitOfWork,
        scope: RequestScope,
        receive: Receive,
        held: BufferedAnswer,
    ) -> None:
        item, before = operation.item(scope["path"]), None
        if item is not None:
            # Changes of an item follow each other, so that each sees the state after the previous one. Per replica only one
            # request waits here (see SerialChanges).
            await whole.connection.execute("select pg_advisory_xact_lock($1)", lock_of(item))
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

    async def _after(self, scope: RequestScope, item: str | None, held: BufferedAnswer) -> Document | None:
        if scope["method"] == "DELETE":
            return None
        if item is not None:
            return await self._read(scope, item)
        if not any(path.match(scope["path"]) for path in self._shown_once):
            return _document(held)
        place = dict(held.answer().headers).get("location")
        return None if place is None else await self._read(scope, place)

    async def _read(self, scope: RequestScope, path: str) -> Document | None:
        """Return the API's GET answer at the path, with all scopes for the caller's brands, or None."""
        asked = {name: value for name, value in scope.items() if name in _OF_THE_SERVER} | {
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [],
        }
        remember(Request(asked), replace(caller_of(Request(scope)), scopes=frozenset(Scope)))
        shown = BufferedAnswer()
        await self._app(asked, _nothing_more, shown)
        return _document(shown) if shown.messages[0]["status"] == HTTPStatus.OK else None


_OF_THE_SERVER: Final = frozenset(
    {"type", "asgi", "http_version", "scheme", "server", "client", "root_path", "app"}
)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _document(held: BufferedAnswer) -> Document | None:
    answer = held.answer()
    if not answer.body:
        return None
    if not Headers(dict(answer.headers)).get("content-type", "").startswith("application/json"):
        return hashed(answer.body)
    document = json.loads(answer.body)
    return document if isinstance(document, dict) else {"answer": document}


def lock_of(item: str) -> int:
    """Return the key of the advisory lock that serialises changes of an item."""
    return int.from_bytes(
        hashlib.blake2b(f"audit\n{item}".encode(), digest_size=8).digest(), "big", signed=True
    )
