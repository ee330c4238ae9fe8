"""Changes of one thing wait for each other before they take a connection to the database, not with one in hand.

The pool is everybody's: a hundred changes of one draft that waited in the database for its lock would have all of it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as RequestScope

from chassis.http.audit.operations import Operations
from chassis.http.problems import ProblemResponse

MAKING_AT_A_TIME: Final = 3
"""Requests that make something in one place; they may lock what they make it in."""
MOST_WAITING: Final = 50
"""For one thing, of one process. They are in hand, and there are places for others in hand, too."""
WAIT_SECONDS: Final = 30.0

_BUSY: Final = HTTPException(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "too many changes of the same thing are asked for at once; send this one again in a few seconds",
    {"Retry-After": "5"},
)


@dataclass(slots=True)
class _Queue:
    places: asyncio.Semaphore
    requests: int = 0
    """Those that have their turn, and those that wait for it."""


class Turns:
    """Who has the turn at a thing, and who waits. Replicas keep theirs apart: each waits in the database with one connection."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}

    @asynccontextmanager
    async def turn(self, name: str, at_a_time: int) -> AsyncIterator[None]:
        """Around a change of the thing of that name; in the order in which they come.

        Raises:
            HTTPException: 503; too many wait, or this one has waited too long.
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


class InTurn:
    """ASGI middleware outside of every transaction: one change of a thing after the other."""

    def __init__(self, app: ASGIApp, *, operations: Operations) -> None:
        self._app = app
        self._operations = operations
        self._turns = Turns()

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
            async with self._turns.turn(name, at_a_time):
                await self._app(scope, receive, send)
        except HTTPException as busy:
            await ProblemResponse.of(busy)(scope, receive, send)
