"""What the monitor's tests share: its database, dead letters in it, and its API over real HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.http.server import server
from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from messaging import Database, DeadLetter, Reason
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from monitor.dead_letters import handlers
from monitor.dead_letters.operations import Operations
from monitor.http_api import create_api

KEY = "test-service-key-0123456789"
STACK = (
    'Traceback (most recent call last):\n  File "/app/site-packages/messaging/runner.py", line 7, in run\n    x()\n'
    '  File "/app/publisher/handlers.py", line 41, in content_publish\n    raise Gone\nGone: 410\n'
)


def envelope(event_id: UUID | None = None, **changes: Any) -> bytes:
    document = {
        "event_id": str(event_id or new_event_id()),
        "type": "content.publish",
        "source": "orchestrator",
        "timestamp": "2026-01-02T03:04:05Z",
        "correlation_id": "chain-1",
        "payload": {"brand_slug": "daily-grind", "content_id": str(new_event_id()), "target": "site"},
    }
    return json.dumps(document | changes).encode()


def death(body: bytes | None = None, **changes: Any) -> DomainMessage[DeadLetter]:
    """A dead letter as the runtime hands it over."""
    body = envelope() if body is None else body
    try:
        head = json.loads(body)
    except ValueError:
        head = {}
    facts = {
        "dead_event_id": head.get("event_id"),
        "queue": "publisher-commands",
        "message_type": head.get("type"),
        "source": head.get("source"),
        "correlation_id": head.get("correlation_id"),
        "body": body,
        "headers": {"attempt": 5},
        "reason": Reason.EXHAUSTED if head else Reason.NOT_AN_ENVELOPE,
        "exception_type": "Gone",
        "detail": "410 from https://user:secret@site/",
        "stack": STACK,
        "attempts": 5,
        "service": "publisher",
        "first_failed_at": datetime(2026, 1, 2, 3, 5, tzinfo=UTC),
        "failed_at": datetime(2026, 1, 2, 3, 9, tzinfo=UTC),
        "replay_of": None,
    }
    return DomainMessage[DeadLetter](
        event_id=new_event_id(),
        type="dead_letter.received",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        correlation_id=head.get("correlation_id"),
        payload=DeadLetter.model_validate(facts | changes),
    )


@pytest.fixture
async def database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    """The monitor's migrated database. No broker is connected, so what is sent stays in the outbox to be seen."""
    connections = Connections(await make_database("monitor"), name="monitor test", size=8)
    await connections.open()
    try:
        yield Database(
            connections,
            Relay(connections, Publisher("amqp://127.0.0.1:1/", name="none")),
            "monitor",
            CATALOGUE,
        )
    finally:
        await connections.close()


Record = Callable[..., Awaitable[list[UUID]]]


@pytest.fixture
def record(database: Database) -> Record:
    """Records deaths in one batch; returns their ids."""

    async def record(*deaths: DomainMessage[DeadLetter]) -> list[UUID]:
        async with database.transaction() as tx:
            await handlers.record(deaths, tx)
        return [one.event_id for one in deaths]

    return record


@pytest.fixture
async def origin(database: Database) -> AsyncIterator[str]:
    """Address of the API, served over real HTTP."""
    app = create_api(database, Operations(database), ServiceKey(SecretStr(KEY)))
    serving = server(app, "127.0.0.1", 0)
    task = asyncio.create_task(serving.serve())
    async with asyncio.timeout(30):
        while not serving.started:  # noqa: ASYNC110 - uvicorn offers no event to wait for
            await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{serving.servers[0].sockets[0].getsockname()[1]}"
    serving.should_exit = True
    await task


@pytest.fixture
async def api(origin: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=origin, headers={"X-Service-Key": KEY}, trust_env=False, timeout=20
    ) as client:
        yield client


@pytest.fixture
def new_death() -> Callable[..., DomainMessage[DeadLetter]]:
    return death


@pytest.fixture
def new_envelope() -> Callable[..., bytes]:
    return envelope
