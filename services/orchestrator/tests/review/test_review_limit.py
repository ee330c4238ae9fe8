"""Where every article waits, no more drafts are written than may wait unreviewed, on any number of replicas; and all get their turn."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import httpx
import pytest

from envelope import DomainMessage, Payload, new_event_id
from envelope.brand.payloads import (
    ContentGenerated,
    ContentRefused,
    CycleCompleted,
    DeadLetterRecorded,
    ResearchCompleted,
)
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.cycles import DEFAULT_LIMITS, route
from orchestrator.cycles.dispatch import dispatch_overlooked
from orchestrator.review import StalledRewriteReaper
from writing import Article, ArticleSource

ARTICLE = Article("Tea", "tea", "About tea.", "It is steeped. [1]\n", 3, ("It is steeped.",), (1,))
SOURCE = ArticleSource(n=1, title="Steeping", passages=(), path="steeping.md")
UNREVIEWED = """
    select count(*) from content
    where held_for <> '{}' and decision is null and (reviewed_at is null or reviewed_at < coalesce(waits_since, created_at))
"""
MessageOf = Callable[..., DomainMessage[Any]]


class Brand:
    """The brand `acme`; the test answers its commands, on two replicas in turn."""

    def __init__(self, api: httpx.AsyncClient, replicas: list[Database], message_of: MessageOf) -> None:
        self.api = api
        self.replicas = replicas
        self._message_of = message_of
        self.cycle = ""
        self._chain = ""

    async def submit(self, *keywords: str) -> None:
        answer = await self.api.post("/v1/brands/acme/research", json={"keywords": keywords})
        self.cycle = f"/v1/cycles/{answer.json()['cycle_id']}"
        self._chain = answer.json()["correlation_id"]

    async def progress(self) -> dict[str, Any]:
        progress: dict[str, Any] = (await self.api.get(self.cycle)).json()
        return progress

    async def hear(self, *payloads: Payload, replica: int = 0) -> None:
        async with self.replicas[replica].transaction() as tx:
            await route([self._message_of(each, self._chain) for each in payloads], tx)

    async def commands(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of what was sent since this was asked last."""
        rows = await self.fetch(
            "delete from outbox where type = $1 returning convert_from(body, 'utf8') as body", kind
        )
        return [json.loads(row["body"])["payload"] for row in rows]

    async def research_all(self) -> int:
        """Answers what was asked of research, by both replicas at the same time."""
        asked = await self.commands("research.requested")
        found = [
            ResearchCompleted(brand_slug="acme", research_id=new_event_id(), keyword=each["keyword"])
            for each in asked
        ]
        await asyncio.gather(
            *(self.hear(*found[replica::2], replica=replica) for replica in (0, 1) if found[replica::2])
        )
        return len(asked)

    async def write(self, command: dict[str, Any], how: str, replica: int) -> None:
        """One of the ways in which a command to write an article ends, as the writers store and tell it."""
        about = {
            "brand_slug": "acme",
            "content_id": UUID(command["content_id"]),
            "keyword": command["keyword"],
        }
        match how:
            case "lost":
                lost = DeadLetterRecorded(
                    **about,
                    dead_event_id=new_event_id(),
                    message_type="content.generate",
                    queue="orchestrator-commands",
                    reason="exhausted",
                )
                await self.hear(lost, replica=replica)
            case "refused":
                await self.hear(ContentRefused(**about, reason="insufficient_sources"), replica=replica)
            case _:
                await self.store(command)
                await self.hear(ContentRefused(**about, reason="needs_review"), replica=replica)

    async def store(self, command: dict[str, Any]) -> None:
        async with self.replicas[0].transaction() as tx:
            await insert_content(
                tx.connection,
                content_id=UUID(command["content_id"]),
                brand_slug="acme",
                keyword=command["keyword"],
                research_id=UUID(int=5),
                article=ARTICLE,
                sources=[SOURCE],
                held_for=["its brand wants to see it"],
            )

    async def unreviewed(self) -> int:
        ((count,),) = await self.fetch(UNREVIEWED)
        return int(count)

    async def waiting(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = (await self.api.get("/v1/drafts", params={"state": "waiting"})).json()[
            "items"
        ]
        return items

    async def decide(self, draft: dict[str, Any], what: str, **body: Any) -> None:
        answer = await self.api.post(f"/v1/drafts/{draft['content_id']}/{what}", json=body or None)
        assert answer.status_code == 200, answer.text
        # What the router hears of it.
        for kind, payload in (("content.generated", ContentGenerated), ("content.refused", ContentRefused)):
            for told in await self.commands(kind):
                await self.hear(payload.model_validate(told))

    async def fetch(self, sql: str, *arguments: object) -> list[Any]:
        async with self.replicas[0].connection() as connection:
            return list(await connection.fetch(sql, *arguments))


@pytest.fixture
async def brand(
    api: httpx.AsyncClient,
    orchestrator_database: Database,
    orchestrator_url: str,
    orchestrator_database_at: Callable[[str], AbstractAsyncContextManager[Database]],
    message_of: MessageOf,
) -> AsyncIterator[Brand]:
    (await api.put("/v1/brands/acme", json={"name": "Acme", "approval": "everything"})).raise_for_status()
    async with orchestrator_database_at(orchestrator_url) as second:
        yield Brand(api, [orchestrator_database, second], message_of)


@pytest.mark.extended
@pytest.mark.parametrize("limit", [1, 5])
async def test_no_more_drafts_wait_unreviewed_than_may_and_every_keyword_gets_its_turn(
    brand: Brand, limit: int
) -> None:
    random = Random(limit)
    policy = {"name": "Acme", "approval": "everything", "max_unreviewed_drafts": limit}
    (await brand.api.put("/v1/brands/acme", json=policy)).raise_for_status()
    await brand.submit(*(f"keyword {number}" for number in range(100)))
    written = most = 0
    for _ in range(400):
        await brand.research_all()
        commands = await brand.commands("content.generate")
        written += len(commands)
        ways = [random.choice(("held", "held", "held", "held", "refused", "lost")) for _ in commands]
        await asyncio.gather(
            *(
                brand.write(each, way, n % 2)
                for n, (each, way) in enumerate(zip(commands, ways, strict=True))
            ),
            *(dispatch_overlooked(replica, DEFAULT_LIMITS) for replica in brand.replicas),
        )
        unreviewed = await brand.unreviewed()
        assert unreviewed <= limit
        most = max(most, unreviewed)
        if not commands and (waiting := await brand.waiting()):
            draft = random.choice(waiting)
            match random.choice(("reject", "reject", "approve", "looked")):
                case "reject":
                    await brand.decide(draft, "reject", version=draft["version"], reason="no")
                case "approve":
                    await brand.decide(draft, "approve", version=draft["version"])
                case _:
                    await brand.decide(draft, "looked")
        if written == 100 and not await brand.waiting():
            break
    progress = await brand.progress()
    assert (written, most, progress["pending"]) == (100, limit, 0)
    assert set(progress["states"]) == {"publishing", "rejected", "refused", "failed"}


async def test_one_decision_makes_room_for_one_more(brand: Brand) -> None:
    await brand.submit(*(f"keyword {number}" for number in range(40)))
    await brand.research_all()
    first = await brand.commands("content.generate")
    assert len(first) == 5
    for each in first[:3]:
        await brand.write(each, "held", 0)
    assert await brand.commands("content.generate") == []
    for each in first[3:]:
        await brand.write(each, "held", 0)

    (draft, *others) = await brand.waiting()
    await brand.decide(draft, "reject", version=1, reason="no")
    (sixth,) = await brand.commands("content.generate")
    # Edited and looked at again and again, one draft is one draft.
    for title in ("Tea time", "Time for tea"):
        await brand.decide(others[0], "edit", version=1 if title == "Tea time" else 2, title=title)
    await brand.decide(others[0], "looked")
    (seventh,) = await brand.commands("content.generate")
    for each in (sixth, seventh):
        await brand.write(each, "held", 1)
    assert (await brand.unreviewed(), await brand.commands("content.generate")) == (5, [])


async def test_what_is_sent_back_keeps_its_room_until_it_is_given_up(brand: Brand) -> None:
    """It returns as an unreviewed draft."""
    await brand.submit(*(f"keyword {number}" for number in range(40)))
    await brand.research_all()
    for each in await brand.commands("content.generate"):
        await brand.write(each, "held", 0)
    await brand.fetch("update brands set writer = 'model'")
    draft, other, *_ = await brand.waiting()
    await brand.decide(draft, "return", version=1, comment="shorter")
    (again,) = await brand.commands("content.generate")
    assert again["content_id"] == draft["content_id"]

    # Nothing comes of it: it waits again, and is a draft like the others.
    await brand.fetch("update decisions set made_at = made_at - interval '9 hours'")
    assert (
        await StalledRewriteReaper(brand.replicas[0], after=timedelta(hours=6)).reset_stalled_rewrites() == 1
    )
    assert await brand.unreviewed() == 5
    await brand.decide(other, "reject", version=1, reason="no")
    assert len(await brand.commands("content.generate")) == 1


async def test_more_may_wait_where_the_brand_says_so_and_fewer_are_begun_where_it_says_that(
    brand: Brand,
) -> None:
    policy = {"name": "Acme", "approval": "everything", "max_unreviewed_drafts": 2}
    answer = await brand.api.put("/v1/brands/acme", json=policy)
    assert answer.json()["policy"]["max_unreviewed_drafts"] == answer.json()["max_unreviewed_drafts"] == 2
    await brand.submit(*(f"keyword {number}" for number in range(20)))
    await brand.research_all()
    commands = await brand.commands("content.generate")
    assert len(commands) == 2
    for each in commands:
        await brand.write(each, "held", 0)
    agent = (await brand.api.get("/v1/brands/acme")).json()["agent"]
    assert agent["waits"] == "waits for a person: 2 drafts of its brand wait for review"

    (await brand.api.put("/v1/brands/acme", json=policy | {"max_unreviewed_drafts": 6})).raise_for_status()
    await dispatch_overlooked(brand.replicas[1], DEFAULT_LIMITS)
    assert len(await brand.commands("content.generate")) == 4
    for none in (0, 101, "5.5"):
        refused = await brand.api.put("/v1/brands/acme", json=policy | {"max_unreviewed_drafts": none})
        assert refused.status_code == 422


async def test_a_cycle_says_what_holds_it_up_and_ends_once_with_the_last_decision(brand: Brand) -> None:
    policy = {"name": "Acme", "approval": "everything", "max_unreviewed_drafts": 3}
    (await brand.api.put("/v1/brands/acme", json=policy)).raise_for_status()
    await brand.submit(*(f"keyword {number}" for number in range(4)))
    assert (await brand.progress())["held_up"] is None
    await brand.research_all()
    for each in await brand.commands("content.generate"):
        await brand.write(each, "held", 0)
    progress = await brand.progress()
    assert progress["held_up"] == {
        "reason": "waits for a person: 3 drafts of its brand wait for review",
        "drafts": 3,
    }
    assert (progress["state"], progress["drafts_waiting"], progress["failed"]) == ("running", 3, 0)
    listed = (await brand.api.get("/v1/cycles", params={"state": ["paused", "running"]})).json()["items"]
    assert [each["held_up"] for each in listed] == [progress["held_up"]]

    states = []
    for draft in await brand.waiting():
        await brand.decide(draft, "reject", version=1, reason="no")
        for each in await brand.commands("content.generate"):
            await brand.write(each, "held", 0)
        states.append((await brand.progress())["state"])
    assert (states, await brand.commands("cycle.completed")) == (["waiting"] * 3, [])
    waits = await brand.progress()
    assert (waits["waiting"], waits["ended_at"], waits["held_up"], waits["percent"]) == (1, None, None, 75)
    assert (await brand.api.get("/v1/cycles", params={"state": "waiting"})).json()["items"][0]["waiting"] == 1

    (last,) = await brand.waiting()
    await brand.decide(last, "reject", version=1, reason="no")
    ended = await brand.progress()
    assert (ended["state"], ended["waiting"], ended["ended_at"] is None) == ("failed", 0, False)
    (told,) = await brand.commands("cycle.completed")
    assert CycleCompleted.model_validate(told).states == {"rejected": 4}


async def test_a_brand_says_what_its_keywords_wait_for(brand: Brand) -> None:
    await brand.submit("one", "two", "three")
    await brand.research_all()
    (first, second, third) = await brand.commands("content.generate")
    for command, left in ((first, "0.01"), (second, "0.02")):
        await brand.fetch(
            "insert into writing_waits (content_id, reason, until) values ($1, $2, now() + interval '45 seconds')",
            UUID(command["content_id"]),
            f"waits for the model's budget: {left} dollars are left",
        )
    # Of an article that is written meanwhile.
    await brand.write(third, "held", 0)
    await brand.fetch(
        "insert into writing_waits (content_id, reason, until) values ($1, 'waits for a turn: old', now())",
        UUID(third["content_id"]),
    )
    (wait,) = (await brand.api.get("/v1/brands/acme")).json()["agent"]["keyword_waits"]
    assert (wait["reason"], wait["keywords"]) == ("the model's budget: 0.01 dollars are left", 2)
