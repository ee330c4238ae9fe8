"""Requests whose answers are read whole: connections are used again, none is left open, and a broken answer is an error."""

import asyncio
import gc
from collections.abc import AsyncIterator

import httpx
import pytest

from chassis.testing import eventually
from client import Address, RefusedError, UnchangedError, UnreachableError
from client.connections import AsyncService, Request, etag_of
from console.service_clients import SharedTransport

STEPS = 40
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: 1\r\n\r\n{}"


class Service:
    """Answers each request with the next of its answers, in pieces; None ends the connection."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: list[list[bytes] | None] = []
        self.requests: list[bytes] = []
        self.connections = 0
        self.open = 0
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.requests.append(head)
                answer = self.answers.pop(0) if self.answers else [ANSWER]
                if answer is None:
                    return
                for part in answer:
                    await self.goes_on.wait()
                    writer.write(part)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    found = Service()
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/things?q=tea+time"
    yield found
    server.close()


@pytest.fixture
async def transport() -> AsyncIterator[SharedTransport]:
    found = SharedTransport(
        limits=httpx.Limits(max_connections=2, max_keepalive_connections=2, keepalive_expiry=60)
    )
    yield found
    await found.aclose()


def request(service: Service, *, seconds: float = 60.0, **more: object) -> httpx.Request:
    told = {"timeout": httpx.Timeout(seconds).as_dict(), "whole_answer": True}
    return httpx.Request("GET", service.url, extensions=told, **more)  # type: ignore[arg-type]


async def ask(transport: SharedTransport, service: Service, *, seconds: float = 60.0) -> httpx.Response:
    return await transport.handle_async_request(request(service, seconds=seconds))


async def steps(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_connection_is_used_again_and_two_at_once_need_two(
    service: Service, transport: SharedTransport
) -> None:
    for _ in range(3):
        answer = await ask(transport, service)
        assert (answer.status_code, answer.json(), answer.headers["etag"]) == (200, {}, "1")
    assert service.connections == 1
    assert service.requests[0].startswith(b"GET /v1/things?q=tea+time HTTP/1.1\r\nHost: 127.0.0.1")
    answers = await asyncio.gather(*(ask(transport, service) for _ in range(5)))
    assert [each.status_code for each in answers] == [200] * 5
    # No more than the pool may have.
    assert service.connections == 2


async def test_an_answer_comes_in_pieces_without_a_length_or_without_a_body(
    service: Service, transport: SharedTransport
) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    service.answers = [
        [chunked[n : n + 1] for n in range(len(chunked))],
        [b"HTTP/1.1 304 Not Modified\r\nETag: 2\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"],
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end"],
    ]
    assert (await ask(transport, service)).text == "abcde"
    assert (await ask(transport, service)).status_code == 304
    assert service.connections == 1
    assert (await ask(transport, service)).text == "x"
    service.answers.append(None)
    task = asyncio.create_task(ask(transport, service))
    await eventually(lambda: len(service.requests) == 4)
    assert service.connections == 2
    task.cancel()


async def test_a_broken_answer_is_an_error_and_ends_the_connection(
    service: Service, transport: SharedTransport
) -> None:
    for broken in (
        [b"nothing of HTTP\r\n\r\n"],
        [b"HTTP/1.1 100 Continue\r\n\r\n"],
        None,
    ):
        service.answers = [broken]
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)) as refused:
            await ask(transport, service)
        assert str(refused.value.request.url) == service.url
        await eventually(lambda: service.open == 0)
    assert (await ask(transport, service)).status_code == 200


async def test_a_connection_that_the_service_ends_is_not_used_again(
    service: Service, transport: SharedTransport
) -> None:
    assert (await ask(transport, service)).status_code == 200
    service.answers = [[ANSWER, b"what nobody has asked for"]]
    assert (await ask(transport, service)).status_code == 200
    await eventually(lambda: service.open == 0)
    assert (await ask(transport, service)).status_code == 200
    assert service.connections == 2


async def test_a_silent_service_is_not_waited_for_and_a_slow_one_is(
    service: Service, transport: SharedTransport
) -> None:
    service.goes_on.clear()
    with pytest.raises(httpx.ReadTimeout):
        await ask(transport, service, seconds=0.05)
    # Of three, one waits for a place.
    asked = [asyncio.create_task(ask(transport, service)) for _ in range(2)]
    await eventually(lambda: service.connections == 3)
    with pytest.raises(httpx.PoolTimeout):
        await ask(transport, service, seconds=0.05)
    service.goes_on.set()
    assert [each.status_code for each in await asyncio.gather(*asked)] == [200, 200]


async def test_a_header_that_would_begin_another_is_not_sent(
    service: Service, transport: SharedTransport
) -> None:
    for value in ("a\r\nb: c", "a\nb", "a\0"):
        with pytest.raises(httpx.LocalProtocolError):
            await transport.handle_async_request(request(service, headers={"Idempotency-Key": value}))
    assert service.requests == []


async def test_nothing_answers_at_the_port(service: Service, transport: SharedTransport) -> None:
    service.url = "http://127.0.0.1:1/"
    with pytest.raises(httpx.ConnectError):
        await ask(transport, service)


@pytest.mark.extended
async def test_none_is_left_open_whenever_a_request_is_cancelled_or_the_process_ends(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda told: lost.append(repr(told.exc_value)))
    for after in range(STEPS):
        for ends in (True, False):
            transport = SharedTransport(limits=httpx.Limits())
            task = asyncio.create_task(ask(transport, service))
            await steps(after)
            if ends:
                await transport.aclose()
                with pytest.raises(httpx.ConnectError, match="the process is ending"):
                    await ask(transport, service)
            else:
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await transport.aclose()
            await eventually(lambda: service.open == 0)
            del transport, task
            gc.collect()
    assert lost == []


class Things(AsyncService):
    service = "things"

    async def read(self, path: str = "/v1/things", **query: object) -> dict[str, object]:
        found: dict[str, object] = await self._json(
            Request("GET", path, query, {"X-One": "1", "X-None": None})
        )
        return found


async def test_a_client_asks_without_the_objects_of_httpx(
    service: Service, transport: SharedTransport
) -> None:
    origin = service.url.partition("/v1/")[0]
    things = Things(Address(f"{origin}/under/", "a-key"), transport=transport, timeout=60)
    document = '{"name": "Café"}'.encode()
    head = b'HTTP/1.1 200 OK\r\neTag: "7"\r\nContent-Length: %d\r\n\r\n' % len(document)
    service.answers = [[head + document]]
    answer = await things.read("/v1/a%2Fb", q="tea & ü", id=[1, 2], none=None, odd="\ud800")
    assert (answer, etag_of(answer)) == ({"name": "Café"}, '"7"')
    host = origin.removeprefix("http://").encode()
    assert service.requests == [
        b"GET /under/v1/a%2Fb?q=tea+%26+%C3%BC&id=1&id=2&odd=%3F HTTP/1.1\r\n"
        b"Host: " + host + b"\r\nx-service-key: a-key\r\nX-One: 1\r\n\r\n"
    ]
    assert service.connections == 1


async def test_a_client_tells_what_went_wrong_as_it_does_with_httpx(
    service: Service, transport: SharedTransport
) -> None:
    things = Things(Address(service.url.partition("/v1/")[0], "a-key"), transport=transport, timeout=60)
    problem = b'{"detail": "there is no such thing", "code": "unknown_thing"}'
    service.answers = [
        [b"HTTP/1.1 304 Not Modified\r\n\r\n"],
        [b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(problem) + problem],
        [b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"],
        [b"HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n"],
        None,
    ]
    with pytest.raises(UnchangedError):
        await things.read()
    with pytest.raises(RefusedError, match="there is no such thing") as refused:
        await things.read()
    assert (refused.value.status, refused.value.code) == (404, "unknown_thing")
    with pytest.raises(RefusedError, match="Bad Gateway"):
        await things.read()
    with pytest.raises(RefusedError, match="599"):
        await things.read()
    for broken in ("/v1/things", "/v1/a b", "/v1/ü"):
        with pytest.raises(UnreachableError):
            await things.read(broken)
    await transport.aclose()
    with pytest.raises(UnreachableError, match="ending"):
        await things.read()
