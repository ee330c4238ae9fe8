"""Connections under the HTTP client, to servers that do as they like."""

import asyncio
import socket
import ssl
import struct
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpcore2
import pytest
import uvloop

from chassis.http.outgoing import NOT_CONNECTED, AsyncioConnections, Origin, reason_of
from chassis.testing import eventually

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LARGE = 8 * 1024 * 1024
Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Serve = Callable[[Answering], Awaitable[str]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts a server, and gives its address."""
    servers: list[asyncio.Server] = []

    async def serve(answering: Answering) -> str:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await answering(reader, writer)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        servers.append(await asyncio.start_server(answer, "127.0.0.1", 0))
        return f"http://127.0.0.1:{servers[-1].sockets[0].getsockname()[1]}/"

    yield serve
    for each in servers:
        each.close()


@pytest.fixture
async def pool() -> AsyncIterator[httpcore2.AsyncConnectionPool]:
    async with httpcore2.AsyncConnectionPool(network_backend=AsyncioConnections()) as made:
        yield made


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Of localhost, by itself; and its key."""
    file, key = tmp_path / "localhost.crt", tmp_path / "localhost.key"
    names = [
        "subjectAltName=DNS:localhost",
        "keyUsage=critical,keyCertSign,digitalSignature",
    ]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", str(key)]
    subprocess.run(
        ["openssl", "req", "-x509", *kind, "-subj", "/CN=localhost", "-out", str(file)]
        + [part for each in names for part in ("-addext", each)],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return file, key


def within(seconds: float) -> dict[str, dict[str, float]]:
    return {"timeout": dict.fromkeys(("connect", "read", "write"), seconds)}


async def test_a_connection_is_used_again(serve: Serve, pool: httpcore2.AsyncConnectionPool) -> None:
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ANSWER)

    url = await serve(answer)
    for _ in range(5):
        assert (await pool.request("GET", url)).content == b"ok"
    assert connections == 1


@pytest.mark.parametrize("unasked", [b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
async def test_one_that_ended_or_said_something_unasked_is_not_used_again(
    serve: Serve, pool: httpcore2.AsyncConnectionPool, unasked: bytes
) -> None:
    connections = 0
    answered, said = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await answered.wait()
        if unasked:
            writer.write(unasked)
        else:
            writer.write_eof()
        said.set()
        await reader.read()  # it stays open

    url = await serve(answer)
    for _ in range(3):
        answered.clear()
        said.clear()
        assert (await pool.request("GET", url)).status == 200
        answered.set()
        await said.wait()
        await eventually(lambda: all(each.has_expired() for each in pool.connections))
    assert connections == 3


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("used_before", [False, True])
def test_a_request_that_is_cut_short_at_any_moment_leaves_nothing_behind(
    new_loop: Callable[[], asyncio.AbstractEventLoop], used_before: bool
) -> None:
    """Neither a request that is waited for, nor a connection that nobody uses and nobody closes."""
    connected = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connected
        connected += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(ANSWER[:-1])
                await asyncio.sleep(0)
                writer.write(ANSWER[-1:])
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            connected -= 1
            writer.close()

    async def cut_short_after(turns: int, url: str) -> bool:
        """Of the loop; whether it had ended by then."""
        async with httpcore2.AsyncConnectionPool(network_backend=AsyncioConnections()) as pool:
            if used_before:
                await pool.request("GET", url)
            asking = asyncio.create_task(pool.request("GET", url))
            for _ in range(turns):
                await asyncio.sleep(0)
            ended = asking.done()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            left = repr(pool)
            assert "Requests: 0 active, 0 queued" in left, turns
            idle = sum(each.is_idle() for each in pool.connections)
            assert all(each.is_idle() or each.is_closed() for each in pool.connections), turns
            await eventually(lambda: connected == idle)
        await eventually(lambda: connected == 0)
        return ended

    async def every_moment() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        turns = 0
        try:
            while not await cut_short_after(turns, url):
                turns += 1
        finally:
            server.close()
        assert turns > 3

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(every_moment())


async def test_head_and_body_leave_together(serve: Serve, pool: httpcore2.AsyncConnectionPool) -> None:
    pieces: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65536):
            pieces.append(piece)
            writer.write(ANSWER)

    await pool.request("POST", await serve(answer), content=b"body")
    assert len(pieces) == 1
    assert pieces[0].endswith(b"\r\n\r\nbody")


async def test_a_large_body_waits_for_its_reader_and_no_longer_than_it_may(
    serve: Serve, pool: httpcore2.AsyncConnectionPool
) -> None:
    may_read = asyncio.Event()
    received = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        await may_read.wait()
        await reader.readuntil(b"\r\n\r\n")
        received = len(await reader.readexactly(LARGE))
        writer.write(ANSWER)

    url = await serve(answer)
    with pytest.raises(httpcore2.WriteTimeout):
        await pool.request("POST", url, content=b"x" * LARGE, extensions=within(0.2))
    may_read.set()
    assert (await pool.request("POST", url, content=b"x" * LARGE, extensions=within(20))).status == 200
    assert received == LARGE


async def test_an_answer_that_does_not_come_or_breaks_off_is_told(
    serve: Serve, pool: httpcore2.AsyncConnectionPool
) -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER[:-1])

    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        linger = b"\1\0\0\0\0\0\0\0"
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    with pytest.raises(httpcore2.ReadTimeout):
        await pool.request("GET", await serve(silent), extensions=within(0.2))
    with pytest.raises(httpcore2.RemoteProtocolError):
        await pool.request("GET", await serve(broken))
    with pytest.raises((httpcore2.ReadError, httpcore2.RemoteProtocolError)):
        await pool.request("GET", await serve(reset))


async def test_an_address_that_refuses_is_passed_over(
    serve: Serve,
    pool: httpcore2.AsyncConnectionPool,
    monkeypatch: pytest.MonkeyPatch,
    free_port: Callable[[], int],
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)

    url = httpcore2.URL(await serve(answer))
    loop = asyncio.get_running_loop()

    async def found(_: str, port: int, **__: object) -> list[object]:
        # Nobody listens at the first.
        return [(0, 0, 0, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    monkeypatch.setattr(loop, "getaddrinfo", found)
    assert (await pool.request("GET", f"http://name.example:{url.port}/", extensions=within(5))).status == 200
    with pytest.raises(httpcore2.ConnectError) as refused:
        await pool.request("GET", f"http://name.example:{free_port()}/", extensions=within(5))
    assert reason_of(refused.value) == "nothing answers at this port"


async def test_a_name_that_nobody_knows_is_told(pool: httpcore2.AsyncConnectionPool) -> None:
    with pytest.raises(httpcore2.ConnectError) as refused:
        await pool.request("GET", "http://nobody.invalid/", extensions=within(5))
    assert reason_of(refused.value) == "its name is not known"


async def test_it_speaks_tls_with_those_whose_certificate_is_good(
    pool: httpcore2.AsyncConnectionPool, certificate: tuple[Path, Path]
) -> None:
    file, key = certificate
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(file, key)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(LARGE)
        writer.write(ANSWER)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=serving)
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}/"
    trusting = ssl.create_default_context(cafile=str(file))
    async with httpcore2.AsyncConnectionPool(
        ssl_context=trusting, network_backend=AsyncioConnections()
    ) as knowing:
        answered = await knowing.request("POST", url, content=b"x" * LARGE, extensions=within(20))
    assert answered.content == b"ok"
    with pytest.raises(httpcore2.ConnectError, match="CERTIFICATE_VERIFY_FAILED") as distrusted:
        await pool.request("POST", url, content=b"x", extensions=within(20))
    assert reason_of(distrusted.value).startswith("its certificate cannot be trusted (")
    server.close()


async def test_whose_certificates_are_trusted_an_operator_may_say(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, key = certificate
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(file, key)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=serving)
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}/api/"

    async def ask() -> bytes:
        origin = Origin(url, {}, connect_seconds=20)
        try:
            async with origin.sent("GET", "/v1/things?of=two words", {}) as response:
                return await response.aread()
        finally:
            await origin.aclose()

    with pytest.raises(NOT_CONNECTED, match="CERTIFICATE_VERIFY_FAILED"):
        await ask()
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert await ask() == b"ok"
    server.close()


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_connection_that_was_reset_before_it_is_written_to_is_told_as_broken(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """As where a load balancer takes a connection, and resets it for there is nobody behind it."""

    async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()

    async def ask() -> None:
        server = await asyncio.start_server(reset, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        for use in (
            lambda each: each.write(b"GET"),
            lambda each: each.start_tls(ssl.create_default_context(), timeout=60),
        ):
            connected = await AsyncioConnections().connect_tcp("127.0.0.1", port, timeout=60)
            await eventually(lambda: connected.get_extra_info("is_readable"))  # noqa: B023 - at once
            with pytest.raises((httpcore2.WriteError, httpcore2.ConnectError)):
                await use(connected)
            await connected.aclose()
        server.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(ask())


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (httpcore2.ConnectTimeout(), "it does not take the connection in time"),
        (httpcore2.ReadTimeout(), "no answer came in time"),
        (TimeoutError(), "no answer came in time"),
        (httpcore2.UnsupportedProtocol(), "its address does not begin with http:// or https://"),
        (ConnectionResetError(104, "Connection reset by peer"), "the other side cut the connection"),
        (httpcore2.ReadError(), "the connection ended too early"),
        (ssl.SSLError(1, "WRONG_VERSION_NUMBER"), "it does not speak TLS as expected"),
        (httpcore2.RemoteProtocolError("Server disconnected"), "Server disconnected"),
    ],
)
def test_why_a_request_failed_is_told_in_plain_words(error: BaseException, told: str) -> None:
    assert reason_of(error) == told
