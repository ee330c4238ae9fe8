"""Request bodies: limits on waiting for them and on their number of values; unwanted ones are discarded.

A client may announce a body and never send it. Such a request costs a connection, but must not displace others. The fields and
entries of a JSON document are counted while it arrives, before parsing.
"""

import asyncio
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.http.problem_codes import UNAVAILABLE, RefusalError
from chassis.networks import network_of

YOUNG_SECONDS: Final = 0.5
"""Younger requests are not dropped: most bodies arrive with the next packet."""
LINGER_SECONDS: Final = 5.0
LINGER_BYTES: Final = 32 * 1024 * 1024
"""Bytes of an unwanted body to read and discard after the answer: a client that still sends when the connection closes
may lose the answer."""

_FULL: Final = RefusalError(
    UNAVAILABLE,
    "too many requests wait for their bodies, and this one has waited longest; send it again in a few seconds",
    {"Retry-After": "5", "Connection": "close"},
)


def has_body(scope: Scope) -> bool:
    """Return whether the head of a request announces a body."""
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""


@dataclass(slots=True, eq=False)
class _PendingBody:
    network: str
    since: float
    patience: asyncio.Timeout


class WaitingBodies:
    """The requests that wait for their bodies.

    If one network, or all together, exceed their limit, the oldest request of the largest network is dropped.
    So a client that fills the places loses its own, and bodies that arrive at once are safe.

    Args:
        most: maximum of waiting requests, plus half as many that have just begun.
        most_of_one: the same for one network.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._waiting: dict[_PendingBody, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    async def wait(self, network: str, receive: Receive) -> Message:
        """Wait for the next message of a request.

        Raises:
            HTTPException: 503; the request was dropped.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as patience:
                waiting = _PendingBody(network, loop.time(), patience)
                self._waiting[waiting] = None
                try:
                    self._make_room(loop.time())
                    return await receive()
                finally:
                    del self._waiting[waiting]
        except TimeoutError:
            raise _FULL from None

    def _make_room(self, now: float) -> None:
        if len(self._waiting) <= self._most_of_one:
            return
        patient = [each for each in self._waiting if each.patience.when() is None]
        old = [each for each in patient if now - each.since >= YOUNG_SECONDS]
        if len(patient) > self._most * 3 // 2:
            old = patient  # so many at once that the connections would not be enough for them
        if not old:
            return
        network, count = Counter(each.network for each in old).most_common(1)[0]
        if count > self._most_of_one or len(old) > self._most:
            next(each for each in old if each.network == network).patience.reschedule(now)


class RequestBodies:
    """Outermost ASGI middleware: limits the requests that wait for bodies, and answers without waiting for one.

    An answer that is ready before the body is sent at once and closes the connection; the rest of the body is discarded.

    Args:
        app: the wrapped application.
        waiting: the requests that wait for bodies.
        most_lingering: maximum of answered requests that still read their bodies; others close at once.
    """

    def __init__(self, app: ASGIApp, waiting: WaitingBodies, most_lingering: int) -> None:
        self._app = app
        self._waiting = waiting
        self._most_lingering = most_lingering
        self._lingering = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not has_body(scope):
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._waiting)
        await self._app(scope, exchange.receive, exchange.send)
        if exchange.last is None:
            return
        if exchange.may_linger and self._lingering < self._most_lingering:
            self._lingering += 1
            try:
                await exchange.linger()
            finally:
                self._lingering -= 1
        await send(exchange.last)


class _Exchange:
    """One request with a body, and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, waiting: WaitingBodies) -> None:
        client = scope.get("client")
        self._network = network_of(client[0]) if client else ""
        self._receive = receive
        self._send = send
        self._waiting = waiting
        self._ended = False
        self._asks_first = Headers(scope=scope).get("expect", "").lower() == "100-continue"
        """The client waits for `100 Continue` before it sends the body."""
        self._is_answered = False
        self.last: Message | None = None
        """The end of an answer that came before the body; it closes the connection."""

    @property
    def may_linger(self) -> bool:
        return not self._asks_first

    async def receive(self) -> Message:
        self._asks_first = False
        if self._ended or self._is_answered:
            return await self._receive()
        return self._noted(await self._waiting.wait(self._network, self._receive))

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_answered = True
            if not await self._has_come():
                MutableHeaders(scope=message)["connection"] = "close"
        if (
            message["type"] == "http.response.body"
            and not message.get("more_body", False)
            and not self._ended
        ):
            await self._send({**message, "more_body": True})
            self.last = {"type": "http.response.body", "body": b""}
            return
        await self._send(message)

    async def linger(self) -> None:
        """Read and discard the body for `LINGER_SECONDS`."""
        await self._discard(LINGER_SECONDS)

    async def _has_come(self) -> bool:
        """Return whether the whole body has arrived, without waiting."""
        if self._asks_first:
            return False
        await self._discard(0)
        return self._ended

    async def _discard(self, seconds: float) -> None:
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._ended and size < LINGER_BYTES:
                    size += len(self._noted(await self._receive()).get("body", b""))

    def _noted(self, message: Message) -> Message:
        self._ended = not message.get("more_body", False)
        return message


_REST_OF_STRING: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_STRUCTURE: Final = re.compile(rb'["\[{,]')
_QUOTE: Final = ord('"')
_TOKENS_OF_A_VALUE: Final = 4
"""Maximum tokens of a value: comma, opening bracket, name and text."""


class TooManyValuesError(Exception):
    """The document exceeds the limit of fields and entries."""


class ValueCounter:
    """Counts the values of a document that arrives in pieces, and raises once there are too many.

    It counts separators, so the limit is approximate: a document with twice as many values may pass, one with five
    times as many cannot. It uses no memory, and counts JSON-like tokens of invalid documents too.

    Args:
        limit: fields and entries.
    """

    def __init__(self, limit: int) -> None:
        self._most = _TOKENS_OF_A_VALUE * limit + 2
        self._found = 0
        self._in_string = False
        self._is_escaped = False

    def feed(self, piece: bytes) -> None:
        """Count one piece. Raises TooManyValuesError."""
        place = 0
        if self._is_escaped and piece:
            self._is_escaped, place = False, 1
        while place < len(piece):
            if self._in_string:
                place = self._leave_string(piece, place)
                continue
            token = _STRUCTURE.search(piece, place)
            if token is None:
                return
            place = token.end()
            self._in_string = piece[token.start()] == _QUOTE
            self._found += 1
            if self._found > self._most:
                raise TooManyValuesError

    def _leave_string(self, piece: bytes, place: int) -> int:
        rest = _REST_OF_STRING.match(piece, place)
        assert rest is not None  # it matches nothing, too
        end = rest.end()
        if end < len(piece):
            if piece[end] == _QUOTE:
                self._in_string = False
            else:  # the piece ends in the middle of an escape
                self._is_escaped = True
            end += 1
        return end
