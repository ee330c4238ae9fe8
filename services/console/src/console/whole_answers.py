"""Requests to the services whose answers are read whole: most of those for a page.

The pool of httpcore2 takes twice the processor time of the service that answers. It is left for streams, for long bodies and for
TLS.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import urlsplit

import httpcore2
import httptools
import httpx

from chassis.http.outgoing import AsyncioConnections
from client.connections import WholeAnswer

_LONGEST_BODY: Final = 64_000
_UNSENDABLE: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""Would end a header, or is none of a text."""
_FIRST_FINAL: Final = 200
_HTTP: Final = 80


@dataclass(slots=True)
class _PartialAnswer:
    """An answer as it comes."""

    done: asyncio.Future[None]
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)
    status: int = 0
    ends_with_connection: bool = False
    """Whether it says no length."""


class _Connection(asyncio.Protocol):
    """A connection to a service; it has one request at a time."""

    def __init__(self, lost: Callable[["_Connection"], None]) -> None:
        self._lost = lost
        self._answer: _PartialAnswer | None = None
        self._parser: Any = None
        self._heard_at = 0.0
        self.transport: asyncio.Transport | None = None
        self.expiry: asyncio.TimerHandle | None = None
        """Ends it while it is idle."""
        self.is_reusable = False

    # -- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Those of uvloop are no subclasses.
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.abort()  # no request is open
            return
        self._heard_at = asyncio.get_running_loop().time()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(httpx.RemoteProtocolError(str(error)))

    def eof_received(self) -> None:
        if self._answer is not None and self._answer.ends_with_connection:
            self.on_message_complete()
            self.is_reusable = False
        self._fail(
            httpx.RemoteProtocolError("the server ended the connection before its answer was complete")
        )

    def connection_lost(self, error: Exception | None) -> None:
        self.is_reusable = False
        self._lost(self)
        self._fail(httpx.ReadError(str(error or "the connection is lost")))

    # -- callbacks of the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._answer is not None:
            self._answer.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._answer is not None:
            names = {name.lower() for name, _ in self._answer.headers}
            self._answer.ends_with_connection = names.isdisjoint({b"content-length", b"transfer-encoding"})

    def on_body(self, body: bytes) -> None:
        if self._answer is not None:
            self._answer.parts.append(body)

    def on_message_complete(self) -> None:
        answer, self._answer = self._answer, None
        if answer is None:
            return
        answer.status = self._parser.get_status_code()
        self.is_reusable = answer.status >= _FIRST_FINAL and self._parser.should_keep_alive()
        if not answer.done.done():
            answer.done.set_result(None)

    # -- a request

    async def ask(self, request: bytes, seconds: float | None) -> _PartialAnswer:
        """Sends a request; returns its answer.

        Args:
            request: head and body.
            seconds: how long the service may be silent.

        Raises:
            httpx.TransportError: there is none, or it is none of HTTP.
        """
        assert self.transport is not None
        loop = asyncio.get_running_loop()
        answer = self._answer = _PartialAnswer(loop.create_future())
        self._parser = httptools.HttpResponseParser(self)
        self.is_reusable = False
        self._heard_at = loop.time()
        timer = None if seconds is None else loop.call_later(seconds, self._end_silence, answer, seconds)
        try:
            if self.transport.is_closing():
                self._fail(httpx.WriteError("the connection is closed"))
            else:
                self.transport.write(request)
            await answer.done
        except BaseException:
            self._answer = None
            self.abort()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        return answer

    def _end_silence(self, answer: _PartialAnswer, seconds: float) -> None:
        if answer is not self._answer or answer.done.done():
            return
        loop = asyncio.get_running_loop()
        left = self._heard_at + seconds - loop.time()
        if left > 0:
            loop.call_later(left, self._end_silence, answer, seconds)
        else:
            self._fail(httpx.ReadTimeout(""))

    def _fail(self, error: httpx.TransportError) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done.done():
            answer.done.set_exception(error)
        self.abort()

    def abort(self) -> None:
        self.is_reusable = False
        if self.transport is not None:
            self.transport.abort()


class WholeAnswers:
    """A pool of connections, by host and port."""

    def __init__(self, connections: AsyncioConnections, limits: httpx.Limits) -> None:
        self._connections = connections
        self._most_idle = limits.max_keepalive_connections
        self._expiry = limits.keepalive_expiry
        self._places = asyncio.Semaphore(limits.max_connections or 100)
        self._idle: dict[tuple[str, int], list[_Connection]] = {}
        self._open: set[_Connection] = set()
        self._connecting: set[asyncio.Task[_Connection]] = set()
        self._under_way: set[asyncio.Future[None]] = set()
        """One for each request."""

    @staticmethod
    def takes(request: httpx.Request) -> bool:
        """Whether its answer is read whole, over a connection without TLS, and its body is short."""
        if (
            not request.extensions.get("whole_answer")
            or request.url.scheme != "http"
            or request.method == "HEAD"
        ):
            return False
        try:
            return len(request.content) <= _LONGEST_BODY
        except httpx.RequestNotRead:
            return False

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Raises httpx.TransportError."""
        seconds: Mapping[str, float | None] = request.extensions.get("timeout", {})
        told = _written(request.method, request.url.raw_path, request.headers.raw, request.content)
        place = request.url.host, request.url.port or _HTTP
        try:
            answer = await self.ask(place, told, connect=seconds.get("connect"), read=seconds.get("read"))
        except httpx.TransportError as error:
            error.request = request
            raise
        return httpx.Response(answer.status, headers=answer.headers, content=b"".join(answer.parts))

    async def ask_whole(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], seconds: float
    ) -> WholeAnswer:
        """Asks for an address without a body: without the objects of httpx, which cost as much time as the service's answer.

        Raises:
            httpx.TransportError, httpx.InvalidURL: it cannot be asked for, or does not answer.
        """
        try:
            parts = urlsplit(url)
            place = parts.hostname or "", parts.port or _HTTP
            raw = [(b"Host", parts.netloc.rpartition("@")[2].encode("ascii"))]
            raw += [(name.encode("ascii"), value.encode("ascii")) for name, value in headers]
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            told = _written(method, target.encode("ascii"), raw)
        except ValueError as error:
            raise httpx.InvalidURL(str(error)) from error
        if " " in target:
            raise httpx.InvalidURL("a space stands in the address")
        answer = await self.ask(place, told, connect=seconds, read=seconds)
        named = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in answer.headers}
        return WholeAnswer(answer.status, named, b"".join(answer.parts), parts.path)

    async def ask(
        self, place: tuple[str, int], told: bytes, *, connect: float | None, read: float | None
    ) -> _PartialAnswer:
        """Sends a request, head and body, to a host and port. Raises httpx.TransportError."""
        ended = asyncio.get_running_loop().create_future()
        self._under_way.add(ended)
        try:
            await self._take_place(connect)
            try:
                return await self._ask(place, told, connect, read)
            finally:
                self._places.release()
        finally:
            ended.cancel()
            self._under_way.discard(ended)

    async def _ask(
        self, place: tuple[str, int], told: bytes, connect: float | None, read: float | None
    ) -> _PartialAnswer:
        connection = self._reused(place) or await self._connected(place, connect)
        answer = await connection.ask(told, read)
        if answer.status < _FIRST_FINAL:
            connection.abort()
            raise httpx.RemoteProtocolError(
                f"the service answers {answer.status}, which is no end of an answer"
            )
        self._keep(place, connection)
        return answer

    async def _take_place(self, seconds: float | None) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError as error:
            raise httpx.PoolTimeout("all connections are in use") from error

    def _reused(self, place: tuple[str, int]) -> _Connection | None:
        idle = self._idle.get(place, [])
        while idle:
            connection = idle.pop()
            if connection.expiry is not None:
                connection.expiry.cancel()
                connection.expiry = None
            if connection.is_reusable:
                return connection
        return None

    async def _connected(self, place: tuple[str, int], seconds: float | None) -> _Connection:
        task = asyncio.create_task(self._connect(place, seconds), name="connect to a service")
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # Cancelled while it connects, it could stay open.
            task.add_done_callback(_abort_made)
            raise

    async def _connect(self, place: tuple[str, int], seconds: float | None) -> _Connection:
        connection = _Connection(self._forget)
        try:
            await self._connections.connect(lambda: connection, *place, timeout=seconds)
        except httpcore2.ConnectTimeout as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except httpcore2.ConnectError as error:
            raise httpx.ConnectError(str(error)) from error
        self._open.add(connection)
        return connection

    def _keep(self, place: tuple[str, int], connection: _Connection) -> None:
        if not connection.is_reusable or self._most_idle == sum(map(len, self._idle.values())):
            connection.abort()
            return
        if self._expiry is not None:
            loop = asyncio.get_running_loop()
            connection.expiry = loop.call_later(self._expiry, connection.abort)
        self._idle.setdefault(place, []).append(connection)

    def _forget(self, connection: _Connection) -> None:
        self._open.discard(connection)
        if connection.expiry is not None:
            connection.expiry.cancel()
            connection.expiry = None
        for idle in self._idle.values():
            if connection in idle:
                idle.remove(connection)

    async def aclose(self, seconds: float) -> None:
        """Ends all connections, and the requests that are on them after so many seconds."""
        if waited := self._under_way | self._connecting:
            await asyncio.wait(waited, timeout=seconds)
        for task in self._connecting:
            task.cancel()
        for each in list(self._open):
            each.abort()


def _abort_made(task: asyncio.Task[_Connection]) -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().abort()


def _written(method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]], body: bytes = b"") -> bytes:
    """A request as it is sent. Raises httpx.LocalProtocolError for a header that cannot be sent."""
    lines = [method.encode() + b" " + target + b" HTTP/1.1"]
    for name, value in headers:
        if _UNSENDABLE.search(value) or _UNSENDABLE.search(name):
            raise httpx.LocalProtocolError(f"the header {name!r} has a character that cannot be sent")
        lines.append(name + b": " + value.strip(b" \t"))
    return b"\r\n".join((*lines, b"", body))
