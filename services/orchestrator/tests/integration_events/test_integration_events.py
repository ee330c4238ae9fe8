"""Integration events: each cycle's end once, and waiting drafts once a day."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from envelope import DomainMessage, Payload, new_event_id
from envelope.brand.payloads import (
    ContentRefused,
    CycleCompleted,
    DraftsWaiting,
    ResearchCompleted,
    ResearchFailed,
)
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.cycles import Housekeeping, route
from orchestrator.integration_events import announce_due_events
from writing import Article, ArticleSource

ARTICLE = Article("Tea", "tea", "About tea.", "It is steeped. [1]\n", 3, ("It is steeped.",), (1,))
SOURCE = ArticleSource(n=1, title="Steeping", passages=(), path="steeping.md")
MessageOf = Callable[..., DomainMessage[Any]]


class Brand:
    """The brand `acme`, its events, and its integration events."""

    def __init__(self, api: httpx.AsyncClient, database: Database, message_of: MessageOf) -> None:
        self.api = api
        self.database = database
        self.message_of = message_of

    async def begin(self, *keywords: str) -> dict[str, Any]:
        answer = await self.api.post("/v1/brands/acme/research", json={"keywords": keywords})
        cycle: dict[str, Any] = answer.json()
        return cycle

    async def hear(self, cycle: dict[str, Any], *payloads: Payload, database: Database | None = None) -> None:
        events = [self.message_of(payload, cycle["correlation_id"]) for payload in payloads]
        async with (database or self.database).transaction() as tx:
            await route(events, tx)

    async def draft(self, keyword: str) -> UUID:
        """One that waits, without a cycle."""
        content_id = new_event_id()
        async with self.database.transaction() as tx:
            await insert_content(
                tx.connection,
                content_id=content_id,
                brand_slug="acme",
                keyword=keyword,
                research_id=UUID(int=5),
                article=ARTICLE,
                sources=[SOURCE],
                held_for=["231 words"],
            )
        return content_id

    async def run(self, sql: str, *arguments: object) -> None:
        async with self.database.connection() as connection:
            await connection.execute(sql, *arguments)

    async def told(self, kind: type[Payload]) -> list[DomainMessage[Any]]:
        entry = self.database.catalogue.type_of(kind)
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "delete from outbox where type = $1 returning body, event_id", entry.name
            )
        return [entry.envelope.model_validate_json(row["body"]) for row in rows]

    async def announce(self) -> list[DomainMessage[Any]]:
        """What two replicas tell of drafts at the same time."""
        replicas = [announce_due_events(self.database) for _ in range(2)]
        await asyncio.gather(*replicas)
        return await self.told(DraftsWaiting)


@pytest.fixture
async def brand(api: httpx.AsyncClient, orchestrator_database: Database, message_of: MessageOf) -> Brand:
    (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
    return Brand(api, orchestrator_database, message_of)


def failed(keyword: str) -> ResearchFailed:
    return ResearchFailed(brand_slug="acme", keyword=keyword, reason="insufficient_sources")


async def test_the_end_of_a_cycle_is_told_once_with_how_its_keywords_ended(brand: Brand) -> None:
    cycle = await brand.begin("tea", "coffee", "mate")
    await brand.hear(cycle, failed("tea"), failed("coffee"))
    assert await brand.told(CycleCompleted) == []

    await brand.hear(cycle, ResearchFailed(brand_slug="acme", keyword="mate", reason="exhausted"))
    (told,) = await brand.told(CycleCompleted)
    shown = (await brand.api.get(f"/v1/cycles/{cycle['cycle_id']}")).json()
    assert told.correlation_id == cycle["correlation_id"]
    assert told.payload.model_dump(mode="json") == {
        "brand_slug": "acme",
        "cycle_id": cycle["cycle_id"],
        "state": shown["state"],
        "total": 3,
        "states": {"refused": 2, "failed": 1},
        "began_at": shown["created_at"],
        "ended_at": shown["ended_at"],
    }

    # Research comes after all: the cycle is taken up, and ends again; its end was told.
    found = ResearchCompleted(brand_slug="acme", research_id=new_event_id(), keyword="mate")
    await brand.hear(cycle, found)
    assert (await brand.api.get(f"/v1/cycles/{cycle['cycle_id']}")).json()["state"] == "running"
    (content_id,) = [
        each["content_id"]
        for each in (await brand.api.get(f"/v1/cycles/{cycle['cycle_id']}")).json()["keywords"]
        if each["content_id"]
    ]
    refused = ContentRefused(
        brand_slug="acme", content_id=content_id, keyword="mate", reason="unsupported_draft"
    )
    await brand.hear(cycle, refused)
    assert (await brand.api.get(f"/v1/cycles/{cycle['cycle_id']}")).json()["state"] == "failed"
    await announce_due_events(brand.database)
    assert await brand.told(CycleCompleted) == []


@pytest.mark.extended
async def test_two_replicas_that_hear_the_last_words_tell_the_end_once(
    brand: Brand,
    orchestrator_url: str,
    orchestrator_database_at: Callable[[str], AbstractAsyncContextManager[Database]],
) -> None:
    keywords = [f"keyword {number}" for number in range(20)]
    async with orchestrator_database_at(orchestrator_url) as second:
        for _ in range(3):
            cycle = await brand.begin(*keywords)
            words = [failed(keyword) for keyword in keywords]
            await asyncio.gather(
                *(brand.hear(cycle, word, database=second) for word in words),
                *(brand.hear(cycle, word) for word in reversed(words)),
                announce_due_events(second),
            )
            (told,) = await brand.told(CycleCompleted)
            assert told.payload.states == {"refused": 20}


@pytest.mark.extended
@pytest.mark.parametrize("way", ["cancelled", "given up", "by the version before"])
async def test_however_a_cycle_ends_it_is_told(brand: Brand, way: str) -> None:
    if way == "cancelled":
        await brand.api.post("/v1/brands/acme/pause")
    cycle = await brand.begin("tea", "coffee")
    match way:
        case "cancelled":
            await brand.api.post(f"/v1/cycles/{cycle['cycle_id']}/cancel")
        case "given up":
            await brand.run("update keywords set moved_at = now() - interval '9 hours', asked_again = true")
            hours = timedelta(hours=6)
            housekeeping = Housekeeping(brand.database, stall_after=hours, keep_cycles=90 * hours)
            await housekeeping.look_after_stalled()
        case _:
            await brand.run("update keywords set state = 'failed'")
            assert await brand.told(CycleCompleted) == []
            await announce_due_events(brand.database)
    (told,) = await brand.told(CycleCompleted)
    assert (told.payload.state, told.payload.total) == ("cancelled" if way == "cancelled" else "failed", 2)


async def test_drafts_that_wait_are_told_of_once_a_day_as_long_as_any_does(brand: Brand) -> None:
    assert await brand.announce() == []
    first = await brand.draft("tea")
    (told,) = await brand.announce()
    assert (told.payload.brand_slug, told.payload.drafts, told.payload.held_up) == ("acme", 1, False)

    await brand.draft("coffee")
    assert await brand.announce() == []
    await brand.run("update brands set reminded_at = reminded_at - interval '1 day'")
    (told,) = await brand.announce()
    draft = (await brand.api.get(f"/v1/drafts/{first}")).json()
    assert (told.payload.drafts, told.payload.since.isoformat()) == (2, draft["since"].replace("Z", "+00:00"))

    for each in (await brand.api.get("/v1/drafts")).json()["items"]:
        answer = await brand.api.post(
            f"/v1/drafts/{each['content_id']}/reject", json={"version": 1, "reason": "no"}
        )
        assert answer.status_code == 200
    await brand.run("update brands set reminded_at = reminded_at - interval '1 day'")
    assert await brand.announce() == []


async def test_a_brand_that_begins_nothing_more_is_told_of_at_once(brand: Brand) -> None:
    for number in range(4):
        await brand.draft(f"keyword {number}")
    (told,) = await brand.announce()
    assert (told.payload.drafts, told.payload.held_up) == (4, False)

    await brand.draft("the fifth")
    (told,) = await brand.announce()
    assert (told.payload.drafts, told.payload.held_up) == (5, True)
    await brand.draft("being written meanwhile")
    assert await brand.announce() == []

    # A person reviews one after the other, and each lets one more be written: that is told of the day after.
    for number, each in enumerate((await brand.api.get("/v1/drafts")).json()["items"][:2]):
        assert (await brand.api.post(f"/v1/drafts/{each['content_id']}/looked")).status_code == 200
        await brand.draft(f"one more {number}")
        assert await brand.announce() == []

    # Somebody looks over all of them, and five more come.
    assert (await brand.api.post("/v1/brands/acme/looked")).status_code == 200
    for number in range(5):
        assert await brand.announce() == []
        await brand.draft(f"another {number}")
    (told,) = await brand.announce()
    assert (told.payload.drafts, told.payload.held_up) == (13, True)
