"""The service as a process of its own, between a real broker and a real database."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import aio_pika
import httpx
import psutil
import pytest
from yarl import URL

from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ContentPublish
from tests.fixtures.databases import Roles


class Running:
    def __init__(
        self, process: Process, origin: str, channel: Any, orchestrator: tuple[Any, str | None]
    ) -> None:
        """`orchestrator`: a channel of that service's user, whose commands are believed, and who that is."""
        self.process = process
        self.origin = origin
        self._channel = channel
        self._orchestrator, self._user = orchestrator

    async def command(self, content_id: UUID, *, target: str = "site", event_id: UUID | None = None) -> UUID:
        command = DomainMessage[ContentPublish](
            event_id=event_id or new_event_id(),
            type="content.publish",
            source="orchestrator",
            timestamp=datetime.now(UTC),
            correlation_id="chain-1",
            payload=ContentPublish(brand_slug="daily-grind", content_id=content_id, target=target),
        )
        exchange = await self._orchestrator.get_exchange("commands", ensure=False)
        # Several services may send the publisher commands: an unsigned one could be anybody's.
        signed = aio_pika.Message(encode(command), user_id=self._user)
        await exchange.publish(signed, "publisher-commands")
        return command.event_id

    async def next_event(self) -> dict[str, Any]:
        queue = await self._channel.get_queue("orchestrator-events")
        async with asyncio.timeout(60), queue.iterator() as messages:
            async for message in messages:
                await message.ack()
                event: dict[str, Any] = json.loads(message.body)
                return event
        raise AssertionError("the queue was closed")


@pytest.fixture
async def service(
    make_database: Callable[..., Awaitable[str]],
    database_roles: Roles,
    rabbitmq_url: str,
    broker_urls: dict[str, str],
    orchestrator: Any,
    free_port: Callable[[], int],
    as_in_an_image: dict[str, str],
) -> AsyncIterator[Running]:
    port = free_port()
    owner_url = await make_database(None)
    environment = os.environ | {
        "DATABASE_URL": database_roles.runtime(owner_url),
        "RABBITMQ_URL": broker_urls["publisher"],
        "SERVICE_KEY": "test-service-key-0123456789",
        "ORCHESTRATOR_URL": orchestrator.url,
        "HTTP_PORT": str(port),
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "RETRY_BASE_SECONDS": "0.1",
        **as_in_an_image,
    }
    command = [sys.executable, "-m", "publisher"]
    owner = os.environ | {"DATABASE_URL": owner_url, "DATABASE_RUNTIME_ROLE": database_roles.runtime_role}
    migration = await asyncio.create_subprocess_exec(*command, "migrate", env=owner)
    assert await migration.wait() == 0
    process = await asyncio.create_subprocess_exec(*command, env=environment)
    connection = await aio_pika.connect(rabbitmq_url)
    orchestrators = await aio_pika.connect(broker_urls["orchestrator"])
    try:
        origin = f"http://127.0.0.1:{port}"
        await _ready(origin, process)
        user = URL(broker_urls["orchestrator"]).user
        yield Running(process, origin, await connection.channel(), (await orchestrators.channel(), user))
    finally:
        await orchestrators.close()
        await connection.close()
        process.terminate()
        async with asyncio.timeout(60):
            assert await process.wait() == 0


async def _ready(origin: str, process: Process) -> None:
    async with asyncio.timeout(60), httpx.AsyncClient(base_url=origin) as client:
        while True:
            assert process.returncode is None, "the service ended by itself"
            try:
                if (await client.get("/health/ready")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)


async def test_a_command_becomes_a_page_that_can_be_read_and_an_event(
    service: Running, orchestrator: Any, resting_memory: int
) -> None:
    content_id = orchestrator.add()
    event_id = await service.command(content_id)
    await service.command(content_id, event_id=event_id)
    event = await service.next_event()
    assert (event["type"], event["source"], event["correlation_id"]) == (
        "content.published",
        "publisher",
        "chain-1",
    )
    assert event["causation_id"] == str(event_id)
    async with httpx.AsyncClient() as client:
        page = await client.get(event["payload"]["published_url"])
    assert page.status_code == 200
    assert "Cold brew at home" in page.text
    # The duplicate had no effect: the next event is the answer to the next command.
    await service.command(content_id, target="nowhere")
    event = await service.next_event()
    assert (event["type"], event["payload"]["reason"]) == ("content.publish_failed", "unknown_target")
    assert psutil.Process(service.process.pid).memory_info().rss < resting_memory


async def test_an_article_that_appears_late_is_published_by_a_retry(
    service: Running, orchestrator: Any
) -> None:
    content_id = orchestrator.add()
    document = orchestrator.documents.pop(content_id)
    await service.command(content_id)
    assert await asyncio.to_thread(orchestrator.asked.wait, 10)
    assert orchestrator.statuses == [404]
    orchestrator.documents[content_id] = document
    event = await service.next_event()
    assert event["type"] == "content.published"
