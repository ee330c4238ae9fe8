"""Keywords through the five real services: exactly these messages, one correlation_id, pages and posts to see."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aio_pika
import httpx
import pytest

from brandctl.local import services
from chassis.testing import eventually
from tests.fixtures.running_services import running_services

KEY = "a-key-for-tests-only"
KEYWORDS = ["pour-over coffee", "grind size", "water quality for coffee"]


@asynccontextmanager
async def recording(url: str) -> AsyncIterator[list[dict[str, Any]]]:
    """Every message that passes the exchanges for commands and events, seen from outside."""
    seen: list[dict[str, Any]] = []
    connection = await aio_pika.connect(url)
    async with connection, connection.channel() as channel:
        queue = await channel.declare_queue(exclusive=True)
        for exchange in ("commands", "brand-events"):
            await queue.bind(exchange, "#")

        async def note(message: aio_pika.abc.AbstractIncomingMessage) -> None:
            seen.append(json.loads(message.body))

        await queue.consume(note, no_ack=True)
        yield seen


@pytest.fixture
async def stack(
    broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], tmp_path: Path
) -> AsyncIterator[services.ServiceAddresses]:
    """The five services as processes, each as its own user of the broker, ready."""
    async with running_services(
        services.NAMES, broker_urls=broker_urls, make_database=make_database, service_key=KEY, folder=tmp_path
    ) as addresses:
        yield addresses


@pytest.mark.extended
async def test_three_keywords_become_three_articles_and_posts_by_exactly_the_documented_messages(
    stack: services.ServiceAddresses, rabbitmq_url: str
) -> None:
    async with (
        recording(rabbitmq_url) as seen,
        httpx.AsyncClient(
            headers={"X-Service-Key": KEY}, base_url=stack.url("orchestrator"), timeout=60
        ) as api,
    ):
        brand = {"name": "The Daily Grind", "description": "Coffee at home"}
        assert (await api.put("/v1/brands/daily-grind", json=brand)).status_code in {200, 201}
        answer = await api.post("/v1/brands/daily-grind/research", json={"keywords": KEYWORDS})
        assert answer.status_code == 202
        submitted = answer.json()

        async def ended() -> dict[str, Any] | None:
            cycle = (await api.get(f"/v1/cycles/{submitted['cycle_id']}")).json()
            return cycle if cycle["percent"] == 100 else None

        cycle = await eventually(ended)
        await eventually(lambda: Counter(message["type"] for message in seen)["cycle.completed"] == 1)

    assert (cycle["completed"], cycle["failed"], cycle["total"]) == (3, 0, 3)
    assert Counter(message["type"] for message in seen) == {
        "research.requested": 3,
        "research.completed": 3,
        "content.generate": 3,
        "content.generated": 3,
        "content.publish": 3,
        "content.published": 3,
        "social.create": 3,
        "social.posted": 3,
        "cycle.completed": 1,
    }
    assert {message["correlation_id"] for message in seen} == {submitted["correlation_id"]}
    assert len({message["event_id"] for message in seen}) == 25
    assert_every_message_was_caused_by_the_one_before(seen)
    await assert_pages_and_posts_can_be_seen(cycle)
    await assert_what_was_said_already_ends_with_its_article_and_others_are_linked(stack)
    await assert_an_off_topic_keyword_is_refused_with_its_reason(stack)


async def assert_what_was_said_already_ends_with_its_article_and_others_are_linked(
    stack: services.ServiceAddresses,
) -> None:
    async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, timeout=60) as api:
        orchestrator = stack.url("orchestrator")
        answer = await api.post(
            f"{orchestrator}/v1/brands/daily-grind/research", json={"keywords": ["grind sizes", "cold brew"]}
        )

        async def ended() -> dict[str, Any] | None:
            cycle = (await api.get(f"{orchestrator}/v1/cycles/{answer.json()['cycle_id']}")).json()
            return cycle if cycle["percent"] == 100 else None

        cycle = await eventually(ended)
        same, published = cycle["keywords"]
        assert (cycle["completed"], cycle["failed"], cycle["needs_review"]) == (2, 0, 0)
        assert (same["state"], same["has_standing_article"], same["posts"]) == ("completed", True, [])
        assert same["published_url"] == f"{stack.url('publisher')}/sites/daily-grind/grind-size"
        page = await api.get(published["published_url"])
        assert '<a href="/sites/daily-grind/grind-size">' in page.text


def assert_every_message_was_caused_by_the_one_before(seen: list[dict[str, Any]]) -> None:
    cause = {
        "research.completed": "research.requested",
        "content.generate": "research.completed",
        "content.generated": "content.generate",
        "content.publish": "content.generated",
        "content.published": "content.publish",
        "social.create": "content.published",
        "social.posted": "social.create",
    }
    by_id = {message["event_id"]: message["type"] for message in seen}
    for message in seen:
        assert by_id.get(message.get("causation_id")) == cause.get(message["type"])


async def assert_pages_and_posts_can_be_seen(cycle: dict[str, Any]) -> None:
    async with httpx.AsyncClient(timeout=60) as visitor:
        for keyword in cycle["keywords"]:
            page = await visitor.get(keyword["published_url"])
            assert page.status_code == 200
            assert "Quoted word for word from" in page.text
            (post,) = keyword["posts"]
            assert post["platform"] == "feed"
            shown = await visitor.get(post["url"])
            assert shown.status_code == 200
            assert keyword["published_url"] in shown.text


async def assert_an_off_topic_keyword_is_refused_with_its_reason(stack: services.ServiceAddresses) -> None:
    async with httpx.AsyncClient(
        headers={"X-Service-Key": KEY}, base_url=stack.url("orchestrator"), timeout=60
    ) as api:
        answer = await api.post(
            "/v1/brands/daily-grind/research", json={"keywords": ["mortgage refinancing"]}
        )

        async def ended() -> dict[str, Any] | None:
            cycle = (await api.get(f"/v1/cycles/{answer.json()['cycle_id']}")).json()
            return cycle if cycle["percent"] == 100 else None

        cycle = await eventually(ended)
    (keyword,) = cycle["keywords"]
    assert keyword["state"] == "refused"
    assert "source" in keyword["reason"]
    assert keyword["published_url"] is None
