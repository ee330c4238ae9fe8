"""No strange request causes a failure, and every answer is in the document."""

from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from chassis.testing.strange_requests import FuzzTarget, ask_strangely
from envelope import new_event_id
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from tests.fixtures.openapi.fuzzing import DEPTHS, fuzz
from writing import Article, ArticleSource
from writing.article import ArticleEvidence, CutSentence

pytestmark = pytest.mark.extended

ARTICLE = Article(
    title="Cold brew",
    slug="cold-brew",
    meta_description="How to steep it.",
    body_markdown="## Time\n\nTwelve hours are enough. [1]",
    word_count=4,
    key_points=("Twelve hours are enough.",),
    cited=(1,),
    evidence=ArticleEvidence(
        sentences=(),
        cuts=(
            CutSentence(
                "It is the best.",
                "Time",
                (),
                "unsupported",
                "no passage says so",
                "",
                "Twelve hours are enough.",
            ),
        ),
        passages={},
    ),
)
SOURCE = ArticleSource(n=1, title="Steeping", passages=(), path="steeping.md")
BRAND = {"name": "Acme", "description": "d", "language": "en", "channels": ["feed"], "target": "site"}
DRAFTS = 300
"""More than are deleted, however much is asked, and more than there are operations: each asks for others."""
WRITING = 60
SLUGS = ("daily-grind", "tea-time")
KEY = {"name": "newsroom", "scopes": ["read"], "expires_at": "2030-01-01T00:00:00Z"}
ONCE = {"at": "2090-01-01T00:00:00Z", "keywords": ["cold brew"]}
SCHEDULE = {"cron": "0 6 * * SUN", "time_zone": "Europe/Berlin", "keywords": ["cold brew"]}


@pytest.fixture
async def known(api: httpx.AsyncClient, orchestrator_database: Database) -> dict[str, list[str | int]]:
    """By parameter: brands with cycles, schedules, audits, drafts, articles and workflows, and keys of the API."""
    for slug in SLUGS:
        (await api.put(f"/v1/brands/{slug}", json={"name": "The Daily Grind"})).raise_for_status()
    async with orchestrator_database.connection() as connection:
        # Past the API, which takes the writer only where one is configured: what a model wrote can be sent back.
        await connection.execute("update brands set writer = 'model' where slug = $1", SLUGS[1])
    cycles, keys, audits = [], [], []
    for number in range(10):
        path = f"/v1/brands/{SLUGS[number % 2]}"
        cycles.append(
            await posted(api, f"{path}/research", "cycle_id", {"keywords": [f"cold brew {number}"]})
        )
        audits.append(await posted(api, f"{path}/audits", "audit_id"))
        (await api.put(f"{path}/schedules/weekly-{number}", json=SCHEDULE)).raise_for_status()
        about = (await api.post("/v1/keys", json={"name": f"key-{number}", "scopes": ["read"]})).json()[
            "about"
        ]
        keys.append(about["key_id"])
    drafts = await in_states(api, orchestrator_database, SLUGS[1], "needs_review", DRAFTS)
    writing = await in_states(api, orchestrator_database, SLUGS[0], "writing", WRITING)
    for content_id in drafts[:3]:
        sent_back = {"version": 1, "comment": "Say how long it keeps."}
        (await api.post(f"/v1/drafts/{content_id}/return", json=sent_back)).raise_for_status()
    async with orchestrator_database.connection() as connection:
        for slug in SLUGS:
            await connection.execute(
                "insert into erasures (erasure_id, brand_slug, asked_by, ended_at) values ($1, $2, 'x', now())",
                new_event_id(),
                slug,
            )
        # What is being written has given no sign for two hours.
        await connection.execute("update keywords set moved_at = now() - interval '2 hours'")
        await connection.execute("update decisions set made_at = now() - interval '2 hours'")
    return {
        "path.slug": list(SLUGS),
        "query.brand": list(SLUGS),
        "query.path": ["steeping.md"],
        "path.cycle_id": cycles,
        "path.audit_id": audits,
        "path.step": ["fetch_research"],
        "path.target": ["site"],
        "path.key_id": keys,
        "path.name": [f"weekly-{number}" for number in range(10)],
        "path.content_id": drafts,
        "writing": writing,
        "path.version": [1],
        "path.position": [1],
        "body.number": [1],
        # Most texts that are made up have a control character, and are refused.
        "body.reason": ["It is wrong."],
        "body.comment": ["Say how long it keeps."],
    }


async def posted(api: httpx.AsyncClient, path: str, name: str, body: Any = None) -> str:
    """The answer's field of this name."""
    return str((await api.post(path, json=body)).raise_for_status().json()[name])


async def in_states(
    api: httpx.AsyncClient, database: Database, slug: str, state: str, count: int
) -> list[str]:
    """Articles of keywords in this state, with a first step that is done; as drafts, if they need a review."""
    keywords = [f"{state} {number}" for number in range(count)]
    cycle_id = await posted(api, f"/v1/brands/{slug}/research", "cycle_id", {"keywords": keywords})
    contents = [new_event_id() for _ in keywords]
    async with database.transaction() as tx:
        await tx.connection.execute(
            """
            update keywords
            set content_id = ($1::uuid[])[position], research_id = ($1::uuid[])[position], state = $2, awaits_turn = false,
                held = $2 = 'needs_review'
            where cycle_id = $3
            """,
            contents,
            state,
            UUID(cycle_id),
        )
        await tx.connection.executemany(
            "insert into workflow_steps (workflow_id, step, result) values ($1, 'fetch_research', '[1]')",
            [(each,) for each in contents],
        )
        for content_id, keyword in zip(contents, keywords, strict=True):
            if state == "needs_review":
                await insert_content(
                    tx.connection,
                    content_id=content_id,
                    brand_slug=slug,
                    keyword=keyword,
                    research_id=UUID(int=5),
                    article=ARTICLE,
                    sources=[SOURCE],
                    held_for=("231 words",),
                )
    return [str(each) for each in contents]


async def test_nothing_that_is_asked_makes_the_orchestrator_fail(
    api: httpx.AsyncClient, known: dict[str, list[str | int]]
) -> None:
    research = {"keywords": ["cold brew", "moka pot"], "priority": "high"}
    document = (await api.get("/openapi.json")).json()
    values = {place.rpartition(".")[2]: list(map(str, found)) for place, found in known.items()}
    target = FuzzTarget(
        str(api.base_url),
        [
            *document["paths"],
            *["/v1/brands/{slug}/research"] * 5,
            "/openapi.json",
            "/docs",
            "/docs/assets/{name}",
            "/v1/{x}",
            "/{x}",
        ],
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
    writing = known.pop("writing")
    known["query.type"] = ["content.generate"]
    known["path.part"] = ["articles"]
    if thorough:  # with few questions, some operations would ask for these alone, and they are no drafts
        known["path.content_id"] += writing
    # Asked for much, what is left after all refused texts names articles that are gone or were never drafts; asked for little, it is reached.
    # Targets are asked of articles that are published, and these are drafts.
    # No judge is configured.
    unreached = {"POST /v1/content/{content_id}/placements/{target}", "POST /v1/judges/exams"}
    # No made-up id is a proposal's.
    unreached |= {
        f"POST /v1/drafts/{{content_id}}/proposals/{{proposal_id}}/{verb}" for verb in ("accept", "dismiss")
    }
    # Only a move that has begun is found, and its steps follow each other.
    unreached |= {"GET /v1/brands/{slug}/move", "PATCH /v1/brands/{slug}/move"}
    unreached |= {"POST /v1/drafts/{content_id}/take-down"} if thorough else set()
    await fuzz(api, tmp_path, known=known, thorough=thorough, unreached=unreached)
