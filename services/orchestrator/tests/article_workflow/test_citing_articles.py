"""Sentences of articles that rest on a document, and the places of their passages in it."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from envelope import new_event_id
from envelope.brand.settings import BrandSettings
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.brands import upsert_brand
from writing import Article
from writing.article import ArticleEvidence, ArticleSource, CitedPassage, KeptSentence

PATH = "brewing.md"
PAGE = ArticleSource(n=1, title="Brewing", passages=(), path=PATH)
OTHER = ArticleSource(n=2, title="Storing", passages=(), path="storing.md")
DIGEST = Article(
    title="Cold brew",
    slug="cold-brew",
    meta_description="How to steep it.",
    body_markdown="Cold brew steeps for hours. [1]\n\n## Keeping\n\nIt keeps for a week. [2]\n\n- Twelve hours are enough. [1]\n",
    word_count=14,
    key_points=(),
    cited=(1, 2),
    section="Cold brew",
)
DRAFT = Article(
    title="Brewing time",
    slug="brewing-time",
    meta_description="How long to steep.",
    body_markdown="Steep it for hours. [1] Keep it cold. [2]\n",
    word_count=7,
    key_points=(),
    cited=(1, 2),
    evidence=ArticleEvidence(
        (
            KeptSentence("Steep it for hours.", "", (1,), ("s1p1",), "held", "rules"),
            KeptSentence("Keep it cold.", "", (2,), ("s2p1",), "confirmed", "judge-1"),
        ),
        (),
        {
            "s1p1": CitedPassage(1, ("Brewing", "Time"), "Steep it for hours."),
            "s2p1": CitedPassage(2, ("Storing",), "Keep it cold."),
        },
    ),
)


@pytest.fixture
async def brands(orchestrator_database: Database) -> Database:
    async with orchestrator_database.transaction() as tx:
        for slug in ("acme", "other"):
            await upsert_brand(tx.connection, slug, BrandSettings(name=slug, channels=()))
    return orchestrator_database


async def store(database: Database, article: Article, *, brand: str = "acme", keyword: str = "tea") -> UUID:
    content_id = new_event_id()
    async with database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug=brand,
            keyword=keyword,
            research_id=UUID(int=5),
            article=article,
            sources=[PAGE, OTHER],
        )
    return content_id


async def found(api: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    answer = await api.get("/v1/sources/sentences", params={"path": PATH, **query})
    assert answer.status_code == 200, answer.text
    listed: dict[str, Any] = answer.json()
    return listed


async def test_sentences_of_digests_and_models_are_listed_with_the_place_of_their_passages(
    brands: Database, api: httpx.AsyncClient
) -> None:
    digest = await store(brands, DIGEST)
    draft = await store(brands, DRAFT, keyword="how long to steep")
    of_model, of_digest = (await found(api))["items"]

    assert (of_digest["content_id"], of_digest["state"], of_digest["version"]) == (
        str(digest),
        "publishing",
        1,
    )
    assert [(each["text"], each["verdict"], each["titles"]) for each in of_digest["sentences"]] == [
        ("Cold brew steeps for hours.", "quoted", ["Brewing", "Cold brew"]),
        ("Twelve hours are enough.", "quoted", ["Brewing", "Cold brew", "Keeping"]),
    ]
    assert of_model["content_id"] == str(draft)
    assert of_model["sentences"] == [
        {
            "text": "Steep it for hours.",
            "heading": "",
            "verdict": "held",
            "given_by": "rules",
            "titles": ["Brewing", "Time"],
        }
    ]
    assert (await found(api, path="nothing.md")) == {"items": [], "next": None}


async def test_articles_are_listed_page_by_page_and_only_those_of_the_callers_brands(
    brands: Database, api: httpx.AsyncClient
) -> None:
    ids = [await store(brands, DIGEST, keyword=f"tea {n}") for n in range(3)]
    elsewhere = await store(brands, DIGEST, brand="other")
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = await found(api, brand="acme", limit=2, **after)
        seen += [each["content_id"] for each in page["items"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert seen == [str(each) for each in reversed(ids)]

    asked = {"name": "other-only", "scopes": ["read"], "brands": ["other"]}
    key = (await api.post("/v1/keys", json=asked)).raise_for_status().json()["key"]
    async with httpx.AsyncClient(base_url=api.base_url, headers={"Authorization": f"Bearer {key}"}) as bound:
        listed = await found(bound)
        assert [each["content_id"] for each in listed["items"]] == [str(elsewhere)]
        refused = await bound.get("/v1/sources/sentences", params={"path": PATH, "brand": "acme"})
        assert refused.status_code == 404
    for wrong in ({"limit": 201}, {"path": ""}, {"path": "a\0"}, {"brand": "A b"}, {"after": "x"}):
        answer = await api.get("/v1/sources/sentences", params={"path": PATH, **wrong})
        assert answer.status_code == 422, wrong
    assert (await api.get("/v1/sources/sentences")).status_code == 422
