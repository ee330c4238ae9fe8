"""Queues changes of one item before they take a database connection.

Otherwise a hundred changes of one draft, waiting for its lock in the database, would occupy the whole pool.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as RequestScope

from chassis.http.audit.operations import Operations
from chassis.http.problem_codes import UNAVAILABLE, RefusalError
from chassis.http.problems import ProblemResponse

MAKING_AT_A_TIME: Final = 3
"""Concurrent requests that create something in one place, as they may lock that place."""
MOST_WAITING: Final = 50
"""Waiting requests per item and process; they count against the request limit."""
WAIT_SECONDS: Final = 30.0

_BUSY: Final = RefusalError(
    UNAVAILABLE,
    "too many changes of the same thing are asked for at once; send this one again in a few seconds",
    {"Retry-After": "5"},
)


@dataclass(slots=True)
class _Queue:
    places: asyncio.Semaphore
    requests: int = 0
    """Running and waiting requests."""


class ChangeQueues:
    """Queues of changes by item in this process. Each replica waits in the database with one connection per item."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}

    @asynccontextmanager
    async def turn(self, name: str, at_a_time: int) -> AsyncIterator[None]:
        """Wait for a free place at the item, first come, first served, and hold it for the block.

        Raises:
            HTTPException: 503; too many requests wait, or this one has waited too long.
        """
        queue = self._queues.setdefault(name, _Queue(asyncio.Semaphore(at_a_time)))
        if queue.requests >= at_a_time + MOST_WAITING:
            raise _BUSY
        queue.requests += 1
        try:
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await queue.places.acquire()
            except TimeoutError:
                raise _BUSY from None
            try:
                yield
            finally:
                queue.places.release()
        finally:
            queue.requests -= 1
            if not queue.requests:
                del self._queues[name]


class SerialChanges:
    """ASGI middleware outside of all transactions: serialises the changes of an item."""

    def __init__(self, app: ASGIApp, *, operations: Operations) -> None:
        self._app = app
        self._operations = operations
        self._queues = ChangeQueues()

    async def __call__(self, scope: RequestScope, receive: Receive, send: Send) -> None:
        operation = self._operations.of(scope)
        if operation is None:
            await self._app(scope, receive, send)
            return
        item = operation.item(scope["path"])
        name, at_a_time = (
            (item, 1) if item is not None else (operation.place(scope["path"]), MAKING_AT_A_TIME)
        )
        try:
            async with self._queues.turn(name, at_a_time):
                await self._app(scope, receive, send)
        except HTTPException as busy:
            await ProblemResponse.of(busy)(scope, receive, send)
