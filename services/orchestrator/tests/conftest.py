"""What the orchestrator's tests share: its database, and events as the router gets them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from envelope import DomainMessage, Payload, message_type_of, new_event_id
from messaging import Database, ServiceKey, http
from messaging.database import Connections
from messaging.publisher import Publisher
from messaging.relay import Relay
from orchestrator.http_api import http_api

SERVICE_KEY = "test-service-key-0123456789"


@pytest.fixture
async def orchestrator_database(
    make_database: Callable[[str], Awaitable[str]],
) -> AsyncIterator[Database]:
    """The orchestrator's migrated database. No broker is connected: what is sent stays in the outbox to be seen."""
    connections = Connections(await make_database("orchestrator"), name="orchestrator test", size=8)
    await connections.open()
    try:
        relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
        yield Database(connections, relay, "orchestrator")
    finally:
        await connections.close()


@pytest.fixture
async def api(orchestrator_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the service key, on a server of the API."""
    app = http_api(orchestrator_database, ServiceKey(SecretStr(SERVICE_KEY)))
    server = http.server(app, "127.0.0.1", 0)
    serving = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(10):
            while not server.started:
                await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", headers={"X-Service-Key": SERVICE_KEY}, timeout=30
        ) as client:
            yield client
    finally:
        server.should_exit = True
        await serving


@pytest.fixture
def message_of() -> Callable[..., DomainMessage[Any]]:
    """Wraps a payload as it arrives: `message_of(payload, correlation_id)`."""

    def make(payload: Payload, correlation_id: str | None = None) -> DomainMessage[Any]:
        return DomainMessage(
            event_id=new_event_id(),
            type=message_type_of(payload).name,
            source="test",
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
        connections = Connections(orchestrator_url, name="orchestrator test", size=4)
        await connections.open()
        database = Database(
            connections,
            Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none")),
            "orchestrator",
        )
        app = http_api(database, ServiceKey(SecretStr(SERVICE_KEY)))
        server = http.server(app, "127.0.0.1", 0)
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        started.set_result(server.servers[0].sockets[0].getsockname()[1])
        await asyncio.to_thread(stop.wait)
        server.should_exit = True
        await serving
        await connections.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    try:
        base_url = f"http://127.0.0.1:{started.result(20)}"
        with httpx.Client(base_url=base_url, headers={"X-Service-Key": SERVICE_KEY}, timeout=30) as client:
            yield client
    finally:
        stop.set()
        thread.join(10)


@pytest.fixture
async def orchestrator_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("orchestrator")
