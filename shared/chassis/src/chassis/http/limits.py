"""How much of the server one may take up: connections, requests at a time, and time to send and to read.

Of these uvicorn bounds only how long a connection may stay open between two requests. Its limit on concurrency counts
connections that have not asked for anything, so that with enough of them not even health would be told.
"""

import asyncio
import json
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import ClassVar, Final, assert_never, cast

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from chassis.http.headers import SAFE_HEADERS
from chassis.http.problems import MEDIA_TYPE, ProblemResponse, problem

ASKED_BY_MACHINES: Final = ("/health/", "/metrics")


@dataclass(frozen=True, slots=True)
class Limits:
    connections: int = 512
    """Past it, the one that has waited longest without a request in hand is closed for a new one."""
    head_seconds: float = 10.0
    """From the opening, or the end of the answer before, until a request's line and headers are there."""
    body_seconds: float = 30.0
    """From there until its body is."""
    read_seconds: float = 10.0
    read_bytes: int = 10_000
    """Of an answer that does not fit into the buffers, so much must be read in so much time."""
    idle_seconds: int = 5
    """Between two requests."""

    @property
    def requests(self) -> int:
        """At a time; fewer than connections, so that there is one left to ask for health."""
        return max(1, self.connections // 2)


class RequestLimit:
    """ASGI middleware: 503 for what comes while `limit` requests are in hand; health and metrics are always answered."""

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
            await self._app(scope, receive, send)
        finally:
            self._in_hand -= 1


def limited_protocol(bounds: Limits) -> type[asyncio.Protocol]:
    """What uvicorn makes for each connection."""

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


class _Connection(H11Protocol):
    """One connection. Whatever happens on it, `_watch` sees which phase it is in and how long that may last."""

    limits: ClassVar[Limits]
    _phase: tuple[_Phase, object] | None = None
    _since: float = 0.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self.limits.connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

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
        self._refuse(HTTPStatus.BAD_REQUEST, f"this is not HTTP as we know it: {msg}")

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
        cycle = cast("RequestResponseCycle | None", self.cycle)  # none before the first request
        if cycle is None or cycle.response_complete:
            return _Phase.HEAD
        return _Phase.BODY if cycle.more_body else _Phase.ANSWER

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
        """Answers in the application's place, which hears that the client has gone; then closes."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self._drop()
            return
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        body = json.dumps(problem(status, detail)).encode()
        about = {"Content-Type": MEDIA_TYPE, "Content-Length": str(len(body)), "Connection": "close"}
        headers = [(name.lower(), value) for name, value in (SAFE_HEADERS | about).items()]
        for event in (
            h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event))
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
