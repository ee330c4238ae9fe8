"""The service as a process of its own, between a real broker and a real database."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import aio_pika
import asyncpg
import httpx
import pytest
from yarl import URL

from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ContentPublish
from tests.fixtures.databases import Roles
from tests.fixtures.memory import memory_of


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

    async def next_dead_letter(self) -> UUID:
        """The article that the next command which died is about."""
        queue = await self._channel.get_queue("publisher-commands-dlq")
        async with asyncio.timeout(60), queue.iterator() as messages:
            message = await anext(messages)
            await message.ack()
        return UUID(json.loads(message.body)["payload"]["content_id"])


@pytest.fixture
async def environment(
    make_database: Callable[..., Awaitable[str]],
    database_roles: Roles,
    broker_urls: dict[str, str],
    orchestrator: Any,
    free_port: Callable[[], int],
    as_in_an_image: dict[str, str],
) -> dict[str, str]:
    port = free_port()
    owner_url = await make_database(None)
    owner = os.environ | {"DATABASE_URL": owner_url, "DATABASE_RUNTIME_ROLE": database_roles.runtime_role}
    migration = await asyncio.create_subprocess_exec(sys.executable, "-m", "publisher", "migrate", env=owner)
    assert await migration.wait() == 0
    return os.environ | {
        "DATABASE_URL": database_roles.runtime(owner_url),
        "RABBITMQ_URL": broker_urls["publisher"],
        "SERVICE_KEY": "test-service-key-0123456789",
        "ORCHESTRATOR_URL": orchestrator.url,
        "HTTP_PORT": str(port),
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "RETRY_BASE_SECONDS": "0.1",
        **as_in_an_image,
    }


@asynccontextmanager
async def running(
    environment: dict[str, str], rabbitmq_url: str, broker_urls: dict[str, str], *, ends: int = 0
) -> AsyncIterator[Running]:
    """The service as a process, which ends in this way."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "publisher", env=environment)
    connection = await aio_pika.connect(rabbitmq_url)
    orchestrators = await aio_pika.connect(broker_urls["orchestrator"])
    try:
        origin = environment["PUBLIC_URL"]
        await _ready(origin, process)
        user = URL(broker_urls["orchestrator"]).user
        yield Running(process, origin, await connection.channel(), (await orchestrators.channel(), user))
    finally:
        await orchestrators.close()
        await connection.close()
        if process.returncode is None and not ends:
            process.terminate()
        async with asyncio.timeout(60):
            assert await process.wait() == ends


@pytest.fixture
async def service(
    environment: dict[str, str], rabbitmq_url: str, broker_urls: dict[str, str]
) -> AsyncIterator[Running]:
    async with running(environment, rabbitmq_url, broker_urls) as service:
        yield service


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


@pytest.mark.extended
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
    assert memory_of(service.process.pid) < resting_memory


@pytest.mark.extended
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


@pytest.mark.extended
async def test_of_commands_that_come_together_one_that_cannot_be_stored_spoils_no_other(
    service: Running, orchestrator: Any, environment: dict[str, str]
) -> None:
    good = [orchestrator.add(title=f"Article {number}") for number in range(20)]
    bad = orchestrator.add(title="Whose is it?")
    async with asyncpg.create_pool(environment["DATABASE_URL"], min_size=1, max_size=1) as pool:
        # As after a restore of one database alone: its page is another brand's here.
        await pool.execute("insert into sites values ('tea-time', 'Tea', '', 'en')")
        await pool.execute(
            """
            insert into pages (content_id, brand_slug, slug, keyword, title, meta_description, body_html, sections, sources, cited,
                               word_count, content_updated_at, markup_version)
            values ($1, 'tea-time', 'whose', 'tea', 'Whose', '', '', '[]', '[]', '{}', 1, now(), 1)
            """,
            bad,
        )
        for place, content_id in enumerate([*good[:10], bad, *good[10:], *good]):
            await service.command(content_id, event_id=None if place % 2 else new_event_id())
        events = [await service.next_event() for _ in range(40)]
        assert {event["type"] for event in events} == {"content.published"}
        told = Counter(UUID(event["payload"]["content_id"]) for event in events)
        assert told == dict.fromkeys(good, 2)
        assert len({event["payload"]["published_url"] for event in events}) == 20
        assert await pool.fetchval("select count(*) from pages where brand_slug = 'daily-grind'") == 20
        assert await pool.fetchval("select title from pages where content_id = $1", bad) == "Whose"
    assert await service.next_dead_letter() == bad


@pytest.mark.extended
@pytest.mark.parametrize("place", ["settlement.effects", "transaction.committed"])
async def test_commands_that_were_being_stored_together_when_it_was_killed_are_done_once(
    environment: dict[str, str],
    rabbitmq_url: str,
    broker_urls: dict[str, str],
    orchestrator: Any,
    place: str,
) -> None:
    content_ids: list[UUID] = []
    event_ids: list[UUID] = []
    deadly = environment | {"FAIL_POINTS": f"{place}=kill@2"}
    async with running(deadly, rabbitmq_url, broker_urls, ends=-signal.SIGKILL) as service:
        ended = asyncio.create_task(service.process.wait())
        # All of a round may be stored at once, so that it takes another one to reach the place a second time.
        for _ in range(20):
            content_ids += (orchestrator.add(title=f"Article {number}") for number in range(12))
            event_ids += [await service.command(content_id) for content_id in content_ids[-12:]]
            if (await asyncio.wait([ended], timeout=3))[0]:
                break
        async with asyncio.timeout(60):
            await ended
    async with (
        asyncpg.create_pool(environment["DATABASE_URL"], min_size=1, max_size=1) as pool,
        running(environment, rabbitmq_url, broker_urls) as service,
    ):
        for content_id, event_id in zip(content_ids, event_ids, strict=True):
            await service.command(content_id, event_id=event_id)
        # The lease of what was about to leave is over: tests do not wait for that.
        await pool.execute("update outbox set due_at = now()")
        told: dict[str, str] = {}
        while len(told) < len(content_ids):
            event = await service.next_event()
            # A repeated message has the same id, so consumers can recognise it.
            assert told.setdefault(event["causation_id"], event["event_id"]) == event["event_id"]
        assert set(told) == {str(event_id) for event_id in event_ids}
        assert await pool.fetchval("select count(*) from pages") == len(content_ids)
