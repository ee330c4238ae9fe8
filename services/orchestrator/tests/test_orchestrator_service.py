"""The whole service as a process, on a real broker and database; the test plays the other services."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import aio_pika
import asyncpg
import httpx
import psutil
import pytest

from chassis.testing import eventually
from envelope import DomainMessage, Payload, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublished, ResearchCompleted, ResearchFailed, SocialPosted
from envelope.message import encode
from tests.fixtures.kilns import SOURCES
from tests.fixtures.memory import memory_of

SERVICE_KEY = "test-service-key-0123456789"


class Backbone:
    """The broker, as the other services see it."""

    def __init__(self, channel: aio_pika.abc.AbstractChannel, events: aio_pika.abc.AbstractExchange) -> None:
        self._channel = channel
        self._events = events

    async def take(self, queue: str, count: int) -> list[dict[str, Any]]:
        """So many messages of a queue, in order of arrival."""
        source = await self._channel.get_queue(queue, ensure=False)
        taken: list[dict[str, Any]] = []
        async with asyncio.timeout(60), source.iterator() as messages:
            async for message in messages:
                await message.ack()
                taken.append(json.loads(message.body))
                if len(taken) == count:
                    break
        return taken

    async def left_in(self, queue: str) -> int:
        declared = await self._channel.declare_queue(queue, passive=True)
        return declared.declaration_result.message_count or 0

    async def tell(self, payloads: Iterable[Payload], correlation_id: str, *, times: int = 1) -> None:
        """Publishes each as an event; with `times`, the very same message more than once."""
        for payload in payloads:
            name = CATALOGUE.type_of(payload).name
            message: DomainMessage[Payload] = DomainMessage(
                event_id=new_event_id(),
                type=name,
                source=CATALOGUE[name].producers[0],
                timestamp=datetime.now(UTC),
                correlation_id=correlation_id,
                payload=payload,
            )
            for _ in range(times):
                await self._events.publish(aio_pika.Message(encode(message)), routing_key=name)


@pytest.fixture
async def backbone(rabbitmq_url: str) -> AsyncIterator[Backbone]:
    connection = await aio_pika.connect(rabbitmq_url)
    async with connection:
        channel = await connection.channel()
        yield Backbone(channel, await channel.get_exchange("brand-events", ensure=False))


@pytest.fixture
async def process(
    orchestrator_url: str,
    broker_urls: dict[str, str],
    research: Any,
    free_port: Callable[[], int],
    as_in_an_image: dict[str, str],
) -> AsyncIterator[tuple[psutil.Process, httpx.AsyncClient]]:
    port = free_port()
    environment = os.environ | {
        "DATABASE_URL": orchestrator_url,
        "RABBITMQ_URL": broker_urls["orchestrator"],
        "SERVICE_KEY": SERVICE_KEY,
        "HTTP_PORT": str(port),
        "RESEARCH_URL": research.url,
        **as_in_an_image,
    }
    async with AsyncExitStack() as cleanup:
        started = subprocess.Popen([sys.executable, "-m", "orchestrator"], env=environment)  # noqa: ASYNC220
        cleanup.callback(started.wait, 30)
        cleanup.callback(started.terminate)
        client = await cleanup.enter_async_context(
            httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", headers={"X-Service-Key": SERVICE_KEY}, timeout=60
            )
        )
        await eventually(lambda: _ready(client))
        yield psutil.Process(started.pid), client


async def _ready(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/health/ready")).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.extended
async def test_three_keywords_go_the_whole_way_with_exactly_one_message_each(
    process: tuple[psutil.Process, httpx.AsyncClient],
    backbone: Backbone,
    research: Any,
    orchestrator_url: str,
    resting_memory: int,
) -> None:
    service, client = process
    assert memory_of(service.pid) < resting_memory
    (await client.put("/v1/brands/daily-grind", json={"name": "The Daily Grind"})).raise_for_status()
    keywords = ["cold brew", "pour over", "espresso"]
    accepted = await client.post("/v1/brands/daily-grind/research", json={"keywords": keywords})
    correlation = accepted.json()["correlation_id"]

    requested = await backbone.take("research-commands", 3)
    assert sorted(message["payload"]["keyword"] for message in requested) == sorted(keywords)
    research.body = research_document(keywords)
    found = [
        ResearchCompleted(brand_slug="daily-grind", research_id=new_event_id(), keyword=each)
        for each in keywords
    ]
    await backbone.tell(found, correlation, times=2)

    publish = await backbone.take("publisher-commands", 3)
    ids = [UUID(message["payload"]["content_id"]) for message in publish]
    pages = [
        ContentPublished(brand_slug="daily-grind", content_id=each, published_url=f"http://site.test/{each}")
        for each in ids
    ]
    await backbone.tell(pages, correlation, times=2)

    promote = await backbone.take("social-commands", 3)
    assert {UUID(message["payload"]["content_id"]) for message in promote} == set(ids)
    assert all(message["payload"]["article_context"]["title"] for message in promote)
    posts = [
        SocialPosted(
            brand_slug="daily-grind", content_id=each, platform="feed", post_url="http://post.test/1"
        )
        for each in ids
    ]
    await backbone.tell(posts, correlation, times=2)

    async def completed() -> bool:
        return bool((await client.get(accepted.headers["location"])).json()["state"] == "completed")

    await eventually(completed)
    cycle = (await client.get(accepted.headers["location"])).json()
    assert (cycle["completed"], cycle["percent"]) == (3, 100)
    (post,) = cycle["keywords"][0]["posts"]
    assert datetime.fromisoformat(post.pop("posted_at")) >= datetime.fromisoformat(cycle["created_at"])
    assert post == {"platform": "feed", "url": "http://post.test/1", "state": "posted"}
    article = (await client.get(f"/v1/content/{ids[0]}")).json()
    assert article["published_url"] == f"http://site.test/{ids[0]}"
    several = (await client.get("/v1/content", params={"id": [str(ids[0]), str(ids[1])]})).json()["items"]
    assert {item["content"]["content_id"] for item in several} == {str(ids[0]), str(ids[1])}
    for item in several:
        alone = await client.get(f"/v1/content/{item['content']['content_id']}")
        # A compressed answer has the same tag, marked as weak.
        assert (item["content"], item["etag"]) == (alone.json(), alone.headers["ETag"].removeprefix("W/"))
    assert {message["correlation_id"] for message in (*requested, *publish, *promote)} == {correlation}
    for queue in ("research-commands", "publisher-commands", "social-commands", "orchestrator-commands"):
        assert await backbone.left_in(queue) == 0, queue
    expected = {
        "research.completed": 3,
        "content.generate": 3,
        "content.generated": 3,
        "content.published": 3,
        "social.posted": 3,
        "cycle.completed": 1,
    }

    async def all_are_handled() -> bool:
        return await handled(orchestrator_url) == expected

    await eventually(all_are_handled)


@pytest.mark.extended
async def test_a_refusal_ends_the_keyword_and_a_suspended_service_takes_up_its_backlog(
    process: tuple[psutil.Process, httpx.AsyncClient], backbone: Backbone
) -> None:
    service, client = process
    (await client.put("/v1/brands/daily-grind", json={"name": "The Daily Grind"})).raise_for_status()
    accepted = await client.post("/v1/brands/daily-grind/research", json={"keywords": ["chocolate cake"]})
    refusal = ResearchFailed(
        brand_slug="daily-grind", keyword="chocolate cake", reason="insufficient_sources", detail="0 of 2"
    )
    service.suspend()
    await backbone.tell([refusal], accepted.json()["correlation_id"])
    service.resume()

    async def ended() -> bool:
        return bool((await client.get(accepted.headers["location"])).json()["failed"] == 1)

    await eventually(ended)
    (keyword,) = (await client.get(accepted.headers["location"])).json()["keywords"]
    assert (keyword["state"], keyword["reason"]) == ("refused", "insufficient_sources: 0 of 2")


async def handled(url: str) -> Counter[str]:
    connection = await asyncpg.connect(url)
    try:
        return Counter(row["type"] for row in await connection.fetch("select type from processed_events"))
    finally:
        await connection.close()


def research_document(keywords: list[str]) -> bytes:
    """Sources that say of each keyword what they say of kilns, in other words: no article is to repeat another."""
    sources = [
        {
            "n": at * len(SOURCES) + source.n,
            "title": source.title.replace("Kiln", keyword.capitalize()),
            "path": f"{keyword}/{source.path}",
            "passages": [
                {
                    "heading": passage.heading,
                    "text": re.sub(r"\b[a-z]{5,}\b", rf"\g<0>{'aeo'[at]}", passage.text)
                    .replace("Kiln", keyword.capitalize())
                    .replace("kiln", keyword),
                    "score": passage.score,
                }
                for passage in source.passages
            ],
        }
        for at, keyword in enumerate(keywords)
        for source in SOURCES
    ]
    return json.dumps({"sources": sources}).encode()
