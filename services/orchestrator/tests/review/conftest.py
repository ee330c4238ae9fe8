"""A brand's keyword with an article that waits for a person, and the messages since."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import pytest

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentRefused, ResearchCompleted
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.cycles import route
from writing import Article, ArticleSource

ARTICLE = Article(
    title="Cold brew",
    slug="cold-brew",
    meta_description="How to steep it.",
    body_markdown="## Time\n\nTwelve hours are enough. [1]",
    word_count=4,
    key_points=("Twelve hours are enough.",),
    cited=(1,),
)
SOURCE = ArticleSource(n=1, title="Steeping", passages=(), path="steeping.md")


@dataclass
class Waiting:
    """A draft, by the API and by what is behind it."""

    api: httpx.AsyncClient
    database: Database
    message_of: Callable[..., DomainMessage[Any]]
    content_id: UUID
    cycle: str
    correlation_id: str

    async def decide(self, what: str, **body: Any) -> httpx.Response:
        return await self.api.post(f"/v1/drafts/{self.content_id}/{what}", json=body)

    async def draft(self) -> dict[str, Any]:
        return (await self.api.get(f"/v1/drafts/{self.content_id}")).json()

    async def article(self) -> dict[str, Any]:
        return (await self.api.get(f"/v1/content/{self.content_id}")).json()

    async def keyword(self) -> dict[str, Any]:
        return (await self.api.get(self.cycle)).json()["keywords"][0]

    async def sent(self) -> list[DomainMessage[Any]]:
        """Returns the messages of the outbox, and empties it."""
        async with self.database.connection() as connection:
            rows = await connection.fetch("delete from outbox returning type, body, event_id")
        rows.sort(key=lambda row: row["event_id"])
        return [
            self.database.catalogue[row["type"]].envelope.model_validate_json(row["body"]) for row in rows
        ]

    async def handle(self, *messages: DomainMessage[Any]) -> None:
        async with self.database.transaction() as tx:
            await route(messages, tx)

    async def hear(self, payload: Any) -> None:
        await self.handle(self.message_of(payload, self.correlation_id))


@pytest.fixture
def make_waiting(
    api: httpx.AsyncClient, orchestrator_database: Database, message_of: Callable[..., DomainMessage[Any]]
) -> Callable[..., Awaitable[Waiting]]:
    """Makes a draft on a keyword of the brand `acme` that waits for these reasons."""

    async def make(
        keyword: str = "cold brew", *, held_for: tuple[str, ...] = ("231 words",), article: Article = ARTICLE
    ) -> Waiting:
        (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
        accepted = (await api.post("/v1/brands/acme/research", json={"keywords": [keyword]})).json()
        cycle, correlation_id = f"/v1/cycles/{accepted['cycle_id']}", accepted["correlation_id"]
        waiting = Waiting(api, orchestrator_database, message_of, UUID(int=0), cycle, correlation_id)
        await waiting.hear(ResearchCompleted(brand_slug="acme", research_id=new_event_id(), keyword=keyword))
        waiting.content_id = UUID((await waiting.keyword())["content_id"])
        async with orchestrator_database.transaction() as tx:
            await insert_content(
                tx.connection,
                content_id=waiting.content_id,
                brand_slug="acme",
                keyword=keyword,
                research_id=UUID(int=5),
                article=article,
                sources=[SOURCE],
                held_for=held_for,
            )
        if held_for:
            await waiting.hear(
                ContentRefused(
                    brand_slug="acme",
                    content_id=waiting.content_id,
                    keyword=keyword,
                    reason="needs_review",
                    detail="; ".join(held_for),
                )
            )
        await waiting.sent()
        return waiting

    return make


@pytest.fixture
async def waiting(make_waiting: Callable[..., Awaitable[Waiting]]) -> Waiting:
    return await make_waiting()
