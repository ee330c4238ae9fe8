"""Whatever is asked, nothing fails, and what is answered is in the document."""

from pathlib import Path
from uuid import UUID

import httpx
import pytest

from chassis.testing.strange_requests import Target, ask_strangely
from envelope import new_event_id
from messaging import Database
from orchestrator.writing import Article, Source
from orchestrator.writing.store import insert_content
from tests.fixtures.openapi.fuzzing import DEPTHS, fuzz

ARTICLE = Article(
    title="Cold brew",
    slug="cold-brew",
    meta_description="How to steep it.",
    body_markdown="## Time\n\nTwelve hours are enough. [1]",
    word_count=4,
    key_points=("Twelve hours are enough.",),
    cited=(1,),
)
SOURCE = Source(n=1, title="Steeping", passages=(), path="steeping.md")
BRAND = {"name": "Acme", "description": "d", "language": "en", "channels": ["feed"], "target": "site"}
KEY = {"name": "newsroom", "scopes": ["read"], "expires_at": "2030-01-01T00:00:00Z"}
ONCE = {"at": "2090-01-01T00:00:00Z", "keywords": ["cold brew"]}
SCHEDULE = {"cron": "0 6 * * SUN", "time_zone": "Europe/Berlin", "keywords": ["cold brew"]}


@pytest.fixture
async def known(api: httpx.AsyncClient, orchestrator_database: Database) -> dict[str, list[str | int]]:
    """By parameter: brands with cycles, schedules, drafts and articles, and keys of the API."""
    (await api.put("/v1/brands/daily-grind", json={"name": "The Daily Grind"})).raise_for_status()
    cycles, keys, contents = [], [], []
    for number in range(10):
        keywords = [f"{drink} {number}" for drink in ("cold brew", "moka pot")]
        accepted = await api.post("/v1/brands/daily-grind/research", json={"keywords": keywords})
        cycles.append(accepted.raise_for_status().json()["cycle_id"])
        made = await api.post("/v1/keys", json={"name": f"key-{number}", "scopes": ["read"]})
        keys.append(made.raise_for_status().json()["about"]["key_id"])
        (await api.put(f"/v1/brands/daily-grind/schedules/weekly-{number}", json=SCHEDULE)).raise_for_status()
    # Some are deleted by what is asked.
    async with orchestrator_database.transaction() as tx:
        for number in range(40):
            contents.append(new_event_id())
            await insert_content(
                tx.connection,
                content_id=contents[-1],
                brand_slug="daily-grind",
                keyword=f"cold brew {number}",
                research_id=UUID(int=5),
                article=ARTICLE,
                sources=[SOURCE],
                held_for=("231 words",),
            )
    return {
        "path.slug": ["daily-grind"],
        "path.cycle_id": cycles,
        "path.key_id": keys,
        "path.name": [f"weekly-{number}" for number in range(10)],
        "path.content_id": [str(each) for each in contents],
        "path.version": [1],
    }


async def test_nothing_that_is_asked_makes_the_orchestrator_fail(
    api: httpx.AsyncClient, known: dict[str, list[str | int]]
) -> None:
    research = {"keywords": ["cold brew", "moka pot"], "priority": "high"}
    document = (await api.get("/openapi.json")).json()
    values = {place.rpartition(".")[2]: list(map(str, found)) for place, found in known.items()}
    target = Target(
        str(api.base_url),
        [*document["paths"], "/openapi.json", "/docs", "/docs/assets/{name}", "/v1/{x}", "/{x}"],
        known=values | {"id": values["content_id"]},
        bodies=[BRAND, research, SCHEDULE, ONCE, KEY],
        key=api.headers["X-Service-Key"],
        document=document,
    )
    answered = await ask_strangely(target, count=300)
    assert {200, 202, 401, 404, 405, 422} <= set(answered)


@pytest.mark.parametrize("thorough", DEPTHS)
async def test_the_orchestrator_is_as_documented(
    api: httpx.AsyncClient, known: dict[str, list[str | int]], tmp_path: Path, thorough: bool
) -> None:
    # Digests cannot be sent back, and nothing is being written here.
    unreached = {
        "POST /v1/drafts/{content_id}/return",
        "GET /v1/workflows/{content_id}",
        "GET /v1/workflows/{content_id}/steps/{step}",
        "POST /v1/workflows/{content_id}/cancel",
        "POST /v1/workflows/{content_id}/retry",
    }
    await fuzz(api, tmp_path, known=known, thorough=thorough, unreached=unreached)
