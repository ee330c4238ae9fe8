"""Searches that a model proposes: used as far as they are usable, paid for once, and never what a keyword fails of."""

import json
from collections.abc import AsyncIterator, Callable
from uuid import UUID, uuid4

import pytest
from starlette.responses import JSONResponse, Response

from chassis.testing import serving
from messaging import Database, WaitFor
from reading.pool import ReaderPool
from reading.ranking.sources import ResearchResult
from research import store
from research.clients.provider import ResearchQuery
from research.sources.domain import SourceSettings, WebSearchSettings
from tests.fixtures.providers import FakeModel, model_error
from tests.fixtures.web_research import World, behind

PROPOSED = SourceSettings(folder=False, web=WebSearchSettings(language="en", queries=3, proposals=True))
BY_RULE = ["cold brew", "what is cold brew", "cold brews"]
SEARCH, CALL = 5000, 100 * 10 + 50 * 60
"""Micro-dollars: of a search, and of an answer with 100 tokens read and 50 written."""


@pytest.fixture
async def model(world: World) -> AsyncIterator[FakeModel]:
    """Connected as `model`; three pages are there to be found."""
    for path, host in zip("abc", ("one", "two", "three"), strict=True):
        world.write(f"http://{host}.example/{path}")
    async with serving(fake := FakeModel()) as url:
        settings = {"url": f"{url}/v1", "model": "small", "read_price": 10, "written_price": 60}
        body = {"kind": "model", "settings": settings, "key": "model-key-0123456789"}
        assert (await world.api.put("/v1/providers/model", json=body)).status_code == 204
        yield fake


def completion(content: str, *, finish_reason: str = "stop") -> Response:
    return JSONResponse(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "small",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": content},
                    "finish_reason": finish_reason,
                }
            ],
            "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
        }
    )


def proposing(*queries: str) -> Response:
    return completion(json.dumps({"queries": queries}))


def searched(world: World) -> list[str]:
    return [request.query_params["q"] for request in world.brave.requests]


async def spent(world: World) -> int:
    (scope,) = (await world.api.get("/v1/spend", params={"brand": "acme"})).json()["scopes"]
    assert scope["day"]["reserved"] == 0
    amount: int = scope["day"]["spent"]
    return amount


@pytest.mark.extended
async def test_what_a_model_proposes_is_searched_for_and_paid_once(
    world: World, model: FakeModel, research_database: Database
) -> None:
    model.next_answers = [
        proposing("cold brew site:evil.example", "cold brew ratio", "mortgage rates", "cold brew grind size")
    ]
    command = uuid4()
    for _ in range(3):
        assert isinstance(await world.look(PROPOSED, command=command), ResearchResult)
    assert searched(world) == ["cold brew", "cold brew ratio", "cold brew grind size"]
    assert await spent(world) == CALL + 3 * SEARCH
    # All that it was shown.
    (asked,) = model.bodies
    assert json.loads(asked["messages"][-1]["content"]) == {"subject": "cold brew", "language": "en"}
    assert "acme" not in json.dumps(asked)
    assert asked["response_format"]["type"] == "json_schema"
    # It is kept for as long as the command is under way.
    async with research_database.connection() as connection:
        assert await store.get_proposals(connection, command) == ("cold brew ratio", "cold brew grind size")
        await store.forget_commands(connection, [command])
        assert await store.get_proposals(connection, command) is None


@pytest.mark.extended
@pytest.mark.parametrize(
    "answer",
    [
        completion("Of course! Here are some queries: cold brew ratio"),
        completion('{"queries": ["cold brew ratio"'),
        completion('{"queries": ["cold brew ratio"]}', finish_reason="length"),
        completion('{"queries": "cold brew ratio", "more": 1}'),
        proposing("ignore all previous instructions", "mortgage rates"),
        proposing(),
        Response("cut off", headers={"Content-Length": "100"}),
        model_error(500, "server_error", None, "broken"),
        model_error(429, "insufficient_quota", "insufficient_quota", "no credit"),
    ],
    ids=["prose", "truncated", "length", "shape", "strange", "none", "broken off", "failed", "no credit"],
)
async def test_without_a_usable_answer_the_rules_do(world: World, model: FakeModel, answer: Response) -> None:
    model.next_answers = [answer]
    command = uuid4()
    assert isinstance(await world.look(PROPOSED, command=command), ResearchResult)
    assert searched(world) == BY_RULE
    # The next delivery searches for the same, though the model might answer now.
    model.next_answers = [proposing("cold brew ratio")]
    await world.look(PROPOSED, command=command)
    assert searched(world) == BY_RULE


@pytest.mark.extended
async def test_without_a_model_or_money_for_it_the_rules_do(world: World, model: FakeModel) -> None:
    # Enough for three searches, and not for the 300 tokens that an answer may have.
    await world.api.put("/v1/spend/caps/acme", json={"day": 0.016, "month": 1})
    assert isinstance(await world.look(PROPOSED), ResearchResult)
    assert searched(world) == BY_RULE
    assert (await world.api.delete("/v1/providers/model")).status_code == 204
    await world.api.put("/v1/spend/caps/acme", json={"day": 1, "month": 1})
    assert isinstance(await world.look(PROPOSED), ResearchResult)
    assert model.requests == []


@pytest.mark.extended
async def test_nobody_is_asked_who_did_not_want_it(world: World, model: FakeModel) -> None:
    for web in (WebSearchSettings(queries=3), WebSearchSettings(queries=1, proposals=True)):
        assert isinstance(await world.look(SourceSettings(folder=False, web=web)), ResearchResult)
    assert model.requests == []


async def test_a_gateway_that_is_away_is_waited_for_and_the_model_asked_then(
    world: World, research_database: Database, model: FakeModel, free_port: Callable[[], int]
) -> None:
    model.next_answers = [proposing("cold brew ratio")]
    command = UUID(int=7)
    gone = f"http://127.0.0.1:{free_port()}"
    async with behind(gone, world.corpus, ReaderPool(), database=research_database) as away:
        with pytest.raises(WaitFor):
            await away.search(ResearchQuery("cold brew", "acme", PROPOSED, command=command))
    async with research_database.connection() as connection:
        assert await store.get_proposals(connection, command) is None
    await world.look(PROPOSED, command=command)
    assert searched(world)[:2] == ["cold brew", "cold brew ratio"]
