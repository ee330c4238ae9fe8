"""The fault proxy does to a real connection what its docstrings say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from chassis.testing import Direction, TcpProxy, eventually


class Echo:
    """A server that answers with what it hears, and remembers it."""

    def __init__(self) -> None:
        self.heard = bytearray()
        self.ended = 0
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                self.heard += data
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.ended += 1
            writer.close()


@pytest.fixture
async def echo() -> AsyncIterator[Echo]:
    echo = Echo()
    server = await asyncio.start_server(echo.serve, "127.0.0.1", 0)
    echo.port = server.sockets[0].getsockname()[1]
    async with server:
        yield echo


@pytest.fixture
async def proxy(echo: Echo) -> AsyncIterator[TcpProxy]:
    async with TcpProxy("127.0.0.1", echo.port, seed=1) as proxy:
        yield proxy


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def say(self, data: bytes) -> None:
        self._writer.write(data)

    def end(self) -> None:
        self._writer.write_eof()

    async def hear(self, size: int, *, within: float = 30.0) -> bytes:
        async with asyncio.timeout(within):
            return await self._reader.readexactly(size)

    async def hear_end(self) -> bytes:
        """Everything up to an orderly end."""
        async with asyncio.timeout(60):
            return await self._reader.read()

    async def hears_nothing(self, seconds: float = 0.2) -> bool:
        try:
            await self.hear(1, within=seconds)
        except TimeoutError:
            return True
        return False

    async def is_reset(self) -> bool:
        with pytest.raises(ConnectionResetError):
            await self.hear(1)
        return True


@asynccontextmanager
async def connected(proxy: TcpProxy) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def talking(proxy: TcpProxy) -> AsyncIterator[Client]:
    async with connected(proxy) as client:
        client.say(b"hello")
        assert await client.hear(5) == b"hello"
        yield client


async def test_without_faults_everything_passes_up_to_an_orderly_end(proxy: TcpProxy) -> None:
    text = bytes(range(256)) * 4096
    async with connected(proxy) as client:
        client.say(text)
        client.end()
        assert await client.hear_end() == text
    await eventually(lambda: proxy.links == 0)
    assert not proxy.fired


async def test_a_reset_ends_connections_and_lets_new_ones_in(proxy: TcpProxy) -> None:
    async with talking(proxy) as first:
        proxy.reset()
        assert await first.is_reset()
    async with talking(proxy):
        pass
    assert proxy.fired["reset"] == 1


async def test_a_cut_proxy_refuses_until_mended(proxy: TcpProxy) -> None:
    async with talking(proxy) as first:
        proxy.cut()
        assert await first.is_reset()
    async with connected(proxy) as second:
        assert await second.is_reset()
    proxy.mend()
    async with talking(proxy):
        pass
    assert proxy.fired["refused"] == 1


async def test_connections_are_accepted_and_closed_until_mended(proxy: TcpProxy, echo: Echo) -> None:
    async with talking(proxy) as first:
        proxy.close_at_once()
        assert await first.is_reset()
    async with connected(proxy) as second:
        assert await second.hear_end() == b""
    assert proxy.fired["closed"] == 1
    assert echo.heard == b"hello"
    proxy.mend()
    async with talking(proxy):
        pass


async def test_a_client_that_resets_is_gone_for_the_server_too(proxy: TcpProxy, echo: Echo) -> None:
    async with talking(proxy):
        pass
    await eventually(lambda: echo.ended == 1)


async def test_a_delay_holds_bytes_back_in_order(proxy: TcpProxy) -> None:
    clock = asyncio.get_running_loop().time
    async with talking(proxy) as client:
        proxy.delay(0.1, jitter=0.05, towards=[Direction.CLIENT])
        began = clock()
        for number in range(100):
            client.say(b"%03d" % number)
            await asyncio.sleep(0)
        assert await client.hear(300) == b"".join(b"%03d" % number for number in range(100))
        assert clock() - began >= 0.05
    assert proxy.fired["delayed"] > 0


@pytest.mark.parametrize("towards", Direction)
async def test_a_black_hole_keeps_connections_open_and_gives_up_its_bytes_when_mended(
    proxy: TcpProxy, echo: Echo, towards: Direction
) -> None:
    async with talking(proxy) as client:
        proxy.black_hole(towards=[towards])
        client.say(b"later")
        assert await client.hears_nothing()
        assert (bytes(echo.heard) == b"hellolater") is (towards is Direction.CLIENT)
        proxy.mend()
        assert await client.hear(5) == b"later"
    assert proxy.fired["held"] == 1


async def test_new_connections_hang_in_a_black_hole(proxy: TcpProxy, echo: Echo) -> None:
    proxy.black_hole(towards=[Direction.CLIENT])
    async with connected(proxy) as client:
        client.say(b"anyone?")
        assert await client.hears_nothing()
        assert not echo.heard
        proxy.mend()
        assert await client.hear(7) == b"anyone?"
    assert proxy.fired["hung"] == 1


async def test_a_black_hole_that_loses_bytes_never_lets_the_rest_of_the_stream_pass(
    proxy: TcpProxy, echo: Echo
) -> None:
    async with talking(proxy) as client, talking(proxy) as idle:
        proxy.black_hole(towards=[Direction.SERVER], lose=True)
        client.say(b"lost")
        await eventually(lambda: proxy.fired["lost"])
        proxy.mend()
        assert await client.is_reset()
        idle.say(b"well")
        assert await idle.hear(4) == b"well"
    assert bytes(echo.heard) == b"hellohellowell"


async def test_a_connection_is_cut_after_so_many_bytes(proxy: TcpProxy, echo: Echo) -> None:
    async with talking(proxy) as client:
        proxy.cut_after(3, towards=[Direction.SERVER])
        client.say(b"12345")
        await eventually(lambda: proxy.fired["cut_after"])
    await eventually(lambda: echo.ended == 1)
    assert bytes(echo.heard) == b"hello123"
    async with connected(proxy) as second:
        second.say(b"abcdef")
        await eventually(lambda: proxy.fired["cut_after"] == 2)


@pytest.mark.parametrize("pieces", [(b"one COMMIT two",), (b"one COM", b"MIT two")])
async def test_a_pattern_is_withheld_where_it_passes(
    proxy: TcpProxy, echo: Echo, pieces: tuple[bytes, ...]
) -> None:
    strike = proxy.strike(b"COMMIT", towards=Direction.CLIENT, action="silence")
    async with talking(proxy) as client:
        for piece in pieces:
            client.say(piece)
            await eventually(partial(echo.heard.endswith, piece))
        await asyncio.wait_for(strike.struck.wait(), 60)
        assert await client.hear(4) == b"one "
        before = 3 if len(pieces) > 1 else 0
        assert await client.hear(before) == b"COM"[:before]
        assert await client.hears_nothing()
        proxy.mend()
        assert await client.is_reset()
    assert (strike.hits, proxy.fired["strike"]) == (1, 1)


async def test_a_strike_resets_as_often_as_asked_and_then_lets_pass(proxy: TcpProxy) -> None:
    strike = proxy.strike(b"COMMIT", towards=Direction.SERVER, times=2)
    for _ in range(2):
        async with talking(proxy) as client:
            client.say(b"COMMIT")
            assert await client.is_reset()
    async with talking(proxy) as client:
        client.say(b"COMMIT")
        assert await client.hear(6) == b"COMMIT"
    assert strike.hits == 2
