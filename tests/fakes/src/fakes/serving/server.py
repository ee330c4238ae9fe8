"""A fake on a free port of this machine: HTTP/1.1 over real connections, which can be reset, cut and left hanging."""

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import format_datetime
from typing import Final, TypeVar

import h11

from fakes.serving.exchange import Reply, Request
from fakes.serving.fake import WATCHING, Fake
from fakes.serving.faults import Fault

F = TypeVar("F", bound=Fake)

_READ: Final = 65_536
# No time to linger: closing sends RST instead of FIN.
_RESET: Final = struct.pack("ii", 1, 0)


@asynccontextmanager
async def serving(fake: F, port: int = 0) -> AsyncIterator[F]:
    """While it lasts, the fake answers at `fake.url`; what hangs then is given up."""
    door = _Listener(fake)
    port = await door.open(port)
    fake.url = f"http://127.0.0.1:{port}"
    _DOORS[fake.url] = door
    try:
        yield fake
    finally:
        del _DOORS[fake.url]
        door.close()
        for task in door.tasks:
            task.cancel()
        await asyncio.gather(*door.tasks, return_exceptions=True)


@asynccontextmanager
async def away(fake: Fake) -> AsyncIterator[None]:
    """While it lasts, connections to the fake are refused; it is being served in this loop."""
    door = _DOORS[fake.url]
    door.close()
    try:
        yield
    finally:
        await door.open(int(fake.url.rpartition(":")[2]))


@contextmanager
def in_thread(fake: F, port: int = 0) -> Iterator[F]:
    """As `serving`, for programs without a loop or with one that must not be shared."""
    started, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    failed: list[BaseException] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with serving(fake, port):
            started.set()
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except OSError as error:
            failed.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=run, name=type(fake).__name__, daemon=True)
    thread.start()
    started.wait()
    if failed:
        raise failed[0]
    try:
        yield fake
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join()


@dataclass(slots=True)
class _Listener:
    fake: Fake
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    server: asyncio.Server | None = None

    async def open(self, port: int) -> int:
        """The port that it answers on."""
        self.server = await asyncio.start_server(self.take, "127.0.0.1", port)
        return int(self.server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Refuses new connections and answers the open ones."""
        assert self.server is not None
        self.server.close()

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A function, not a coroutine: the tasks are ours to cancel.
        self._keep(asyncio.ensure_future(_Connection(self, reader, writer).serve()))

    def later(self, seconds: float, request: Request) -> None:
        async def do() -> None:
            await asyncio.sleep(seconds)
            self.fake.answer(request)

        self._keep(asyncio.ensure_future(do()))

    def _keep(self, task: "asyncio.Task[None]") -> None:
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


_DOORS: Final[dict[str, _Listener]] = {}
"""By the URL."""


@dataclass(slots=True)
class _Connection:
    door: _Listener
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    http: h11.Connection = field(default_factory=lambda: h11.Connection(h11.SERVER))

    async def serve(self) -> None:
        try:
            while request := await self._next_request():
                if not await self._respond(request) or self.http.our_state is h11.MUST_CLOSE:
                    return
                self.http.start_next_cycle()
        except (ConnectionError, h11.ProtocolError):
            pass  # the other side has gone, or never spoke HTTP
        finally:
            self.writer.close()
            with suppress(ConnectionError):
                await self.writer.wait_closed()

    async def _next_request(self) -> Request | None:
        head: h11.Request | None = None
        body = b""
        while True:
            match self.http.next_event():
                case h11.NEED_DATA:
                    self.http.receive_data(await self.reader.read(_READ))
                case h11.Request() as head:
                    pass
                case h11.Data(data=data):
                    body += data
                case h11.EndOfMessage() if head is not None:
                    headers = {name.decode().lower(): value.decode("latin-1") for name, value in head.headers}
                    return Request.of(head.method.decode(), head.target.decode(), headers, body)
                case _:
                    return None

    async def _respond(self, request: Request) -> bool:
        """Whether the connection is of further use."""
        fake = self.door.fake
        if request.path.startswith(WATCHING):
            return await self._send(fake.watched(request))
        fake.requests.append(request)
        fault = fake.faults.strike(request)
        return await self._send(fake.answer(request)) if fault is None else await self._play(fault, request)

    async def _play(self, fault: Fault, request: Request) -> bool:
        fake = self.door.fake
        happening, _, moment = fault.kind.partition("_")
        reply = fake.answer(request) if moment == "after" else None
        match happening:
            case "reset":
                return self._reset()
            case "cut" if reply:
                return await self._cut(reply)
            case "error":
                return await self._send(fake.failed(request, fault.status))
            case "limited":
                return await self._send(fake.limited(request))
            case "expired":
                return await self._send(fake.expired(request))
        if happening == "late":
            self.door.later(fault.seconds, request)
        return await self._hang()

    def _bytes(self, reply: Reply) -> bytes:
        fake = self.door.fake
        date = {"date": format_datetime(fake.now().astimezone(UTC), usegmt=True)} if fake.tells_time else {}
        headers = {**date, **reply.headers, "content-length": str(len(reply.body))}
        events: list[h11.Event] = [
            h11.Response(status_code=reply.status, headers=list(headers.items())),
            h11.Data(data=reply.body),
            h11.EndOfMessage(),
        ]
        return b"".join(self.http.send(event) or b"" for event in events)

    async def _send(self, reply: Reply) -> bool:
        self.writer.write(self._bytes(reply))
        await self.writer.drain()
        return True

    async def _cut(self, reply: Reply) -> bool:
        whole = self._bytes(reply)
        self.writer.write(whole[: len(whole) // 2])
        # A reset at once would have the kernel throw away what it has not sent yet.
        await asyncio.sleep(0.02)
        return self._reset()

    async def _hang(self) -> bool:
        """Until the other side has had enough."""
        while await self.reader.read(_READ):
            pass
        return False

    def _reset(self) -> bool:
        connection: socket.socket = self.writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.writer.transport.abort()
        return False
