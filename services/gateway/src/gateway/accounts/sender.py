"""Sends one request over its own connection, and writes nothing after the deadline.

A process may be paused for longer than its lease. So each write is preceded directly by a look at the clocks.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

import httpcore2
import httpx

from chassis.http.outgoing import reason_of
from chassis.http.spans import client_span
from gateway.accounts.kind import NoAnswer, NotSent, RemoteResponse, WireRequest
from gateway.egress.addresses import Network
from gateway.egress.connections import GuardedConnections, Resolve
from gateway.egress.decoding import decoder
from gateway.egress.errors import EgressError

_CONNECT_SECONDS: Final = 5.0
_MAX_BYTES: Final = 1_000_000
"""Default size limit of an answer."""
_PIECE: Final = 16_384


class Deadline:
    """A deadline by two clocks: one stops while the machine sleeps, the other can be set. The first to pass counts."""

    def __init__(self, seconds: float) -> None:
        self._monotonic = time.monotonic() + seconds
        self._wall = time.time() + seconds

    @property
    def left(self) -> float:
        """Seconds; not negative."""
        return max(min(self._monotonic - time.monotonic(), self._wall - time.time()), 0.0)

    @property
    def is_over(self) -> bool:
        return self.left <= 0


class _DeadlinePassedError(Exception):
    """The deadline has passed."""


class RequestSender:
    """Sends requests to permitted addresses.

    Args:
        user_agent: the header `User-Agent`.
        resolve: looks up names.
        exceptions: private networks that may be reached all the same.
        trust: trusted certificate authorities; by default the usual ones.
    """

    def __init__(
        self,
        user_agent: str,
        resolve: Resolve,
        exceptions: Iterable[Network],
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._user_agent = user_agent
        self._resolve = resolve
        self._exceptions = tuple(exceptions)
        self._ssl = trust or httpx.create_ssl_context()

    async def send(
        self, request: WireRequest, deadline: Deadline, most_bytes: int = _MAX_BYTES
    ) -> RemoteResponse:
        """Sends once and returns the answer, including error statuses. Nothing is written after the deadline.

        The body is cut off after `most_bytes`.

        Raises:
            NotSent: no byte was written.
            NoAnswer: bytes were written, without a complete answer.
        """
        wire = _Wire(deadline)
        try:
            with client_span(request.method, request.shown) as transport:
                async with asyncio.timeout(deadline.left):
                    answer = await self._exchange(request, wire, most_bytes)
                transport.answered(answer.status)
                return answer
        except (
            OSError,
            EgressError,
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.TimeoutException,
            _DeadlinePassedError,
        ) as error:
            # The error may quote the address, which may contain secrets.
            why = _told(error)
            if wire.written:
                raise NoAnswer(f"{request.shown}: {why}") from None
            raise NotSent(f"{request.shown}: {why}") from None

    def asking(self, seconds: float) -> "DeadlineTransport":
        """Returns a transport for a kind's own requests, which share one time limit."""
        return DeadlineTransport(self, Deadline(seconds))

    async def connect(self, host: str, port: int, deadline: Deadline) -> socket.socket:
        """Opens a TCP connection to a checked address, for protocols other than HTTP.

        Raises:
            NotSent: the address does not answer, or is not permitted.
        """
        last: OSError | None = None
        try:
            async with asyncio.timeout(min(deadline.left, _CONNECT_SECONDS)):
                guarded = GuardedConnections(self._resolve, self._exceptions)
                for address, its_port in await guarded.checked(host, port):
                    family = socket.AF_INET6 if ":" in address else socket.AF_INET
                    made = socket.socket(family, socket.SOCK_STREAM)
                    made.setblocking(False)
                    try:
                        await asyncio.get_running_loop().sock_connect(made, (address, its_port))
                    except OSError as error:
                        made.close()
                        last = error
                    except BaseException:
                        made.close()
                        raise
                    else:
                        return made
        except (OSError, EgressError) as error:
            raise NotSent(f"{host}:{port}: {_told(error)}") from None
        raise NotSent(f"{host}:{port}: cannot be reached: {reason_of(last) if last else 'it has no address'}")

    async def _exchange(self, request: WireRequest, wire: "_Wire", most_bytes: int) -> RemoteResponse:
        try:
            url = httpx.URL(request.url)
        except httpx.InvalidURL:
            # Its text may quote secrets of the address.
            raise NotSent(f"{request.shown}: the address cannot be understood") from None
        if request.query:
            url = url.copy_merge_params(httpx.QueryParams(list(request.query)))
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        default = {b"http": 80, b"https": 443}[url.raw_scheme]
        connection = httpcore2.AsyncHTTPConnection(
            httpcore2.Origin(url.raw_scheme, url.raw_host, url.port or default),
            ssl_context=self._ssl,
            network_backend=GuardedConnections(self._resolve, self._exceptions, wire),
        )
        headers = {
            "host": url.netloc.decode("ascii"),
            "user-agent": self._user_agent,
            "accept": "application/json",
            "accept-encoding": "identity",
            "connection": "close",
            **{name.lower(): value for name, value in request.headers.items()},
        }
        if request.body or request.method in {"POST", "PUT", "PATCH"}:
            headers["content-length"] = str(len(request.body))
        try:
            answer = await connection.handle_async_request(
                httpcore2.Request(
                    request.method,
                    target,
                    headers=list(headers.items()),
                    content=request.body or None,
                    extensions={"timeout": {"connect": _CONNECT_SECONDS}},
                )
            )
            found = _headers(answer)
            body, truncated = await _body(answer, found, most_bytes)
            return RemoteResponse(answer.status, found, body, truncated)
        finally:
            await connection.aclose()


class DeadlineTransport:
    """Sends requests within one time limit."""

    def __init__(self, sender: RequestSender, deadline: Deadline) -> None:
        self._sender = sender
        self._deadline = deadline

    async def __call__(self, request: WireRequest) -> RemoteResponse:
        return await self._sender.send(request, self._deadline)

    async def connect(self, host: str, port: int) -> socket.socket:
        return await self._sender.connect(host, port, self._deadline)


class _Wire(httpcore2.AsyncNetworkBackend):
    """Connects to an address, and records whether any byte was written."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.written = False

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's signature
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                reader, writer = await asyncio.open_connection(host, port)
        except TimeoutError:
            raise httpcore2.ConnectTimeout("it did not answer in time") from None
        except OSError as error:
            raise httpcore2.ConnectError(error.strerror or str(error)) from None
        # The kernel drops unsent data, too.
        if (limit := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:
            milliseconds = max(int(self.deadline.left * 1000), 1)
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, limit, milliseconds)
        writer.transport.set_write_buffer_limits(0)
        return _Stream(self, reader, writer)

    async def connect_unix_socket(self, *_: object, **__: object) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError("a socket of this machine is no place to send to")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    """asyncio's own stream: `write` passes the data to the kernel before other tasks run."""

    def __init__(self, wire: _Wire, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._wire = wire
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109, ARG002
        try:
            return await self._reader.read(max_bytes)
        except OSError as error:
            raise httpcore2.ReadError(error.strerror or str(error)) from None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109, ARG002
        if not buffer:
            return
        # In small pieces, each in the kernel before the next, so no buffer of ours sends later.
        for begin in range(0, len(buffer), _PIECE):
            if self._wire.deadline.is_over:
                raise _DeadlinePassedError
            self._wire.written = True
            self._writer.write(buffer[begin : begin + _PIECE])
            try:
                await self._writer.drain()
            except OSError as error:
                raise httpcore2.WriteError(error.strerror or str(error)) from None

    async def aclose(self) -> None:
        # Buffered data must not be sent after the deadline.
        self._writer.transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109, ARG002
    ) -> httpcore2.AsyncNetworkStream:
        try:
            await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except ssl.SSLError as error:
            raise httpcore2.ConnectError(f"its certificate is not to be trusted ({error.reason})") from None
        except OSError as error:
            raise httpcore2.ConnectError(error.strerror or str(error)) from None
        return self

    def get_extra_info(self, info: str) -> Any:
        match info:
            case "ssl_object":
                return self._writer.get_extra_info("ssl_object")
            case "socket":
                return self._writer.get_extra_info("socket")
            case "is_readable":
                return self._reader.at_eof()
            case _:
                return None


def _headers(answer: httpcore2.Response) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in answer.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


async def _body(
    answer: httpcore2.Response, headers: Mapping[str, str], most_bytes: int
) -> tuple[bytes, bool]:
    """Reads the body, and whether it was cut off. An unreadable body counts as empty: the status matters."""
    body = bytearray()
    try:
        decoding = decoder(headers.get("content-encoding"))
        async for chunk in answer.aiter_stream():
            for part in decoding.feed(chunk):
                body += part
                if len(body) > most_bytes:
                    return bytes(body[:most_bytes]), True
        decoding.end()
    except EgressError:
        return bytes(body), True
    return bytes(body), False


def _told(error: BaseException) -> str:
    match error:
        case _DeadlinePassedError():
            return "its time was over before it was sent"
        case TimeoutError() | httpcore2.TimeoutException():
            return "no answer in time"
        case EgressError():
            return str(error)
        case httpcore2.ConnectError():
            return f"cannot be reached: {reason_of(error)}"
        case _:
            return f"broke off: {reason_of(error)}"
