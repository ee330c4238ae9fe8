"""A caller that is bound to a brand is answered as if there were no other, at every route that the document has."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from chassis.http.callers import SERVICE, Caller, Scope
from chassis.testing import serving
from envelope import new_event_id
from messaging import Database
from orchestrator.api import http_api
from orchestrator.article_workflow.store import insert_content
from writing import Article
from writing.article import ArticleSource

BOUND = Caller("acme's", frozenset(Scope), frozenset({"acme"}))
WEEKLY = {"keywords": ["tea"], "cron": "0 6 * * SUN"}
BODIES: dict[str, Any] = {
    "/v1/brands/{slug}": {"name": "Taken over"},
    "/v1/brands/{slug}/research": {"keywords": ["tea"]},
    "/v1/brands/{slug}/subject-decisions": {"kind": "join", "keyword": "tea", "other": "mate"},
    "/v1/brands/{slug}/erase": {"confirm": "acme"},
    "/v1/brands/{slug}/move": {"to": "https://other.example"},
    "/v1/brands/{slug}/parts/{part}": {"import_id": "00000000-0000-0000-0000-000000000007"},
    "/v1/cycles/{cycle_id}/keywords/{position}/priority": {"priority": "high"},
    "/v1/content/{content_id}/check": {"version": 1, "body_markdown": "Tea is a plant."},
    "/v1/drafts/{content_id}/approve": {"version": 1},
    "/v1/drafts/{content_id}/edit": {"version": 1, "title": "Taken over"},
    "/v1/drafts/{content_id}/proposals/edits": {"version": 1, "title": "Taken over", "comment": "not theirs"},
    "/v1/drafts/{content_id}/proposals/publications": {"version": 1, "comment": "not theirs"},
    "/v1/drafts/{content_id}/proposals/{proposal_id}/dismiss": {},
    "/v1/drafts/{content_id}/keep": {"version": 1, "number": 1},
    "/v1/drafts/{content_id}/take-down": {"reason": "not theirs"},
    "/v1/drafts/{content_id}/delete": {"reason": "not theirs"},
    "/v1/drafts/{content_id}/return": {"version": 1, "comment": "not theirs"},
    "/v1/drafts/{content_id}/reject": {"version": 1, "reason": "not theirs"},
    "/v1/workflows/{content_id}/retry": {},
    "/v1/backbone/pause": {"queue": "orchestrator-events", "reason": "not theirs"},
    "/v1/backbone/resume": {"queue": "orchestrator-events"},
    "/v1/messages/{message_id}/edit": {"original": {}, "payload": {}},
    "/v1/messages": [],
    "/v1/retries/run": {"type": "content.generate"},
    "/v1/retries/cancel": {"type": "content.generate", "reason": "not theirs"},
    "/v1/content/{content_id}/placements/{target}": {},
    "/v1/judges/exams": {"judge": "model"},
    "/v1/keys": {"name": "another", "scopes": ["read"]},
    "/v1/keys/{key_id}": {"per_minute": 60},
    "/v1/keys/{key_id}/rotate": {},
    "/v1/brands/{slug}/schedules/{name}": WEEKLY,
}
"""What is sent to the routes that take a body."""
VARYING = {"date"}


@dataclass(frozen=True)
class Place:
    """Values of a route's parameter."""

    foreign: str
    """Another brand's."""
    unknown: str
    """Nobody's; as long as the other."""


@pytest.fixture
async def http(orchestrator_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Sends requests of the bound caller; those of the service with `X-Service-Key: all`."""

    async def authorise(request: Request) -> Caller:
        return SERVICE if request.headers.get("X-Service-Key") == "all" else BOUND

    async with (
        serving(http_api(orchestrator_database, authorise)) as origin,
        httpx.AsyncClient(base_url=origin, trust_env=False) as client,
    ):
        yield client


ALL = {"X-Service-Key": "all"}


@pytest.fixture
async def places(http: httpx.AsyncClient, orchestrator_database: Database) -> dict[str, Place]:
    """By the names of parameters, with a brand `rival` that has something of everything."""
    for slug in ("acme", "rival"):
        (await http.put(f"/v1/brands/{slug}", json={"name": slug}, headers=ALL)).raise_for_status()
    cycle = await http.post("/v1/brands/rival/research", json={"keywords": ["tea"]}, headers=ALL)
    weekly = await http.put("/v1/brands/rival/schedules/weekly", json=WEEKLY, headers=ALL)
    weekly.raise_for_status()
    audit = await http.post("/v1/brands/rival/audits", headers=ALL)
    content_id, proposal = new_event_id(), new_event_id()
    async with orchestrator_database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug="rival",
            keyword="tea",
            research_id=new_event_id(),
            article=Article(
                slug="tea",
                title="Tea",
                meta_description="About tea.",
                body_markdown="## Tea\n\nIt is steeped.\n",
                word_count=5,
                key_points=("It is steeped.",),
                cited=(),
                label="digest",
            ),
            sources=[ArticleSource(n=1, title="Tea", passages=(), path="tea.md")],
            measures=(),
            held_for=("231 words",),
        )
        await tx.connection.execute(
            "update keywords set content_id = $1, state = 'needs_review', held = true", content_id
        )
        await tx.connection.execute(
            "insert into erasures (erasure_id, brand_slug, asked_by, ended_at) values ($1, 'rival', 'x', now())",
            new_event_id(),
        )
        await tx.connection.execute(
            "insert into brand_moves (brand_slug, move_id, moved_to, was_paused, begun_by) values ('rival', $1, 'x', false, 'x')",
            new_event_id(),
        )
        await tx.connection.execute(
            "insert into draft_proposals (id, content_id, version, proposed_by, comment) values ($1, $2, 1, 'x', 'It is ready.')",
            proposal,
            content_id,
        )
        await tx.connection.execute(
            "insert into workflow_steps (workflow_id, step, result) values ($1, 'fetch_research', '[1]')",
            content_id,
        )
    key = await http.post(
        "/v1/keys", json={"name": "rivals", "scopes": ["read"], "brands": ["rival"]}, headers=ALL
    )
    content = Place(str(content_id), str(new_event_id()))
    return {
        "slug": Place("rival", "noone"),
        "brand": Place("rival", "noone"),
        "cycle_id": Place(cycle.json()["cycle_id"], str(new_event_id())),
        "part": Place("former-addresses", "former-addresses"),
        "name": Place("weekly", "dearly"),
        "audit_id": Place(audit.json()["audit_id"], str(new_event_id())),
        "content_id": content,
        "id": content,
        "key_id": Place(key.json()["about"]["key_id"], "0" * 12),
        "path": Place("tea.md", "oat.md"),
        # The same for everybody.
        "step": Place("fetch_research", "fetch_research"),
        "target": Place("rivals-blog", "nobodys-one"),
        **dict.fromkeys(("version", "from", "to", "position", "exchange", "queue"), Place("1", "1")),
        "ids": Place("", ""),
        "message_id": Place(str(new_event_id()), str(new_event_id())),
        "proposal_id": Place(str(proposal), str(new_event_id())),
        "type": Place("content.generate", "content.generate"),
    }


def filled(path: str, operation: Any, values: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The path, and the parameters of the query that must be given or that name something."""
    query = {}
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        if parameter["in"] == "path":
            assert name in values, f"say in `places` what {name} stands for, in {path}"
            path = path.replace(f"{{{name}}}", values[name])
        elif parameter["in"] == "query" and name in values:
            query[name] = values[name]
    return path, query


def told(answer: httpx.Response, values: dict[str, str]) -> tuple[int, dict[str, str], str]:
    """The answer, without what was asked for."""
    text = answer.text
    for name, value in values.items():
        if len(value) > 1:
            text = text.replace(value, f"<{name}>")
    headers = {name: value for name, value in answer.headers.items() if name not in VARYING}
    return answer.status_code, headers, text


@pytest.mark.extended
async def test_another_brand_is_as_one_that_does_not_exist(
    http: httpx.AsyncClient, places: dict[str, Place], orchestrator_database: Database
) -> None:
    foreign = {name: place.foreign for name, place in places.items()}
    unknown = {name: place.unknown for name, place in places.items()}
    document = (await http.get("/openapi.json")).json()
    async with orchestrator_database.connection() as connection:
        before = await connection.fetch("select * from brands order by slug")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if "requestBody" in operation:
                assert path in BODIES, f"say in BODIES what {path} is sent"
            asked, query = filled(path, operation, foreign)
            answer = await http.request(method, asked, params=query, json=BODIES.get(path))
            other, other_query = filled(path, operation, unknown)
            expected = await http.request(method, other, params=other_query, json=BODIES.get(path))
            assert told(answer, foreign) == told(expected, unknown), (method, path)
            if answer.is_success:
                assert not any(value in answer.text for value in foreign.values() if len(value) > 1), (
                    method,
                    path,
                )
            if method == "get":
                # What was asked for is there, for those who may see it.
                shown = await http.get(asked, params=query, headers=ALL)
                assert shown.status_code == 200, (path, shown.text)
                assert told(shown, foreign) != told(answer, foreign), path
    async with orchestrator_database.connection() as connection:
        assert await connection.fetch("select * from brands order by slug") == before
        assert await connection.fetchval("select count(*) from cycles") == 1


async def test_its_own_brand_is_as_for_everybody(http: httpx.AsyncClient, places: dict[str, Place]) -> None:
    assert (await http.put("/v1/brands/acme", json={"name": "Acme"})).status_code == 200
    accepted = await http.post("/v1/brands/acme/research", json={"keywords": ["tea"]})
    assert accepted.status_code == 202
    own, all_told = [await http.get(accepted.headers["location"], headers=each) for each in ({}, ALL)]
    assert own.json() == all_told.json()
