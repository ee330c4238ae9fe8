"""Fixtures of social's tests: the service itself, running on a real broker and database, and its events."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import aio_pika
import asyncpg
import httpx
import pytest

from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ArticleContext, SocialCreate
from messaging import Service
from social.app import build
from social.settings import Settings

SERVICE_KEY = "test-service-key-0123456789"
POINTS = (
    "Sixteen grams of water for each gram of coffee is a reliable ratio to start from.",
    "A gooseneck kettle gives a slow, aimed stream.",
    "Rinsing the paper filter removes papery taste.",
)


def social_create(content_id: UUID | None = None, /, **changes: Any) -> SocialCreate:
    """A command about an article; `changes` go to the article's context as far as it has such a field."""
    context = {
        "title": "Pour-over coffee: a sourced overview",
        "keyword": "pour-over coffee",
        "meta_description": "Pour-over coffee is brewed by pouring hot water by hand over ground coffee in a filter.",
        "key_points": POINTS,
    }
    command = {
        "brand_slug": "daily-grind",
        "tags": ("coffee",),
        "content_id": content_id or uuid4(),
        "published_url": "https://daily-grind.example/sites/daily-grind/pour-over-coffee",
        "channels": ("feed",),
    }
    for name, value in changes.items():
        (context if name in context else command)[name] = value
    return SocialCreate(article_context=ArticleContext(**context), **command)  # type: ignore[arg-type]


class RunningSocial:
    """The service, the way its neighbours see it: commands in, events out, pages."""

    def __init__(
        self, url: str, channel: aio_pika.abc.AbstractChannel, events: aio_pika.abc.AbstractQueue
    ) -> None:
        self.http = httpx.AsyncClient(base_url=url, timeout=60)
        self.api = httpx.AsyncClient(base_url=url, timeout=60, headers={"X-Service-Key": SERVICE_KEY})
        self.url = url
        self._channel = channel
        self._events = events

    async def send(self, *commands: SocialCreate, event_id: UUID | None = None) -> None:
        exchange = await self._channel.get_exchange("commands")
        for command in commands:
            message = DomainMessage[SocialCreate](
                event_id=event_id or new_event_id(),
                type="social.create",
                source="orchestrator",
                timestamp=datetime.now(UTC),
                correlation_id="chain-1",
                payload=command,
            )
            await exchange.publish(aio_pika.Message(encode(message)), "social-commands")

    async def events(self, count: int) -> list[dict[str, Any]]:
        """The next `count` announcements, as `{"type", ...payload}`."""
        found: list[dict[str, Any]] = []
        async with asyncio.timeout(60), self._events.iterator() as deliveries:
            while len(found) < count:
                delivery = await anext(deliveries)
                await delivery.ack()
                event = json.loads(delivery.body)
                assert event["correlation_id"] == "chain-1"
                found.append({"type": event["type"], **event["payload"]})
        return found

    async def commands(self, queue: str, count: int) -> list[dict[str, Any]]:
        """The next `count` that it sent to another service, as `events` has them."""
        found: list[dict[str, Any]] = []
        asked = await self._channel.get_queue(queue)
        async with asyncio.timeout(60), asked.iterator() as deliveries:
            while len(found) < count:
                delivery = await anext(deliveries)
                await delivery.ack()
                command = json.loads(delivery.body)
                found.append({"type": command["type"], **command["payload"]})
        return found

    async def dead_letter(self) -> tuple[str, str]:
        """Reason and detail of the next command that died."""
        queue = await self._channel.get_queue("social-commands-dlq")
        async with asyncio.timeout(60), queue.iterator() as deliveries:
            delivery = await anext(deliveries)
            await delivery.ack()
        return str(delivery.headers["failure-reason"]), str(delivery.headers["failure-message"])

    async def post(self, command: SocialCreate) -> str:
        """Posts to the feed and returns the address of the post."""
        await self.send(command)
        [event] = await self.events(1)
        assert event["type"] == "social.posted"
        return str(event["post_url"])


@pytest.fixture
async def database_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    """Of the service's database, migrated."""
    return await make_database("social")


@pytest.fixture
async def social_database(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture
def social_service(database_url: str, rabbitmq_url: str, free_port: Callable[[], int]) -> Service:
    """The service put together, on a free port."""
    port = free_port()
    settings = Settings.model_validate(
        {
            "rabbitmq_url": rabbitmq_url,
            "database_url": database_url,
            "http_port": port,
            "public_url": f"http://127.0.0.1:{port}",
            "posts_per_page": 5,
            "service_key": SERVICE_KEY,
        }
    )
    return build(settings)


@pytest.fixture
async def social(social_service: Service, rabbitmq_url: str) -> AsyncIterator[RunningSocial]:
    service = social_service
    url = f"http://127.0.0.1:{service.settings.http_port}"
    running = asyncio.create_task(service.run())
    try:
        async with await aio_pika.connect(rabbitmq_url) as connection:
            channel = await connection.channel()
            social = RunningSocial(url, channel, await channel.get_queue("orchestrator-events"))
            async with social.http, social.api:
                await _ready(social.http, running)
                yield social
    finally:
        service.stop()
        await running


async def _ready(client: httpx.AsyncClient, running: "asyncio.Task[None]") -> None:
    async with asyncio.timeout(60):
        while not running.done():
            try:
                if (await client.get("/health/ready")).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)
    await running


@pytest.fixture
def new_command() -> Callable[..., SocialCreate]:
    return social_create
