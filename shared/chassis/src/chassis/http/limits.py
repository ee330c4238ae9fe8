"""Limits of the HTTP server: connections, concurrent requests, and time to send and to read.

uvicorn itself limits only idle time between requests. Its limit on concurrency counts idle connections too, so enough of
them would block even the health routes.
"""

import asyncio
import json
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import ClassVar, Final, assert_never, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from chassis.http.bodies import has_body
from chassis.http.headers import SAFE_HEADERS
from chassis.http.problems import MEDIA_TYPE, ProblemResponse, problem

ASKED_BY_MACHINES: Final = ("/health/", "/metrics")
MAX_HEAD_BYTES: Final = 65_536
"""Limit on a request's line and headers together, and on other bytes that no application sees, such as trailers.

The longest address that a parameter may hold, 4,096 characters, is 48 kB when each is one of four bytes, percent-encoded.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    connections: int = 512
    """Open connections; beyond it, the longest idle one closes for a new one."""
    head_seconds: float = 10.0
    """Time for a request's line and headers, from the opening or the end of the previous answer."""
    body_seconds: float = 30.0
    """Time for the body after that."""
    read_seconds: float = 10.0
    read_bytes: int = 10_000
    """Bytes that a client must read within `read_seconds` of an answer that does not fit into the buffers."""
    idle_seconds: int = 9
    """Time between two requests. Clients' pools close idle connections after 5 seconds as a rule, so none closes under a request."""

    @property
    def requests(self) -> int:
        """Concurrent requests; fewer than connections, so that health checks get through."""
        return max(1, self.connections // 2)

    @property
    def bodies(self) -> int:
        """Requests that wait for their bodies; they do not count as running."""
        return max(1, self.connections // 4)

    @property
    def bodies_of_one(self) -> int:
        """The same for one client's network."""
        return max(1, self.connections // 8)

    @property
    def lingering(self) -> int:
        """Answered requests that read and discard their bodies before their connections close."""
        return max(1, self.connections // 16)


class RequestLimit:
    """ASGI middleware: responds 503 while `limit` requests run, except for health and metrics.

    A request that waits for its body does not count, as a client may announce a body that never comes.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._in_hand = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(ASKED_BY_MACHINES):
            await self._app(scope, receive, send)
            return
        if self._in_hand >= self._limit:
            refusal = ProblemResponse(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "too much is asked at once; try again in a few seconds",
                {"Retry-After": "5", "Connection": "close"},
            )
            await refusal(scope, receive, send)
            return
        self._in_hand += 1
        try:
            await self._app(scope, self._uncounted(receive) if has_body(scope) else receive, send)
        finally:
            self._in_hand -= 1

    def _uncounted(self, receive: Receive) -> Receive:
        """Wrap `receive` so that the request does not count until its body is complete."""
        is_ended = False

        async def receiving() -> Message:
            nonlocal is_ended
            if is_ended:
                return await receive()
            self._in_hand -= 1
            try:
                message = await receive()
            finally:
                self._in_hand += 1
            is_ended = not message.get("more_body", False)
            return message

        return receiving


def limited_protocol(bounds: Limits) -> type[asyncio.Protocol]:
    """Return the protocol class with these limits, which uvicorn instantiates per connection."""

    class Limited(_Connection):
        limits = bounds

    return Limited


class _Phase(Enum):
    HEAD = auto()
    """Waiting for a request, or for the rest of its headers."""
    BODY = auto()
    """Waiting for the rest of its body."""
    ANSWER = auto()
    """Waiting for the application."""
    READING = auto()
    """Waiting for the client to read."""


_TOO_LARGE: Final = f"its head is larger than {MAX_HEAD_BYTES} bytes"


class _NotOursError(Exception):
    """The parser accepts the request, but this server does not."""


class _Connection(HttpToolsProtocol):
    """One connection. After each event `_watch` determines its phase and sets that phase's timeout.

    The parser (llhttp) is strict, but does not check sizes and the Host header; this class does.
    """

    limits: ClassVar[Limits]
    _phase: tuple[_Phase, object] | None = None
    _since: float = 0.0
    _timer: asyncio.TimerHandle | None = None
    _unused: int = 0
    """Bytes in the parser since the last that the application saw."""
    _wrong: str = "it cannot be parsed"
    _is_deaf: bool = False
    """Discard further input."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self.limits.connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            return
        self._unused += len(data)
        super().data_received(data)
        if self._unused > MAX_HEAD_BYTES:
            self._wrong = _TOO_LARGE
            self.send_400_response("")
        self._watch()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Later ones are trailers, which must not smuggle headers.
        if not self._head_is_there:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        size, hosts = len(self.url), 0
        for name, value in self.headers:
            size += len(name) + len(value)
            hosts += name == b"host"
        if size > MAX_HEAD_BYTES:
            self._wrong = _TOO_LARGE
        elif hosts != 1 and self.parser.get_http_version() == "1.1":
            self._wrong = "it has no Host header, or several"
        else:
            super().on_headers_complete()
            self._unused = 0
            if self.parser.should_upgrade():
                # No upgrade is supported; the parser cannot read what follows.
                self.cycle.keep_alive = False
            return
        raise _NotOursError

    def on_body(self, body: bytes) -> None:
        self._unused = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch()

    def shutdown(self) -> None:
        super().shutdown()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        del msg  # says the same of everything
        self._refuse(HTTPStatus.BAD_REQUEST, f"this is not HTTP as we know it: {self._wrong}")

    def _watch(self) -> None:
        phase = self._current_phase()
        if self._phase == (phase, self.cycle):
            return
        self._phase = phase, self.cycle
        self._since = self.loop.time()
        self._stop_timer()
        match phase:
            case _Phase.HEAD:
                self._timer = self.loop.call_later(self.limits.head_seconds, self._drop)
            case _Phase.BODY:
                self._timer = self.loop.call_later(self.limits.body_seconds, self._refuse_slowness)
            case _Phase.READING:
                self._expect_reading()
            case _Phase.ANSWER:
                pass
            case _:
                assert_never(phase)

    def _current_phase(self) -> _Phase:
        if self.transport.is_closing() or self.flow.write_paused:
            return _Phase.READING
        cycle = self._last
        if cycle is None or cycle.response_complete:
            return _Phase.HEAD
        # While another request runs, the body of the next one is not read.
        return _Phase.BODY if cycle.more_body and not self.pipeline else _Phase.ANSWER

    @property
    def _last(self) -> RequestResponseCycle | None:
        """The latest request with a complete head; clients may pipeline several."""
        return cast("RequestResponseCycle | None", self.cycle)

    @property
    def _head_is_there(self) -> bool:
        return self._last is not None and self._last.scope is self.scope

    def _expect_reading(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(self.limits.read_seconds, self._check_reading, unread)

    def _check_reading(self, unread: int) -> None:
        if self.transport.get_write_buffer_size() > unread - self.limits.read_bytes:
            self._drop()
        else:
            self._expect_reading()

    def _refuse_slowness(self) -> None:
        within = f"{self.limits.body_seconds:g} seconds"
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"the request was not there within {within}; send it again")

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answer instead of the application, which sees a disconnect, then close the connection."""
        if self.transport.is_closing():
            return
        cycle = self._last
        if cycle is not None:
            if not (cycle.more_body or cycle.response_complete or self.pipeline):
                # A request that still runs comes first; its answer ends the connection.
                cycle.keep_alive = False
                self._is_deaf = True
                return
            if cycle.more_body and (cycle.response_started or self.pipeline):
                self._drop()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        body = json.dumps(problem(status, detail)).encode()
        about = {"Content-Type": MEDIA_TYPE, "Content-Length": str(len(body)), "Connection": "close"}
        lines = [
            f"HTTP/1.1 {status} {status.phrase}",
            *(f"{name}: {value}" for name, value in (SAFE_HEADERS | about).items()),
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.transport.close()
        self._watch()

    def _make_room(self) -> None:
        waiting = [
            each
            for each in self.connections
            if isinstance(each, _Connection) and each is not self and each._is_waiting  # noqa: SLF001  (its own kind)
        ]
        min(waiting, key=lambda each: each._since, default=self)._drop()  # noqa: SLF001

    @property
    def _is_waiting(self) -> bool:
        return self._phase is not None and self._phase[0] is _Phase.HEAD

    def _drop(self) -> None:
        self.connections.discard(self)
        self.transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
