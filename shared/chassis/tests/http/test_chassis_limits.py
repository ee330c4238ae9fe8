"""Clients that keep a server waiting, over real sockets: careless, slow and malicious ones."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message

from chassis.http import bodies
from chassis.http.bodies import WaitingBodies
from chassis.http.limits import MAX_HEAD_BYTES, Limits, RequestLimit
from chassis.http.server import server
from chassis.testing import eventually

QUICK = Limits(connections=16, head_seconds=0.4, body_seconds=0.6, read_seconds=0.3, idle_seconds=1)
PATIENT = Limits(connections=16)
BRISK = replace(PATIENT, idle_seconds=1)
"""Ends a connection soon after an answer, and gives a busy machine time before it."""
LARGE = 24 * 1024 * 1024
"""More than what the kernel buffers for a connection."""


class Site:
    """Served under limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.may_answer = asyncio.Event()
        self.in_hand = 0
        self.disconnected = 0
        routes = [
            Route("/echo", self._echo, methods=["POST"]),
            Route("/deaf", self._page, methods=["POST"]),
            Route("/headers", self._headers, methods=["POST"]),
            Route("/page", self._page),
            Route("/patient", self._patient),
            Route("/large", self._large),
            Route("/stream", self._stream),
            Route("/health/live", self._page),
        ]
        self.app = RequestLimit(Starlette(routes=routes), self.limits.requests)
        self.server: uvicorn.Server
        self.port = 0

    async def _echo(self, request: Request) -> Response:
        try:
            return Response(await request.body())
        except ClientDisconnect:
            self.disconnected += 1
            raise

    async def _headers(self, request: Request) -> Response:
        await request.body()
        return JSONResponse(dict(request.headers))

    async def _page(self, _: Request) -> Response:
        return JSONResponse("page")

    async def _patient(self, _: Request) -> Response:
        self.in_hand += 1
        await self.may_answer.wait()
        return JSONResponse("at last")

    async def _large(self, _: Request) -> Response:
        return Response(b"x" * LARGE)

    async def _stream(self, _: Request) -> Response:
        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(LARGE // 65536):
                yield b"x" * 65536

        return StreamingResponse(chunks())

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)

    async def get(self, path: str) -> httpx.Response:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", trust_env=False) as client:
            return await client.get(path)


Start = Callable[[Limits], Awaitable[Site]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    started: list[tuple[Site, asyncio.Task[None]]] = []
    wrong: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))

    async def start(limits: Limits) -> Site:
        site = Site(limits)
        site.server = server(site.app, "127.0.0.1", 0, limits=limits)
        started.append((site, asyncio.create_task(site.server.serve())))
        await eventually(lambda: site.server.started)
        site.port = site.server.servers[0].sockets[0].getsockname()[1]
        return site

    yield start
    for site, task in started:
        site.may_answer.set()
        site.server.should_exit = True
        await task
    assert wrong == []


class Client:
    """Writes what it likes, reads when it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer

    def send(self, text: str) -> None:
        self._writer.write(text.encode())

    async def drip(self, text: str) -> None:
        """A character now and then, for ever."""
        with suppress(ConnectionError):
            while True:
                self.send(text)
                await self._writer.drain()
                await asyncio.sleep(0.05)

    async def all(self) -> str:
        """The bytes until the server closes."""
        received = b""
        async with asyncio.timeout(60):
            with suppress(ConnectionError):
                while piece := await self.reader.read(65536):
                    received += piece
        return received.decode()

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


Connect = Callable[..., Awaitable[Client]]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    clients: list[Client] = []

    async def connect(site: Site, text: str = "") -> Client:
        # Reads little ahead, so that what is not read stays with the server.
        client = Client(*await asyncio.open_connection("127.0.0.1", site.port, limit=1024))
        clients.append(client)
        client.send(text)
        return client

    yield connect
    for client in clients:
        await client.close()


HALF_A_HEAD = "GET /page HTTP/1.1\r\nHost: x\r\nX-Long: "
HALF_A_BODY = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc"


@pytest.mark.parametrize("said", ["", "G", HALF_A_HEAD])
async def test_requests_that_do_not_begin_are_closed(start: Start, connect: Connect, said: str) -> None:
    site = await start(replace(QUICK, connections=100))
    clients = [await connect(site, said) for _ in range(60)]
    assert (await site.get("/page")).status_code == 200
    assert {await client.all() for client in clients} == {""}
    await eventually(lambda: site.connections == 0)


async def test_headers_that_drip_do_not_keep_a_connection(start: Start, connect: Connect) -> None:
    site = await start(QUICK)
    client = await connect(site, HALF_A_HEAD)
    dripping = asyncio.create_task(client.drip("x"))
    assert await client.all() == ""
    await dripping


@pytest.mark.parametrize("dripping", [False, True])
async def test_a_body_that_does_not_end_is_told_so(start: Start, connect: Connect, dripping: bool) -> None:
    site = await start(QUICK)
    client = await connect(site, HALF_A_BODY)
    drip = asyncio.create_task(client.drip("x")) if dripping else None
    answer = await client.all()
    assert "408 Request Timeout" in answer
    assert (
        '"status": 408, "code": "timed_out", "detail": "the request was not there within 0.6 seconds; send it again"}'
        in answer
    )
    assert "application/problem+json" in answer
    assert "x-content-type-options: nosniff" in answer.lower()
    await eventually(lambda: site.disconnected == 1 and site.connections == 0)
    if drip is not None:
        await drip


async def test_a_body_that_nobody_waits_for_does_not_keep_a_connection(
    start: Start, connect: Connect
) -> None:
    site = await start(QUICK)
    client = await connect(site, HALF_A_BODY.replace("/echo", "/deaf"))
    dripping = asyncio.create_task(client.drip("x"))
    assert "200 OK" in await client.all()
    await dripping


@pytest.mark.parametrize("path", ["/large", "/stream"])
async def test_an_answer_that_is_not_read_does_not_keep_a_connection(
    start: Start, connect: Connect, path: str
) -> None:
    site = await start(QUICK)
    client = await connect(site, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await client.reader.readexactly(12) == b"HTTP/1.1 200"
    await eventually(lambda: site.connections == 0)
    await eventually(lambda: not site.server.server_state.tasks)
    assert len(await client.all()) < LARGE


@pytest.mark.extended
@pytest.mark.parametrize("path", ["/large", "/stream"])
async def test_whoever_reads_slowly_gets_all_of_it(start: Start, connect: Connect, path: str) -> None:
    # So much that no pause of a busy machine counts as one of the client; the whole takes longer than a request may.
    site = await start(replace(QUICK, read_seconds=30.0))
    client = await connect(site, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    size = 0
    began = asyncio.get_running_loop().time()
    while piece := await client.reader.read(65536):
        size += len(piece)
        if size < LARGE / 2:
            await asyncio.sleep(0.02)
    assert size > LARGE
    assert asyncio.get_running_loop().time() - began > 2 * QUICK.head_seconds


async def test_the_application_may_take_longer_than_clients(start: Start, connect: Connect) -> None:
    site = await start(QUICK)
    client = await connect(
        site, "GET /patient HTTP/1.1\r\nHost: x\r\n\r\nGET /page HTTP/1.1\r\nHost: x\r\n\r\n"
    )
    await eventually(lambda: site.in_hand == 1)
    await asyncio.sleep(2 * QUICK.body_seconds)  # what is waited for is that nothing happens
    site.may_answer.set()
    answers = await client.all()
    assert answers.index("at last") < answers.index('"page"')


async def test_a_connection_between_two_requests_is_closed_after_a_while(
    start: Start, connect: Connect
) -> None:
    site = await start(BRISK)
    client = await connect(site, "GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
    assert '"page"' in await client.all()


async def test_with_all_connections_taken_health_is_told(start: Start, connect: Connect) -> None:
    site = await start(PATIENT)
    working = await connect(site, "GET /patient HTTP/1.1\r\nHost: x\r\n\r\n")
    await eventually(lambda: site.in_hand == 1)
    clients = [await connect(site, HALF_A_HEAD) for _ in range(3 * PATIENT.connections)]
    assert (await site.get("/health/live")).status_code == 200
    assert (await site.get("/page")).status_code == 200
    assert site.connections <= PATIENT.connections
    # Those that waited longest gave way; the one with a request in hand did not.
    for client in clients[: 2 * PATIENT.connections]:
        assert await client.all() == ""
    site.may_answer.set()
    assert await working.reader.readexactly(12) == b"HTTP/1.1 200"


async def test_with_all_requests_taken_others_are_asked_to_wait_and_health_is_told(
    start: Start, connect: Connect
) -> None:
    site = await start(PATIENT)
    for _ in range(PATIENT.requests):
        await connect(site, "GET /patient HTTP/1.1\r\nHost: x\r\n\r\n")
    await eventually(lambda: site.in_hand == PATIENT.requests)
    refused = await site.get("/page")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert "try again in a few seconds" in refused.json()["detail"]
    assert (await site.get("/health/live")).status_code == 200
    site.may_answer.set()
    await eventually(lambda: not site.server.server_state.tasks)
    assert (await site.get("/page")).status_code == 200


A_BODY_TO_COME = "POST /{} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"


@pytest.mark.extended
async def test_bodies_that_never_come_take_no_place_from_others(start: Start, connect: Connect) -> None:
    site = await start(replace(PATIENT, connections=64, body_seconds=60))
    waiting = [await connect(site, A_BODY_TO_COME.format("echo")) for _ in range(2 * site.limits.connections)]
    for _ in range(10):
        assert (await site.get("/page")).status_code == 200
    # Whoever holds the places loses the oldest of them.
    answer = await waiting[0].all()
    assert answer.startswith("HTTP/1.1 503")
    assert "retry-after: 5" in answer
    assert "connection: close" in answer
    assert "this one has waited longest" in answer
    assert (await site.get("/page")).status_code == 200
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{site.port}", trust_env=False) as client:
        assert (await client.post("/echo", content=b"x" * 200_000)).content == b"x" * 200_000


async def test_an_answer_does_not_wait_for_a_body_that_nobody_wants(start: Start, connect: Connect) -> None:
    """It is sent at once; what still comes is thrown away, and then the connection is closed."""
    site = await start(PATIENT)
    client = await connect(site, A_BODY_TO_COME.format("deaf"))
    head = await asyncio.wait_for(client.reader.readuntil(b"\r\n\r\n"), 60)
    assert b"connection: close" in head
    assert await client.reader.readexactly(6) == b'"page"'
    client.send("x" * 1_000_000)
    assert await client.all() == ""


async def test_an_answer_before_a_body_that_is_there_keeps_the_connection(
    start: Start, connect: Connect
) -> None:
    site = await start(PATIENT)
    request = "POST /deaf HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    client = await connect(site, 2 * request)
    for _ in range(2):
        head = await asyncio.wait_for(client.reader.readuntil(b"\r\n\r\n"), 60)
        assert b"connection: close" not in head
        await client.reader.readexactly(6)


async def test_a_client_that_asks_first_is_not_asked_for_a_body_that_nobody_wants(
    start: Start, connect: Connect
) -> None:
    site = await start(PATIENT)
    head = A_BODY_TO_COME.format("deaf").removesuffix("\r\n") + "Expect: 100-continue\r\n\r\n"
    answer = await (await connect(site, head)).all()
    assert answer.startswith("HTTP/1.1 200")
    assert answer.endswith('"page"')


async def test_whoever_has_most_bodies_to_come_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "YOUNG_SECONDS", 0.0)
    places = WaitingBodies(4, 3)
    never = asyncio.Event()

    async def receive() -> Message:
        await never.wait()
        raise AssertionError

    async def wait(network: str) -> str:
        try:
            await places.wait(network, receive)
        except HTTPException as refused:
            return f"{network} {refused.status_code}"
        raise AssertionError

    tasks = []
    for network in ("a", "b", "b", "b", "c"):
        tasks.append(asyncio.create_task(wait(network)))
        await eventually(lambda: len(places) >= min(len(tasks), 4))
    done, _ = await asyncio.wait(tasks, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    assert {task.result() for task in done} == {"b 503"}
    await eventually(lambda: len(places) == 4)
    assert not tasks[0].done()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(places) == 0


async def test_what_is_no_http_is_told_so_once(start: Start, connect: Connect) -> None:
    site = await start(BRISK)
    for text in ("GET\r\n\r\n", "\x00\x01\r\n\r\n", "GET /page HTTP/1.1\r\nHost: x\r\nX: " + "x" * 70_000):
        answer = await (await connect(site, text)).all()
        assert "400 Bad Request" in answer
        assert '"status": 400, "code": "malformed_request", "detail": "this is not HTTP' in answer
        assert "x-content-type-options: nosniff" in answer.lower()
    chunked = "POST /{} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    early = await connect(site, chunked.format("deaf"))
    assert await early.reader.readexactly(12) == b"HTTP/1.1 200"
    early.send("no chunk\r\n")
    assert "400" not in await early.all()
    assert "400 Bad Request" in await (await connect(site, chunked.format("echo") + "no chunk\r\n")).all()
    await eventually(lambda: site.connections == 0)


@pytest.mark.parametrize(
    "said",
    [
        "GET /page HTTP/1.1\r\n\r\n",
        "GET /page HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET /page HTTP/1.1\r\nHost: x\r\n folded: x\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "GET /page HTTP/1.1\nHost: x\n\n",
        "GET /pägé HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
async def test_what_others_on_the_way_might_read_otherwise_is_refused(
    start: Start, connect: Connect, said: str
) -> None:
    answer = await (await connect(await start(BRISK), said)).all()
    assert answer.startswith("HTTP/1.1 400 Bad Request\r\n")
    assert answer.count("HTTP/1.1") == 1


@pytest.mark.parametrize(
    "head",
    [
        f"GET /{'x' * 70_000} HTTP/1.1\r\nHost: x\r\n\r\n",
        f"GET /page HTTP/1.1\r\nHost: x\r\nX: {'x' * 70_000}\r\n\r\n",
        f"GET /page HTTP/1.1\r\nHost: x\r\n{'X: x' * 20_000}",
        "GET /page HTTP/1.1\r\nHost: x\r\n" + "X: x\r\n" * 20_000,
    ],
)
async def test_a_head_that_is_too_large_is_refused_whole_or_not(
    start: Start, connect: Connect, head: str
) -> None:
    answer = await (await connect(await start(BRISK), head)).all()
    assert "400 Bad Request" in answer
    assert f"its head is larger than {MAX_HEAD_BYTES} bytes" in answer


async def test_trailers_add_nothing_to_the_headers_and_are_bounded(start: Start, connect: Connect) -> None:
    site = await start(BRISK)
    chunked = "POST /headers HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"
    answered = await (await connect(site, f"{chunked}X-Late: 1\r\n\r\n")).all()
    assert "200 OK" in answered
    assert "x-late" not in answered
    assert "400 Bad Request" in await (await connect(site, f"{chunked}X-Late: {'x' * 1_000_000}")).all()


async def test_what_follows_a_request_in_hand_and_is_no_http_waits_for_its_answer(
    start: Start, connect: Connect
) -> None:
    site = await start(BRISK)
    client = await connect(site, "GET /patient HTTP/1.1\r\nHost: x\r\n\r\nno HTTP\r\n\r\n")
    await eventually(lambda: site.in_hand == 1)
    client.send("x" * 100_000)
    site.may_answer.set()
    answer = await client.all()
    assert answer.startswith("HTTP/1.1 200 OK")
    assert answer.endswith('"at last"')


async def test_many_requests_at_once_are_answered_in_their_order(start: Start, connect: Connect) -> None:
    site = await start(BRISK)
    bodies = [f"body {number}" for number in range(50)]
    client = await connect(
        site,
        "".join(
            f"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {len(each)}\r\n\r\n{each}" for each in bodies
        ),
    )
    answers = await client.all()
    assert answers.count("200 OK") == len(bodies)
    places = [answers.index(f"\r\n\r\n{each}") for each in bodies]
    assert places == sorted(places)


async def test_a_request_to_speak_something_else_is_answered_as_if_it_were_none(
    start: Start, connect: Connect
) -> None:
    site = await start(BRISK)
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n\r\n"
    client = await connect(site, f"GET /page HTTP/1.1\r\nHost: x\r\n{upgrade}")
    answer = await client.all()
    assert "200 OK" in answer
    assert "connection: close" in answer


async def test_a_client_that_waits_to_be_told_to_go_on_is_told(start: Start, connect: Connect) -> None:
    site = await start(BRISK)
    client = await connect(
        site, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    )
    assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.send("abc")
    assert (await client.all()).endswith("abc")
