"""Connections of asyncio for httpcore2, in the place of anyio's.

anyio asks with every read and write which library runs it, and enters scopes that can be cancelled from elsewhere: more processor
time than reading and writing take. And head and body of a request leave in one write here, as nothing waits between them.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import httpcore2

_FULL = 65_536
"""Bytes that are not sent yet, past which a writer waits."""
_CLOSED = "the connection is closed"
"""Found before it is used: uvloop's transports raise a RuntimeError of their own then, and asyncio's say nothing."""


class _UnreadAwareReader(asyncio.StreamReader):
    """Counts the unread bytes."""

    unread = 0

    def feed_data(self, data: Any) -> None:
        self.unread += len(data)
        super().feed_data(data)


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, reader: _UnreadAwareReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - the library's signature
        async with _told_as(httpcore2.ReadTimeout, httpcore2.ReadError, timeout):
            piece = await self._reader.read(max_bytes)
        self._reader.unread -= len(piece)
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - likewise
        if self._writer.is_closing():
            raise httpcore2.WriteError(_CLOSED)
        self._writer.write(buffer)
        if self._writer.transport.get_write_buffer_size() > _FULL or self._writer.is_closing():
            async with _told_as(httpcore2.WriteTimeout, httpcore2.WriteError, timeout):
                await self._writer.drain()

    async def aclose(self) -> None:
        # Not waited for: whoever closes has all that he wanted, and the other side may be gone.
        self._writer.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - likewise
    ) -> httpcore2.AsyncNetworkStream:
        if self._writer.is_closing():
            raise httpcore2.ConnectError(_CLOSED)
        try:
            async with _told_as(httpcore2.ConnectTimeout, httpcore2.ConnectError, timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except BaseException:
            self._writer.transport.abort()
            raise
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            # Asked of a connection before it is used again: whatever came since was not asked for, or is its end.
            return bool(self._reader.unread) or self._reader.at_eof() or self._writer.is_closing()
        names = {"client_addr": "sockname", "server_addr": "peername"}
        return self._writer.get_extra_info(names.get(info, info))


class AsyncioConnections(httpcore2.AsyncNetworkBackend):
    """Connects, and reads and writes by the event loop of asyncio that runs."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to the first address of the host that answers; each has its part of the time that is left.

        Raises:
            httpcore2.ConnectTimeout, httpcore2.ConnectError.
        """
        loop = asyncio.get_running_loop()
        until = None if timeout is None else loop.time() + timeout
        async with _told_as(httpcore2.ConnectTimeout, httpcore2.ConnectError, timeout):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
        for left in range(len(addresses), 0, -1):
            seconds = None if until is None else max(until - loop.time(), 0.0) / left
            try:
                async with _told_as(httpcore2.ConnectTimeout, httpcore2.ConnectError, seconds):
                    return await self._connected(addresses[-left], port, local_address, socket_options or ())
            except (httpcore2.ConnectTimeout, httpcore2.ConnectError):
                if left == 1:
                    raise
        raise httpcore2.ConnectError(f"{host} has no address")

    async def _connected(
        self,
        address: str,
        port: int,
        local_address: str | None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION],
    ) -> _Stream:
        loop = asyncio.get_running_loop()
        reader = _UnreadAwareReader(limit=_FULL, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport, _ = await loop.create_connection(
            lambda: protocol, address, port, local_addr=None if local_address is None else (local_address, 0)
        )
        for option in socket_options:
            transport.get_extra_info("socket").setsockopt(*option)
        return _Stream(reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@asynccontextmanager
async def _told_as(
    too_slow: type[Exception], broken: type[Exception], seconds: float | None
) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise too_slow(str(error)) from error
    except OSError as error:
        raise broken(str(error)) from error
