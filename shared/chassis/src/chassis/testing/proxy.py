"""A TCP proxy between a service and its broker or database, which simulates network faults."""

import asyncio
import random
import socket
import struct
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, Self
from urllib.parse import urlsplit

_CHUNK: Final = 65536
_CHUNKS_UNDER_WAY: Final = 64
"""How many chunks a delayed direction holds before it stops reading, as a real line of that length would."""
_LINGER_NOT: Final = struct.pack("ii", 1, 0)
"""Closing a socket with this set sends a reset instead of an orderly end."""
_RESET_BY_PEER: Final = None
_UnderWay = asyncio.Queue[tuple[float, bytes | None]]
"""Chunks with the time they arrive at; the last is empty, or `_RESET_BY_PEER`."""


class Direction(StrEnum):
    """The receiver of bytes: server or client."""

    SERVER = "server"
    CLIENT = "client"


BOTH: Final = (Direction.SERVER, Direction.CLIENT)


@dataclass(slots=True, eq=False)
class Strike:
    """Waits for a pattern of bytes to pass and strikes there: neither it nor anything after it arrives."""

    pattern: bytes
    action: Literal["reset", "silence"]
    times: int
    """How many more connections it will strike."""
    struck: asyncio.Event = field(default_factory=asyncio.Event)
    """Set at the first hit."""
    hits: int = 0


@dataclass(slots=True, eq=False)
class _Direction:
    """The current faults of one direction."""

    passable: asyncio.Event
    loses: bool = False
    delay: float = 0.0
    jitter: float = 0.0
    budget: int | None = None
    strikes: list[Strike] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Link:
    """One connection from a client through to the server."""

    writers: dict[Direction, asyncio.StreamWriter]
    left: dict[Direction, int | None]
    """Bytes that may still pass before the connection is reset; None for any number."""
    silenced: bool = False
    damaged: bool = False
    """Whether bytes are missing from it, so that it must never carry any again."""

    def reset(self) -> None:
        for writer in self.writers.values():
            _reset(writer)


class TcpProxy:
    """A TCP proxy on a free port of the loopback, with faults that can be set at any time, together too.

    All of them end with `mend`. `fired` counts, by name, how often each has really struck: `reset`, `refused`
    and `closed` connections, `hung` (new connections in a black hole), `held` and `lost` chunks, `delayed` chunks, `cut_after`,
    `strike`.
    """

    def __init__(self, host: str, port: int, *, seed: int | None = None) -> None:
        self._target = (host, port)
        self._random = random.Random(seed)  # noqa: S311  (jitter that can be repeated, not a secret)
        self._server: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = True
        self._closes = False
        self._directions = {towards: _Direction(_event_set()) for towards in Direction}
        self.fired: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def links(self) -> int:
        """Connections that go through right now."""
        return len(self._links)

    # -- faults ------------------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """Resets every connection and refuses new ones."""
        self._open = False
        self.reset()

    def reset(self) -> None:
        """Resets every connection; new ones are let in."""
        for link in list(self._links):
            self._reset(link, "reset")

    def close_at_once(self) -> None:
        """Resets every connection; new ones are accepted and closed, as by a load balancer that has no server left."""
        self._closes = True
        self.reset()

    def delay(self, seconds: float, *, jitter: float = 0.0, towards: Iterable[Direction] = BOTH) -> None:
        """Lets everything arrive later by `seconds`, give or take `jitter`; order stays, as it does in TCP."""
        for each in towards:
            self._directions[each].delay = seconds
            self._directions[each].jitter = jitter

    def black_hole(self, *, towards: Iterable[Direction] = BOTH, lose: bool = False) -> None:
        """Lets nothing through, not even the end of a connection; connections stay open and new ones hang.

        Held bytes arrive once mended, as TCP would repeat them. With `lose` they never do, and mending resets the
        connections they belonged to, as a firewall does that has forgotten them.
        """
        for each in towards:
            self._directions[each].passable.clear()
            self._directions[each].loses = lose

    def cut_after(self, size: int, *, towards: Iterable[Direction] = BOTH) -> None:
        """Resets each connection, those to come too, after `size` further bytes in a direction."""
        for each in towards:
            self._directions[each].budget = size
            for link in self._links:
                link.left[each] = size

    def strike(
        self,
        pattern: bytes,
        *,
        towards: Direction,
        action: Literal["reset", "silence"] = "reset",
        times: int = 1,
    ) -> Strike:
        """When `pattern` passes, withholds it and all that follows, and resets the connection or lets it hang."""
        strike = Strike(pattern, action, times)
        self._directions[towards].strikes.append(strike)
        return strike

    def mend(self) -> None:
        """Ends every fault. Connections that bytes are missing from are reset."""
        self._open = True
        self._closes = False
        for direction in self._directions.values():
            direction.delay = direction.jitter = 0.0
            direction.budget = None
            direction.strikes.clear()
            direction.loses = False
            direction.passable.set()
        for link in list(self._links):
            link.left = dict.fromkeys(Direction)
            if link.damaged:
                self._reset(link, "reset")

    # -- connections -------------------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._connect(reader, writer)
        except asyncio.CancelledError:
            # The end of the proxy. Raised on, Python 3.11's streams would report it as an error of ours.
            _reset(writer)
        finally:
            self._tasks.discard(task)
            # What is still to be flushed may go; after a reset there is nothing left to close.
            writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not all(direction.passable.is_set() for direction in self._directions.values()):
            self.fired["hung"] += 1
        while self._open and (hole := self._hole()):
            await hole.wait()
        if not self._open:
            self.fired["refused"] += 1
            _reset(writer)
            return
        if self._closes:
            self.fired["closed"] += 1
            return
        try:
            target_reader, target_writer = await self._reach_target()
        except OSError:
            _reset(writer)
            return
        budgets = {towards: direction.budget for towards, direction in self._directions.items()}
        link = _Link({Direction.SERVER: target_writer, Direction.CLIENT: writer}, budgets)
        self._links.add(link)
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump(link, Direction.SERVER, reader))
                pumps.create_task(self._pump(link, Direction.CLIENT, target_reader))
        except asyncio.CancelledError:
            link.reset()
            raise
        finally:
            self._links.discard(link)
            target_writer.close()

    async def _reach_target(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connects to the server behind; may be another one each time.

        Raises:
            OSError: it takes no connection.
        """
        return await asyncio.open_connection(*self._target)

    def _hole(self) -> asyncio.Event | None:
        """Neither side of a new connection gets an answer while one direction is closed."""
        closed = [each.passable for each in self._directions.values() if not each.passable.is_set()]
        return closed[0] if closed else None

    async def _pump(self, link: _Link, towards: Direction, reader: asyncio.StreamReader) -> None:
        """Reads one side; `_forward` writes the other, when it is time."""
        under_way: _UnderWay = asyncio.Queue(_CHUNKS_UNDER_WAY)
        async with asyncio.TaskGroup() as both:
            both.create_task(self._forward(link, towards, under_way))
            data: bytes | None = b"not the end"
            while data:
                try:
                    data = await reader.read(_CHUNK)
                except OSError:
                    data = _RESET_BY_PEER
                await under_way.put((self._due(towards), data))

    def _due(self, towards: Direction) -> float:
        direction = self._directions[towards]
        now = asyncio.get_running_loop().time()
        if not direction.delay and not direction.jitter:
            return now
        self.fired["delayed"] += 1
        return now + max(0.0, direction.delay + self._random.uniform(-direction.jitter, direction.jitter))

    async def _forward(self, link: _Link, towards: Direction, under_way: _UnderWay) -> None:
        direction, writer = self._directions[towards], link.writers[towards]
        seen = b""
        while True:
            due, data = await under_way.get()
            wait = due - asyncio.get_running_loop().time()
            if wait > 0:
                await asyncio.sleep(wait)
            passes = await self._let_through(link, direction)
            if not data:
                if passes:
                    _end(link, writer, by_reset=data is _RESET_BY_PEER)
                return
            if not passes:
                continue
            data, seen = self._strike(link, direction, data, seen)
            with suppress(OSError):
                writer.write(self._within_budget(link, towards, data))
                await writer.drain()
            if link.left[towards] == 0:
                self._reset(link, "cut_after")

    async def _let_through(self, link: _Link, direction: _Direction) -> bool:
        if not direction.passable.is_set() and not direction.loses:
            self.fired["held"] += 1
            await direction.passable.wait()
        if link.silenced or not direction.passable.is_set():
            self.fired["lost"] += 1
            link.damaged = True
            return False
        return True

    def _strike(self, link: _Link, direction: _Direction, data: bytes, seen: bytes) -> tuple[bytes, bytes]:
        """Return the part of `data` that may pass, and its tail, as a pattern may arrive in two pieces."""
        text = seen + data
        for strike in direction.strikes:
            at = text.find(strike.pattern)
            if at < 0 or not strike.times:
                continue
            strike.times -= 1
            strike.hits += 1
            strike.struck.set()
            self.fired["strike"] += 1
            link.damaged = True
            if strike.action == "silence":
                link.silenced = True
            else:
                self._reset(link, "reset")
            return data[: max(0, at - len(seen))], b""
        longest = max((len(strike.pattern) for strike in direction.strikes), default=1)
        return data, text[len(text) - longest + 1 :] if longest > 1 else b""

    def _within_budget(self, link: _Link, towards: Direction, data: bytes) -> bytes:
        left = link.left[towards]
        if left is None:
            return data
        link.left[towards] = max(0, left - len(data))
        return data[:left]

    def _reset(self, link: _Link, why: str) -> None:
        if link in self._links:
            self._links.discard(link)
            self.fired[why] += 1
            link.reset()


class ServerProxy(TcpProxy):
    """Stands before the server of a URL; `url` leads to the same place through it."""

    def __init__(self, url: str) -> None:
        self._direct = urlsplit(url)
        usual = 5672 if self._direct.scheme == "amqp" else 5432
        super().__init__(self._direct.hostname or "127.0.0.1", self._direct.port or usual)

    @property
    def url(self) -> str:
        user = f"{self._direct.username}:{self._direct.password}"
        return self._direct._replace(netloc=f"{user}@127.0.0.1:{self.port}").geturl()


def _end(link: _Link, writer: asyncio.StreamWriter, *, by_reset: bool) -> None:
    """Passes on how the other side ended: a reset ends both directions, an orderly end only this one."""
    if by_reset:
        link.reset()
        return
    with suppress(OSError, RuntimeError):
        writer.write_eof()


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    if connection is not None:
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    writer.transport.abort()


def _event_set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event
