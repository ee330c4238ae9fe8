"""The orchestrator as a process, with a brand that has a model write: from keyword to the command that publishes the article."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import aio_pika
import httpx
import pytest

from chassis.testing import eventually
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ResearchCompleted
from envelope.message import encode
from tests.fixtures.models.judges import honest_judge
from tests.fixtures.models.scripted_model import ScriptedModel, source_documents

SERVICE_KEY = "test-service-key-0123456789"


@pytest.fixture
async def client(
    orchestrator_url: str,
    broker_urls: dict[str, str],
    research: Any,
    model: ScriptedModel,
    free_port: Callable[[], int],
) -> AsyncIterator[httpx.AsyncClient]:
    """Of the running service."""
    port = free_port()
    environment = os.environ | {
        "DATABASE_URL": orchestrator_url,
        "RABBITMQ_URL": broker_urls["orchestrator"],
        "SERVICE_KEY": SERVICE_KEY,
        "HTTP_PORT": str(port),
        "RESEARCH_URL": research.url,
        "MODEL_URL": model.url,
        "MODEL_JUDGE_NAME": "judge",
    }
    async with AsyncExitStack() as cleanup:
        started = subprocess.Popen([sys.executable, "-m", "orchestrator"], env=environment)  # noqa: ASYNC220
        cleanup.callback(started.wait, 30)
        cleanup.callback(started.terminate)
        api = await cleanup.enter_async_context(
            httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", headers={"X-Service-Key": SERVICE_KEY}, timeout=60
            )
        )
        await eventually(lambda: _ready(api))
        yield api


async def _ready(api: httpx.AsyncClient) -> bool:
    try:
        return (await api.get("/health/ready")).status_code == 200
    except httpx.TransportError:
        return False


async def _has_passed(api: httpx.AsyncClient) -> bool:
    (judge,) = (await api.get("/v1/judges")).json()["items"]
    return bool(judge["has_passed"])


@pytest.mark.extended
async def test_from_a_keyword_to_an_article_that_the_model_wrote(
    client: httpx.AsyncClient, rabbitmq_url: str, research: Any, model: ScriptedModel
) -> None:
    model.judging = honest_judge
    begun = await client.post("/v1/judges/exams", json={"judge": "judge"})
    assert begun.status_code == 201
    await eventually(lambda: _has_passed(client))
    paid = len(model.asked)
    research.body = json.dumps({"sources": source_documents()}).encode()
    brand = {
        "name": "The Daily Grind",
        "writer": "model",
        "forbidden_words": ["game-changer"],
        "approval": "nothing",
    }
    foreign = await client.put("/v1/brands/daily-grind", json={**brand, "language": "de"})
    assert foreign.status_code == 422
    assert "in English only" in foreign.json()["detail"]
    created = await client.put("/v1/brands/daily-grind", json=brand)
    assert (created.status_code, created.json()["writer"]) == (201, "model")
    accepted = await client.post("/v1/brands/daily-grind/research", json={"keywords": ["cold brew"]})
    found = DomainMessage(
        event_id=new_event_id(),
        type="research.completed",
        source="research",
        timestamp=datetime.now(UTC),
        correlation_id=accepted.json()["correlation_id"],
        payload=ResearchCompleted(brand_slug="daily-grind", research_id=new_event_id(), keyword="cold brew"),
    )

    connection = await aio_pika.connect(rabbitmq_url)
    async with connection:
        channel = await connection.channel()
        events = await channel.get_exchange("brand-events", ensure=False)
        for _ in range(5):
            await events.publish(aio_pika.Message(encode(found)), routing_key="research.completed")
        queue = await channel.get_queue("publisher-commands", ensure=False)
        async with asyncio.timeout(60), queue.iterator() as messages:
            published = await anext(messages)
            await published.ack()

    content_id = json.loads(published.body)["payload"]["content_id"]
    article = (await client.get(f"/v1/content/{content_id}")).json()
    assert article["title"] == "Cold brew is milder than hot coffee"
    assert article["label"].startswith(
        "How this was made: written by a language model (scripted-1) from 3 sources"
    )
    assert "with a second reading by a language model (scripted-1)" in article["label"]
    assert paid == begun.json()["questions"]
    assert len(model.asked) == len({asked.key for asked in model.asked})
    judging = {asked.model for asked in model.asked if asked.shape == "SecondReading"}
    writing = {asked.model for asked in model.asked if asked.shape != "SecondReading"}
    assert (judging, writing) == ({"judge"}, {"model"})
    counted = (await client.get("/metrics")).text
    assert 'brand_engine_draft_sentences_total{verdict="held"}' in counted
    assert 'brand_engine_draft_sentences_total{verdict="says_more"} 0.0' in counted


async def test_without_a_model_a_brand_is_refused_one(api: httpx.AsyncClient) -> None:
    refused = await api.put("/v1/brands/daily-grind", json={"name": "The Daily Grind", "writer": "model"})

    assert refused.status_code == 422
    assert "set MODEL_URL" in refused.json()["detail"]
    assert (await api.get("/v1/brands/daily-grind")).status_code == 404
