"""Outgoing requests: a client for one origin, over connections of asyncio for httpcore2 in the place of anyio's.

anyio asks with every read and write which library runs it, and enters scopes that can be cancelled from elsewhere: more processor
time than reading and writing take. Head and body of a request leave in one write here, as nothing waits between them.
"""

import asyncio
import errno
import json
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final
from urllib.parse import quote, urlsplit

import certifi
import httpcore2

_KEEPALIVE_SECONDS: Final = 2.0
"""Idle connections close after this, before the server (5 seconds or more) can close one under a request."""
_IN_PATHS: Final = "/?&=%:;,@+$!*'()"
"""Characters of a path with query that stay unquoted, besides letters and digits."""

NOT_CONNECTED: Final = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.UnsupportedProtocol)
"""Errors before any byte has reached the server."""
BROKEN: Final = (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError)
"""Errors after which the server may have processed the request."""
_WHY: Final = {
    errno.ECONNREFUSED: "nothing answers at this port",
    errno.ECONNRESET: "the other side cut the connection",
    errno.EPIPE: "the other side cut the connection",
    errno.EHOSTUNREACH: "no network leads there",
    errno.ENETUNREACH: "no network leads there",
    errno.EADDRNOTAVAIL: "no network leads there",
}


def reason_of(error: BaseException) -> str:
    """Returns in plain words why a request failed: for people, who read no names of exceptions."""
    of_system = next(filter(None, map(_reason_of_system, _causes(error))), None)
    if of_system is not None:
        return of_system
    if isinstance(error, (httpcore2.TimeoutException, TimeoutError)):
        connecting = isinstance(error, httpcore2.ConnectTimeout)
        return "it does not take the connection in time" if connecting else "no answer came in time"
    if isinstance(error, httpcore2.UnsupportedProtocol):
        return "its address does not begin with http:// or https://"
    return str(error) or "the connection ended too early"


def _reason_of_system(error: BaseException) -> str | None:
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate cannot be trusted ({error.verify_message})"
        case ssl.SSLError():
            return "it does not speak TLS as expected"
        case socket.gaierror():
            return "its name is not known"
        case OSError() if error.errno is not None:
            return _WHY.get(error.errno)
        case _:
            return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


class Origin:
    """A client for one origin; one per process.

    It reads only the trusted certificates from the environment, follows no redirects, and never retries.

    Args:
        url: base of the request paths.
        headers: headers of every request, besides `Host`.
        connect_seconds: time limit for connecting; the caller bounds the rest.

    Raises:
        ValueError: it is not a URL.
    """

    def __init__(self, url: str, headers: Mapping[str, str], *, connect_seconds: float) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        self._scheme = parts.scheme.lower()
        self._host = parts.hostname or ""
        self._port = parts.port
        self._prefix = parts.path
        self._headers = _encoded({"Host": parts.netloc.rpartition("@")[2], **headers})
        self._extensions = {"timeout": {"connect": connect_seconds}}
        self._connections = AsyncioConnections()
        self._pool = httpcore2.AsyncConnectionPool(
            # Certificates of all authorities take a megabyte: for nothing where none is shown.
            ssl_context=_trusted() if self._scheme == "https" else None,
            max_connections=None,
            keepalive_expiry=_KEEPALIVE_SECONDS,
            network_backend=self._connections,
        )

    async def aclose(self) -> None:
        self._connections.close()
        await self._pool.aclose()

    def sent(
        self, method: str, path: str, headers: Mapping[str, str], document: Mapping[str, Any] | None = None
    ) -> AbstractAsyncContextManager[httpcore2.Response]:
        """Send a request; the response stays open for the block.

        Args:
            method: GET, POST, …
            path: path with query, `/v1/content?id=5`.
            headers: further headers of this request.
            document: JSON body.

        Raises:
            NOT_CONNECTED, BROKEN: the errors in those tuples, on entering and while the body is read.
            ValueError: the document cannot be written as JSON.
        """
        as_json = {} if document is None else {"Content-Type": "application/json"}
        target = quote(f"{self._prefix}{path}", safe=_IN_PATHS).encode()
        return self._pool.stream(
            method,
            httpcore2.URL(scheme=self._scheme, host=self._host, port=self._port, target=target),
            headers=[*self._headers, *_encoded(headers), *_encoded(as_json)],
            content=None if document is None else _encoded_json(document),
            extensions=self._extensions,
        )


def header(response: httpcore2.Response, name: bytes) -> str | None:
    """Return the first header with this lower-case name, None without one."""
    for given, value in response.headers:
        if given.lower() == name:
            return value.decode("latin-1")
    return None


def _encoded_json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]


def _trusted() -> ssl.SSLContext:
    """Return a TLS context with the certificates in OpenSSL's variables, or else those that browsers trust."""
    return ssl.create_default_context(
        cafile=os.environ.get("SSL_CERT_FILE")
        or (None if os.environ.get("SSL_CERT_DIR") else certifi.where()),
        capath=os.environ.get("SSL_CERT_DIR") or None,
    )


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

    def __init__(self) -> None:
        self._is_closed = False

    def close(self) -> None:
        """Ends what connects from now on: a pool that closes forgets the connections that are not made yet."""
        self._is_closed = True

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """As `connect`."""
        loop = asyncio.get_running_loop()
        reader = _UnreadAwareReader(limit=_FULL, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport = await self.connect(
            lambda: protocol, host, port, timeout=timeout, local_address=local_address
        )
        for option in socket_options or ():
            transport.get_extra_info("socket").setsockopt(*option)
        return _Stream(reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    async def connect(
        self,
        protocol: Callable[[], asyncio.Protocol],
        host: str,
        port: int,
        *,
        timeout: float | None,  # noqa: ASYNC109 - as `connect_tcp`
        local_address: str | None = None,
    ) -> asyncio.Transport:
        """Connects to the first address of the host that answers; each has its part of the time that is left.

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
                    return await self._connected(protocol, addresses[-left], port, local_address)
            except (httpcore2.ConnectTimeout, httpcore2.ConnectError):
                if left == 1:
                    raise
        raise httpcore2.ConnectError(f"{host} has no address")

    async def _connected(
        self, protocol: Callable[[], asyncio.Protocol], address: str, port: int, local_address: str | None
    ) -> asyncio.Transport:
        transport, _ = await asyncio.get_running_loop().create_connection(
            protocol, address, port, local_addr=None if local_address is None else (local_address, 0)
        )
        if self._is_closed:
            transport.abort()
            raise ConnectionAbortedError("this client is closed")
        return transport

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
