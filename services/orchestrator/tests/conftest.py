"""Fixtures of the orchestrator's tests: its database, and events as the router gets them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.http import server
from envelope import DomainMessage, Payload, new_event_id
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.api import RequestAuthenticator, http_api
from tests.fixtures.models import scripted_model

SERVICE_KEY = "test-service-key-0123456789"


@asynccontextmanager
async def _database_at(url: str) -> AsyncIterator[Database]:
    """No broker is connected: messages stay in the outbox, where tests see them."""
    connections = Connections(url, name="orchestrator test", size=8)
    await connections.open()
    try:
        relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
        yield Database(connections, relay, "orchestrator", CATALOGUE)
    finally:
        await connections.close()


@pytest.fixture
async def orchestrator_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    """The URL of the orchestrator's database, migrated."""
    return await make_database("orchestrator")


@pytest.fixture
def orchestrator_database_at() -> Callable[[str], AbstractAsyncContextManager[Database]]:
    return _database_at


@pytest.fixture
async def orchestrator_database(orchestrator_url: str) -> AsyncIterator[Database]:
    async with _database_at(orchestrator_url) as database:
        yield database


@asynccontextmanager
async def _served(database: Database) -> AsyncIterator[int]:
    """The API on a free port, which is yielded."""
    app = http_api(database, RequestAuthenticator(database, ServiceKey(SecretStr(SERVICE_KEY))))
    api_server = server.server(app, "127.0.0.1", 0)
    serving = asyncio.create_task(api_server.serve())
    try:
        async with asyncio.timeout(60):
            while not api_server.started:  # noqa: ASYNC110  (the server has no event for it)
                await asyncio.sleep(0.01)
        yield api_server.servers[0].sockets[0].getsockname()[1]
    finally:
        api_server.should_exit = True
        await serving


@pytest.fixture
async def api(orchestrator_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the service key, on a server of the API."""
    async with (
        _served(orchestrator_database) as port,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", headers={"X-Service-Key": SERVICE_KEY}, timeout=60
        ) as client,
    ):
        yield client


@pytest.fixture
def message_of() -> Callable[..., DomainMessage[Any]]:
    """Wraps a payload as it arrives: `message_of(payload, correlation_id)`."""

    def make(payload: Payload, correlation_id: str | None = None) -> DomainMessage[Any]:
        return DomainMessage(
            event_id=new_event_id(),
            type=CATALOGUE.type_of(payload).name,
            source=CATALOGUE.type_of(payload).producers[0],
            timestamp=datetime.now(UTC),
            correlation_id=correlation_id,
            payload=payload,
        )

    return make


@pytest.fixture
def live_api(orchestrator_url: str) -> Iterator[httpx.Client]:
    """A client for tests that are no coroutines: the API runs in a thread with a loop of its own."""
    started: Future[int] = Future()
    stop = threading.Event()

    async def serve() -> None:
        async with _database_at(orchestrator_url) as database, _served(database) as port:
            started.set_result(port)
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    try:
        base_url = f"http://127.0.0.1:{started.result(60)}"
        with httpx.Client(base_url=base_url, headers={"X-Service-Key": SERVICE_KEY}, timeout=60) as client:
            yield client
    finally:
        stop.set()
        thread.join(60)


class ResearchStandIn(ThreadingHTTPServer):
    """Gives every request the prepared answer; remembers the requests."""

    daemon_threads = True
    status = 200
    headers: dict[str, str] = {}  # noqa: RUF012  (replaced, never changed)
    body = b""
    asked: tuple[str, str | None] = ("", None)
    silent = threading.Event()

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.silent = threading.Event()
        self.silent.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class _Answer(BaseHTTPRequestHandler):
    server: ResearchStandIn

    def do_GET(self) -> None:  # the name that http.server calls
        self.server.asked = (self.path, self.headers.get("X-Service-Key"))
        self.server.silent.wait(60)
        with suppress(OSError):
            self.send_response(self.server.status)
            for name, value in self.server.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(self.server.body)))
            self.end_headers()
            self.wfile.write(self.server.body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def research() -> Iterator[ResearchStandIn]:
    with ResearchStandIn() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.silent.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def model() -> Iterator[scripted_model.ScriptedModel]:
    with scripted_model.serving() as server:
        yield server
