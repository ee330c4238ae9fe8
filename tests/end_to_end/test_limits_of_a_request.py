"""Deadline and cost of a request, through the real orchestrator, gateway and monitor; research and the model are stand-ins."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import aio_pika
import asyncpg
import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from brandctl.local import services
from chassis.testing import eventually, serving
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ResearchCompleted
from tests.fixtures.models.slow_model import CALLS_OF_AN_ARTICLE, SlowModel, keyword, research_of

ROOT = Path(__file__).parents[2]
KEY = "a-key-for-tests-only"
NAMES: Final = ("orchestrator", "gateway", "monitor")
RESEARCH = "/v1/brands/acme/research"


def research() -> Starlette:
    async def one(request: Request) -> JSONResponse:
        research_id = UUID(request.path_params["research_id"])
        return JSONResponse({"research_id": str(research_id), **research_of("acme", research_id.int)})

    async def several(request: Request) -> JSONResponse:
        ids = [UUID(each) for each in request.query_params.getlist("id")]
        found = [{"research_id": str(each), **research_of("acme", each.int)} for each in ids]
        return JSONResponse({"items": found})

    return Starlette(routes=[Route("/v1/research", several), Route("/v1/research/{research_id}", one)])


class World:
    """The services, and a brand whose articles a model writes."""

    def __init__(self, addresses: services.ServiceAddresses, rabbitmq_url: str, model: SlowModel) -> None:
        self.model = model
        self._rabbitmq_url = rabbitmq_url
        self._clients = {
            name: httpx.AsyncClient(
                base_url=addresses.url(name), headers={"X-Service-Key": KEY}, timeout=60, trust_env=False
            )
            for name in NAMES
        }

    async def ask(self, service: str, method: str, path: str, **request: Any) -> httpx.Response:
        return await self._clients[service].request(method, path, **request)

    async def told(self, service: str, path: str, **query: Any) -> Any:
        answer = await self.ask(service, "GET", path, params=query)
        assert answer.is_success, answer.text
        return answer.json()

    async def submit(self, number: int, **limits: Any) -> str:
        """Submits a keyword and tells what research found; returns the chain's id."""
        begun = await self.ask(
            "orchestrator", "POST", RESEARCH, json={"keywords": [keyword(number)], **limits}
        )
        assert begun.status_code == 202, begun.text
        chain: str = begun.json()["correlation_id"]
        found = DomainMessage(
            event_id=new_event_id(),
            type="research.completed",
            source="research",
            timestamp=datetime.now(UTC),
            correlation_id=chain,
            payload=ResearchCompleted(
                brand_slug="acme", research_id=UUID(int=number), keyword=keyword(number)
            ),
        )
        connection = await aio_pika.connect(self._rabbitmq_url)
        async with connection, connection.channel() as channel:
            events = await channel.get_exchange("brand-events", ensure=False)
            await events.publish(aio_pika.Message(encode(found)), routing_key="research.completed")
        return chain

    async def keyword(self, chain: str) -> dict[str, Any]:
        (found,) = (await self.told("orchestrator", "/v1/keywords", correlation_id=chain))["items"]
        return dict(found)

    async def ended(self, chain: str, state: str) -> dict[str, Any]:
        async def there() -> dict[str, Any] | None:
            found = await self.keyword(chain)
            return found if found["state"] == state else None

        found: dict[str, Any] = await eventually(there)
        return found

    async def letter(self, chain: str) -> dict[str, Any]:
        async def there() -> dict[str, Any] | None:
            items = (await self.told("monitor", "/v1/dead-letters", correlation_id=chain, state="open"))[
                "items"
            ]
            return items[0] if items else None

        found: dict[str, Any] = await eventually(there)
        return found

    async def aclose(self) -> None:
        for each in self._clients.values():
            await each.aclose()


@pytest.fixture
async def databases(make_database: Callable[[str], Awaitable[str]]) -> dict[str, str]:
    return {name: await make_database(name) for name in NAMES}


@pytest.fixture
async def world(
    broker_urls: dict[str, str], databases: dict[str, str], rabbitmq_url: str, tmp_path: Path
) -> AsyncIterator[World]:
    async with AsyncExitStack() as cleanup:
        model = SlowModel(0.05)
        model_url = await cleanup.enter_async_context(serving(model))
        research_url = await cleanup.enter_async_context(serving(research()))
        addresses = services.choose_addresses()
        children: list[Any] = []
        cleanup.callback(lambda: services.stop(children))
        for name in NAMES:
            environment = services.environment(
                name,
                addresses=addresses,
                rabbitmq_url=broker_urls.get(name),
                database_url=databases[name],
                service_key=KEY,
                corpus=ROOT,
            )
            if name == "orchestrator":
                environment |= {
                    "RESEARCH_URL": research_url,
                    "MODEL_URL": f"{addresses.url('gateway')}/v1",
                    "MODEL_NAME": "model",
                    "MODEL_JUDGE": "false",
                }
            children.append(services.start(name, environment, tmp_path))
        await asyncio.to_thread(services.wait_until_ready, children, addresses)
        world = World(addresses, rabbitmq_url, model)
        cleanup.push_async_callback(world.aclose)
        settings = {
            "url": f"{model_url}/v1",
            "model": "m",
            "read_price": "10",
            "per_minute": 60_000,
            "together": 1000,
            "at_once": 1,
            "seconds": 60,
        }
        connected = {"kind": "model", "settings": settings}
        (await world.ask("gateway", "PUT", "/v1/providers/model", json=connected)).raise_for_status()
        brand = {"name": "Acme", "writer": "model", "approval": "nothing"}
        (await world.ask("orchestrator", "PUT", "/v1/brands/acme", json=brand)).raise_for_status()
        yield world


@pytest.mark.extended
async def test_a_deadline_that_passes_before_the_next_attempt_ends_the_keyword_and_a_replay_with_a_new_one_writes_it(
    world: World,
) -> None:
    await world.ask("gateway", "POST", "/v1/spend/stop", json={"scope": "acme", "why": "prices have changed"})
    deadline = datetime.now(UTC) + timedelta(seconds=20)

    chain = await world.submit(1, deadline=deadline.isoformat())

    # It would be tried again in 45 seconds, so it ends now.
    letter = await world.letter(chain)
    assert (letter["type"], letter["reason"], letter["attempts"]) == (
        "content.generate",
        "deadline_passed",
        1,
    )
    assert "its last attempt failed with WaitFor" in letter["detail"]
    ended = await world.ended(chain, "refused")
    assert ended["reason"] == (
        f"the deadline of {deadline.day} {deadline:%B %Y, %H:%M} UTC passed while the article was written"
    )
    await world.ask("gateway", "POST", "/v1/spend/resume", json={"scope": "acme"})
    assert world.model.asked.total() == 0

    replay = f"/v1/dead-letters/{letter['id']}/replay"
    refused = await world.ask("monitor", "POST", replay)
    assert refused.status_code == 422
    assert "`deadline`" in refused.json()["detail"]
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    replayed = await world.ask("monitor", "POST", replay, json={"deadline": later})
    assert replayed.status_code == 202, replayed.text
    await world.ended(chain, "publishing")
    assert len(world.model.asked) == CALLS_OF_AN_ARTICLE


@pytest.mark.extended
async def test_a_cost_that_is_reached_in_the_midst_of_writing_ends_the_keyword_and_the_books_are_right(
    world: World, databases: dict[str, str]
) -> None:
    free = await world.submit(1)
    await world.ended(free, "publishing")
    calls = (await world.told("gateway", "/v1/chain-calls", correlation_id=free))["items"]
    assert len(calls) == CALLS_OF_AN_ARTICLE
    connection = await asyncpg.connect(databases["gateway"])
    try:
        reserved = await connection.fetch("select maximum from calls order by began_at")
    finally:
        await connection.close()
    # As much as the dearest call may cost, after those before it, and a micro-dollar less.
    needed = [row["maximum"] + sum(each["spent"] for each in calls[:at]) for at, row in enumerate(reserved)]
    dearest = max(range(1, len(needed)), key=needed.__getitem__)
    assert needed[dearest] > needed[0]

    chain = await world.submit(2, max_cost=(needed[dearest] - 1) / 1_000_000)

    letter = await world.letter(chain)
    assert (letter["type"], letter["reason"], letter["attempts"]) == ("content.generate", "cost_reached", 1)
    ended = await world.ended(chain, "refused")
    assert ended["reason"].startswith("the cost limit was reached while the article was written: ")
    assert " dollars that the request may cost are left" in ended["reason"]
    made = await world.told("gateway", "/v1/chain-calls", correlation_id=chain)
    assert 0 < made["calls"] < CALLS_OF_AN_ARTICLE
    assert made["spent"] == sum(each["spent"] for each in made["items"])
    assert made["spent"] <= needed[dearest] - 1
    assert {each["target"] for each in made["items"]} == {"model"}

    refused = await world.ask("monitor", "POST", f"/v1/dead-letters/{letter['id']}/replay")
    assert refused.status_code == 422
    replayed = await world.ask(
        "monitor", "POST", f"/v1/dead-letters/{letter['id']}/replay", json={"max_cost": 5}
    )
    assert replayed.status_code == 202, replayed.text
    after = await world.ended(chain, "publishing")
    assert after["max_cost"] == 5
