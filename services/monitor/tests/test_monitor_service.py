"""The whole service between a real broker and a real database: from poison to resolved."""

import json
import os
import sys
from asyncio import create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from pydantic import SecretStr
from yarl import URL

from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublish
from messaging import Context, Record, Service, ServiceSettings, Unprocessable, on_each
from messaging.testing import Broker
from monitor.app import build
from monitor.settings import Settings
from tests.fixtures.memory import memory_of

KEY = "test-service-key-0123456789"
MakeDatabase = Callable[..., Awaitable[str]]


class Publishing:
    """A handler that refuses everything until it is fixed."""

    def __init__(self) -> None:
        self.fixed = False
        self.handled: list[DomainMessage[ContentPublish]] = []

    async def handle(self, message: DomainMessage[ContentPublish], _: Context) -> Record | None:
        if not self.fixed:
            raise Unprocessable("unknown target 'site': add it to the settings")
        self.handled.append(message)
        return None


@asynccontextmanager
async def publisher(make_database: MakeDatabase, url: str, handler: Publishing) -> AsyncIterator[Service]:
    settings = ServiceSettings(
        rabbitmq_url=SecretStr(url),
        database_url=SecretStr(await make_database()),
        service_key=SecretStr(KEY),
        http_port=0,
    )
    service = Service("publisher", settings, CATALOGUE)
    service.consume("publisher-commands", on_each(handler.handle, ContentPublish))
    async with running(service):
        yield service


@pytest.fixture
async def api(make_database: MakeDatabase, broker_urls: dict[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    """The API of a running monitor."""
    settings = Settings(
        rabbitmq_url=SecretStr(broker_urls["monitor"]),
        database_url=SecretStr(await make_database("monitor")),
        service_key=SecretStr(KEY),
        http_port=0,
    )
    async with (
        running(build(settings)) as service,
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{service.port}",
            headers={"X-Service-Key": KEY},
            trust_env=False,
            timeout=60,
        ) as client,
    ):
        yield client


async def listed(api: httpx.AsyncClient, **params: str) -> list[dict[str, Any]]:
    answer = await api.get("/v1/dead-letters", params=params)
    answer.raise_for_status()
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_a_poison_message_dies_once_is_replayed_dies_again_and_is_resolved_once_fixed(
    api: httpx.AsyncClient,
    make_database: MakeDatabase,
    rabbitmq_url: str,
    broker_urls: dict[str, str],
    new_envelope: Callable[..., bytes],
) -> None:
    event_id = uuid4()
    handler = Publishing()
    async with (
        publisher(make_database, broker_urls["publisher"], handler),
        Broker.connected(rabbitmq_url) as broker,
        Broker.connected(broker_urls["orchestrator"]) as orchestrator,
    ):
        # Several services may send the publisher commands: an unsigned one could be anybody's.
        user = URL(broker_urls["orchestrator"]).user
        await orchestrator.publish("commands", "publisher-commands", new_envelope(event_id), user_id=user)
        [dead] = await eventually(lambda: listed(api))
        assert (dead["event_id"], dead["queue"], dead["reason"], dead["attempts"], dead["service"]) == (
            str(event_id),
            "publisher-commands",
            "permanent",
            1,
            "publisher",
        )
        assert "test_monitor_service.py" in dead["frame"]
        announcement = json.loads((await broker.take("orchestrator-events")).body)
        assert announcement["type"] == "dead_letter.recorded"
        assert announcement["correlation_id"] == "chain-1"
        assert announcement["payload"]["brand_slug"] == "daily-grind"

        (await api.post(f"/v1/dead-letters/{dead['id']}/replay")).raise_for_status()
        [again] = await eventually(lambda: listed(api, state="open"))
        assert (again["replay_of"], again["correlation_id"]) == (dead["id"], "chain-1")
        [old] = await listed(api, state="resolved")
        assert (old["id"], old["replaced_by"]) == (dead["id"], again["id"])

        handler.fixed = True
        (await api.post(f"/v1/dead-letters/{again['id']}/replay")).raise_for_status()
        await eventually(lambda: _is_resolved(api, again["id"]))
    [message] = handler.handled
    assert (message.correlation_id, message.causation_id) == ("chain-1", UUID(again["event_id"]))
    assert await listed(api, state="open") == []


async def _is_resolved(api: httpx.AsyncClient, dead: str) -> bool:
    letter = (await api.get(f"/v1/dead-letters/{dead}")).json()
    return bool(letter["state"] == "resolved" and letter["resolution"].startswith("handled as"))


@pytest.mark.extended
@pytest.mark.parametrize("body", [b"\xff\x00garbage", b"", b'{"half": '])
async def test_garbage_in_a_queue_is_one_recorded_dead_letter(
    api: httpx.AsyncClient,
    make_database: MakeDatabase,
    rabbitmq_url: str,
    broker_urls: dict[str, str],
    body: bytes,
) -> None:
    async with (
        publisher(make_database, broker_urls["publisher"], Publishing()),
        Broker.connected(rabbitmq_url) as broker,
    ):
        await broker.publish("commands", "publisher-commands", body, headers={"n\x00": {"text": ["a\x00"]}})
        [dead] = await eventually(lambda: listed(api))
        assert (dead["reason"], dead["event_id"], dead["replayable"]) == ("not_an_envelope", None, False)
        assert (await api.post(f"/v1/dead-letters/{dead['id']}/replay")).status_code == 422
        await eventually(lambda: _is_empty(broker, "publisher-commands-dlq"))
    assert len(await listed(api)) == 1


async def _is_empty(broker: Broker, queue: str) -> bool:
    return await broker.depth(queue) == 0


async def test_strange_headers_in_a_dead_letter_queue_do_not_stop_it(
    api: httpx.AsyncClient, rabbitmq_url: str, new_envelope: Callable[..., bytes]
) -> None:
    strange: dict[str, Any] = {
        "failure-reason": "no such reason",
        "failure-first-at": "0001-01-01T00:00:00+23:59",
        "failure-last-at": "9999-12-31T23:59:59-23:59",
        "failure-attempts": 2**40,
        "failure-message": "a\x00b",
        "replay-of": "no uuid",
    }
    async with Broker.connected(rabbitmq_url) as broker:
        await broker.publish("dead-letters", "orchestrator-events", new_envelope(), headers=strange)
        [dead] = await eventually(lambda: listed(api))
        assert dead["queue"] == "orchestrator-events"
        await broker.publish("dead-letters", "orchestrator-events", new_envelope())
        await eventually(lambda: _count(api, 2))


async def _count(api: httpx.AsyncClient, wanted: int) -> bool:
    return len(await listed(api)) == wanted


@pytest.mark.extended
async def test_the_idle_process_is_small_and_stops_when_asked(
    make_database: MakeDatabase,
    broker_urls: dict[str, str],
    free_port: Callable[[], int],
    as_in_an_image: dict[str, str],
    resting_memory: int,
) -> None:
    port = free_port()
    environment = os.environ | {
        "RABBITMQ_URL": broker_urls["monitor"],
        "DATABASE_URL": await make_database("monitor"),
        "SERVICE_KEY": KEY,
        "HTTP_PORT": str(port),
        "LOG_LEVEL": "error",
        **as_in_an_image,
    }
    process = await create_subprocess_exec(sys.executable, "-m", "monitor", env=environment)
    try:
        async with httpx.AsyncClient(trust_env=False) as client:

            async def ready() -> bool:
                try:
                    return (await client.get(f"http://127.0.0.1:{port}/health/ready")).status_code == 200
                except httpx.TransportError:
                    return False

            await eventually(ready)
        assert memory_of(process.pid) < resting_memory
        process.terminate()
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
