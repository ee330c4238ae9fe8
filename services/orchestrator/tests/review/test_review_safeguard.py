"""Five unreviewed drafts pause a brand; its counters always agree with the rows."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

import httpx
import pytest

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import (
    ContentGenerated,
    ContentPublished,
    ContentRefused,
    ResearchCompleted,
    ResearchFailed,
    SocialPosted,
)
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.cycles import route
from writing import Article, ArticleSource

ARTICLE = Article("Tea", "tea", "About tea.", "It is steeped. [1]\n", 3, ("It is steeped.",), (1,))
SOURCE = ArticleSource(n=1, title="Steeping", passages=(), path="steeping.md")
STEPS = {"research.requested", "content.generate"}
"""What begins something for a brand."""
FIVE_WAIT = "waits for a person: 5 drafts of its brand wait for review"


class Life:
    """A brand's, played by hand: what other services would answer, and what a person decides."""

    def __init__(self, api: httpx.AsyncClient, database: Database, message_of: Callable[..., Any]) -> None:
        self.api = api
        self.database = database
        self._message_of = message_of

    async def begin(self, *keywords: str) -> str:
        answer = await self.api.post("/v1/brands/acme/research", json={"keywords": keywords})
        return answer.json()["cycle_id"]

    async def hear(self, keyword: dict[str, Any], payload: Any) -> None:
        message: DomainMessage[Any] = self._message_of(payload, keyword["correlation_id"])
        async with self.database.transaction() as tx:
            await route([message], tx)

    async def research(self, keyword: dict[str, Any]) -> None:
        await self.hear(
            keyword,
            ResearchCompleted(brand_slug="acme", research_id=new_event_id(), keyword=keyword["keyword"]),
        )

    async def write(self, keyword: dict[str, Any], *held_for: str) -> None:
        async with self.database.transaction() as tx:
            await insert_content(
                tx.connection,
                content_id=keyword["content_id"],
                brand_slug="acme",
                keyword=keyword["keyword"],
                research_id=UUID(int=5),
                article=ARTICLE,
                sources=[SOURCE],
                held_for=held_for,
            )
        about = {"brand_slug": "acme", "content_id": keyword["content_id"], "keyword": keyword["keyword"]}
        await self.hear(
            keyword,
            ContentRefused(**about, reason="needs_review")
            if held_for
            else ContentGenerated(**about, word_count=3),
        )

    async def keywords(self) -> list[dict[str, Any]]:
        return await self._rows("select k.*, correlation_id from keywords as k join cycles using (cycle_id)")

    async def content(self) -> list[dict[str, Any]]:
        return await self._rows("select * from content order by content_id")

    async def sent(self) -> list[str]:
        """The types of what was sent since this was asked last."""
        return [row["type"] for row in await self._rows("delete from outbox returning type")]

    async def agent(self) -> dict[str, Any]:
        return (await self.api.get("/v1/brands/acme")).json()["agent"]

    async def unseen(self) -> int:
        looked = (await self._rows("select looked_at from brands"))[0]["looked_at"]
        looked = looked or datetime.min.replace(tzinfo=UTC)
        return sum(
            bool(row["held_for"])
            and row["decision"] is None
            and (row["waits_since"] or row["created_at"]) > max(looked, row["reviewed_at"] or looked)
            for row in await self.content()
        )

    async def counted(self) -> dict[str, int]:
        """The counters, from every row there is."""
        keywords, content = await self.keywords(), await self.content()
        posts = [post for row in keywords for post in json.loads(row["posts"])]
        return {
            "pending_research": sum(row["state"] == "queued" for row in keywords),
            "drafts_waiting": sum(bool(row["held_for"]) and row["decision"] is None for row in content),
            "generated": len(content),
            "published": sum(row["published_url"] is not None for row in content),
            "posted": sum(post["url"] is not None for post in posts),
            "failed": sum(row["state"] == "failed" for row in keywords),
        }

    async def _rows(self, sql: str) -> list[dict[str, Any]]:
        async with self.database.connection() as connection:
            return [dict(row) for row in await connection.fetch(sql)]


@pytest.fixture
async def life(
    api: httpx.AsyncClient, orchestrator_database: Database, message_of: Callable[..., Any]
) -> Life:
    (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
    return Life(api, orchestrator_database, message_of)


async def pile_up(life: Life, count: int) -> None:
    await life.begin(*(f"draft {number}" for number in range(count)))
    for number in range(count):
        await life.research(await named(life, f"draft {number}"))
        await life.write(await named(life, f"draft {number}"), "231 words")
    await life.sent()


async def named(life: Life, keyword: str) -> dict[str, Any]:
    return next(each for each in await life.keywords() if each["keyword"] == keyword)


@pytest.mark.extended
@pytest.mark.parametrize("way", ["looked", "approve", "reject", "edit"])
async def test_with_five_drafts_nothing_is_begun_until_a_person_has_looked(life: Life, way: str) -> None:
    await pile_up(life, 4)
    await life.begin("still begun")
    assert await life.sent() == ["research.requested"]
    await life.research(await named(life, "still begun"))
    await life.write(await named(life, "still begun"), "231 words")
    await life.sent()
    assert (await life.agent())["waits"] == FIVE_WAIT

    cycle_id = await life.begin("one", "another")
    assert await life.sent() == []
    told = (await life.api.get(f"/v1/cycles/{cycle_id}")).json()["keywords"]
    assert [(each["state"], each["waits"]) for each in told] == [("queued", FIVE_WAIT)] * 2

    if way == "looked":
        answer = await life.api.post("/v1/brands/acme/looked")
    else:
        body = {"version": 1, "reason": "no", "title": "Better"}
        wanted = {"approve": ("version",), "reject": ("version", "reason"), "edit": ("version", "title")}[way]
        draft = (await life.content())[0]["content_id"]
        answer = await life.api.post(f"/v1/drafts/{draft}/{way}", json={name: body[name] for name in wanted})
    assert answer.status_code == 200, answer.text
    assert sorted(set(await life.sent()) & STEPS) == ["research.requested"]
    assert (await life.agent())["waits"] is None


async def test_what_is_researched_waits_to_be_written_and_is_not_lost(life: Life) -> None:
    await life.begin("late")
    await pile_up(life, 5)
    await life.research(await named(life, "late"))
    assert await life.sent() == []
    late = await named(life, "late")
    assert (late["state"], late["awaits_turn"]) == ("writing", True)

    await life.api.post("/v1/brands/acme/looked")
    assert await life.sent() == ["content.generate"]


@pytest.mark.extended
@pytest.mark.parametrize("seed", range(3))
async def test_counters_say_what_the_rows_say_and_no_step_is_taken_unwatched(life: Life, seed: int) -> None:
    random = Random(seed)
    stopped = 0
    for number in range(80):
        unseen = await life.unseen()
        person = await step(life, random, number)
        begun = set(await life.sent()) & STEPS
        agent = await life.agent()
        assert agent["counters"] == await life.counted()
        assert (agent["waits"] is None) == (await life.unseen() < 5)
        if unseen >= 5:
            stopped += 1
            assert person or not begun
    assert stopped

    # What waited goes on, however often it has to be looked at.
    while waiting := [each for each in await life.keywords() if each["awaits_turn"]]:
        await life.api.post("/v1/brands/acme/looked")
        assert set(await life.sent()) & STEPS, waiting


async def step(life: Life, random: Random, number: int) -> bool:
    """Something happens, often twice, sometimes out of order; whether a person did it."""
    keywords, content = await life.keywords(), await life.content()
    if number % 6 == 0 or not keywords:
        await life.begin(*(f"keyword {number} {part}" for part in range(random.randint(1, 4))))
        return False
    if content and number % 40 > 30 and random.random() < 0.5:  # the person is away for most of the time
        await decide(life, random, random.choice(content)["content_id"])
        return True
    stored = {row["content_id"] for row in content}
    unwritten = [each for each in keywords if each["content_id"] not in stored and not each["awaits_turn"]]
    keyword = random.choice(unwritten if unwritten and random.random() < 0.8 else keywords)
    about = {"brand_slug": "acme", "content_id": keyword["content_id"]}
    for _ in range(random.randint(1, 2)):
        if keyword["content_id"] is None:
            if random.random() < 0.8:
                await life.research(keyword)
            else:
                failed = ResearchFailed(brand_slug="acme", keyword=keyword["keyword"], reason="exhausted")
                await life.hear(keyword, failed)
        elif keyword["content_id"] not in stored and not keyword["awaits_turn"]:
            await life.write(keyword, *(["231 words"] if random.random() < 0.8 else []))
        elif random.random() < 0.6:
            url = f"https://acme.example/{keyword['content_id']}"
            if keyword["generated"]:
                await life.hear(keyword, ContentPublished(**about, published_url=url))
        else:
            post = f"https://acme.example/posts/{keyword['content_id']}"
            await life.hear(keyword, SocialPosted(**about, platform="feed", post_url=post))
    return False


async def decide(life: Life, random: Random, content_id: UUID) -> None:
    path = f"/v1/drafts/{content_id}"
    version = (await life.api.get(path)).json()["version"]
    what, body = random.choice(
        [
            ("approve", {}),
            ("approve", {}),
            ("reject", {"reason": "no"}),
            ("edit", {"title": f"Title {random.random()}"}),
            ("looked", None),
        ]
    )
    if body is None:
        assert (await life.api.post("/v1/brands/acme/looked")).status_code == 200
        return
    for _ in range(random.randint(1, 2)):
        answer = await life.api.post(f"{path}/{what}", json={"version": version, **body})
        assert answer.status_code in {200, 409}
