"""Keywords through the five services and the gateway: found on the web, written by a model, published, posted, and paid for once."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aio_pika
import asyncpg
import httpx
import pytest

from brandctl.local import services
from chassis.testing import eventually, serving
from tests.fixtures.cold_brew import KEYWORD, PAGES, HonestModel, publish
from tests.fixtures.gateways import gateway_before
from tests.fixtures.models import scripted_model
from tests.fixtures.models.judges import passed_exam
from tests.fixtures.providers import FakeBrave, FakeSearxng
from tests.fixtures.sites import Names, Site, site

ROOT = Path(__file__).parents[2]
KEY = "a-key-for-tests-only"
BRAVE_KEY = "brave-key-0123456789abcdef"
MODEL_KEY = "model-key-0123456789abcdef"
SEARCH_MICROS = 5_000
MODEL_CALL_MICROS = 100 * 2 + 20 * 10
"""The scripted model says that it reads 100 tokens and writes 20; a million costs $2 and $10."""
DELIVERIES = 4


@dataclass
class World:
    """The services, the gateway before an internet of its own, and who is paid there."""

    addresses: services.ServiceAddresses
    gateway: httpx.AsyncClient
    internet: Site
    brave: FakeBrave
    searxng: FakeSearxng
    model: HonestModel
    rabbitmq_url: str


@pytest.fixture
async def world(
    broker_urls: dict[str, str],
    rabbitmq_url: str,
    make_database: Callable[..., Awaitable[str]],
    tmp_path: Path,
) -> AsyncIterator[World]:
    names, brave, searxng = Names(), FakeBrave({BRAVE_KEY}), FakeSearxng()
    addresses = services.choose_addresses()
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    children = []
    database_urls = {name: await make_database(name) for name in services.NAMES}
    with scripted_model.serving(HonestModel) as model:
        async with (
            site() as internet,
            serving(brave) as brave_url,
            serving(searxng) as searxng_url,
            gateway_before(names, await make_database("gateway"), key=KEY) as gateway,
        ):
            brave.found = searxng.found = publish(names, internet)
            tokens = {"url": model.url, "model": model.model, "read_price": "2", "written_price": "10"}
            for name, body in {
                "brave": {
                    "kind": "brave",
                    "settings": {"url": brave_url, "per_minute": 600},
                    "key": BRAVE_KEY,
                },
                "searxng": {"kind": "searxng", "settings": {"url": searxng_url, "per_minute": 600}},
                "model": {"kind": "model", "settings": tokens, "key": MODEL_KEY},
            }.items():
                put = await gateway.put(f"/v1/providers/{name}", json=body)
                assert put.status_code == 204, put.text
            gateway_url = str(gateway.base_url).rstrip("/")
            try:
                for name in services.NAMES:
                    environment = services.environment(
                        name,
                        addresses=addresses,
                        rabbitmq_url=broker_urls[name],
                        database_url=database_urls[name],
                        service_key=KEY,
                        corpus=corpus,
                    ) | {
                        "GATEWAY_URL": gateway_url,
                        "MODEL_URL": f"{gateway_url}/v1",
                        "MODEL_NAME": "model",
                        "RETRY_BASE_SECONDS": "0.3",
                    }
                    children.append(services.start(name, environment, tmp_path))
                await asyncio.to_thread(services.wait_until_ready, children, addresses)
                await pass_exam(database_urls["orchestrator"])
                yield World(addresses, gateway, internet, brave, searxng, model, rabbitmq_url)
            finally:
                await asyncio.to_thread(services.stop, children)


async def pass_exam(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await passed_exam(connection, "model", scripted_model.ScriptedModel.model)
    finally:
        await connection.close()


@asynccontextmanager
async def delivering_again(url: str, messages: list[dict[str, Any]]) -> AsyncIterator[None]:
    """Every request for research is delivered several times; the deliveries are noted."""
    connection = await aio_pika.connect(url)
    async with connection, connection.channel() as channel:
        commands = await channel.get_exchange("commands", ensure=False)
        queue = await channel.declare_queue(exclusive=True)
        for exchange in ("commands", "brand-events"):
            await queue.bind(exchange, "#")
        repeated: set[str] = set()

        async def note(message: aio_pika.abc.AbstractIncomingMessage) -> None:
            told = json.loads(message.body)
            messages.append(told)
            if told["type"] == "research.requested" and told["event_id"] not in repeated:
                repeated.add(told["event_id"])
                for _ in range(DELIVERIES):
                    await commands.publish(
                        aio_pika.Message(message.body, headers=message.headers), message.routing_key or ""
                    )

        await queue.consume(note, no_ack=True)
        yield


async def brandctl(world: World, *arguments: str) -> str:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "brandctl", *arguments),
        cwd="/",
        env=inherited
        | {
            "TERM": "dumb",
            "SERVICE_KEY": KEY,
            "RESEARCH_URL": world.addresses.url("research"),
            "GATEWAY_URL": str(world.gateway.base_url),
        },
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


async def followed(world: World, brand: str, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """One keyword of a new brand that looks in the web alone and has a model write, as its cycle shows it then."""
    async with httpx.AsyncClient(
        headers={"X-Service-Key": KEY}, base_url=world.addresses.url("orchestrator"), timeout=60
    ) as api:
        described = {"name": brand.capitalize(), "writer": "model", "approval": "nothing"}
        await api.put(f"/v1/brands/{brand}", json=described)
        await brandctl(world, "sources", "set", brand, "--web", "--no-folder", "--prefer", "two.example")
        answer = await api.post(f"/v1/brands/{brand}/research", json={"keywords": [KEYWORD]})
        assert answer.status_code == 202

        async def so_far() -> dict[str, Any] | None:
            cycle = (await api.get(f"/v1/cycles/{answer.json()['cycle_id']}")).json()
            (keyword,) = cycle["keywords"]
            return keyword if until(keyword) else None

        keyword: dict[str, Any] = await eventually(so_far)
        return keyword


async def research(world: World, brand: str) -> dict[str, Any]:
    """The keyword at its end."""
    ended = {"completed", "failed", "refused", "needs_review"}
    keyword = await followed(
        world, brand, lambda each: each["state"] in ended and bool(each["posts"] or each["reason"])
    )
    assert keyword["state"] == "completed", keyword
    return keyword


async def spent(world: World, brand: str) -> int:
    """Micro-dollars, by the API and by the command."""
    told = (await world.gateway.get("/v1/spend", params={"brand": brand})).json()
    (scope,) = told["scopes"]
    assert scope["day"]["reserved"] == scope["month"]["reserved"] == 0
    assert json.loads(await brandctl(world, "spend", "--brand", brand, "--json"))["scopes"] == [scope]
    assert (
        sum(each["spent"] for each in told["providers"]) == scope["day"]["spent"] == scope["month"]["spent"]
    )
    return int(scope["day"]["spent"])


async def assert_it_can_be_read(world: World, keyword: dict[str, Any]) -> None:
    """The page cites the web's pages by their addresses and has a cover; the post leads to it."""
    async with httpx.AsyncClient(timeout=60) as visitor:
        page = await visitor.get(keyword["published_url"])
        assert page.status_code == 200
        assert "Coarse grounds make the best cold brew at home." in page.text
        for address in PAGES:
            assert f'href="{address}"' in page.text
        assert "written by a language model (scripted-1) from 3 sources" in page.text
        cover = page.text.partition('property="og:image" content="')[2].partition('"')[0]
        picture = await visitor.get(cover)
        assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
        (post,) = keyword["posts"]
        assert keyword["published_url"] in (await visitor.get(post["url"])).text


@pytest.mark.extended
async def test_a_keyword_is_found_written_published_and_posted_and_each_call_is_paid_for_once(
    world: World,
) -> None:
    seen: list[dict[str, Any]] = []
    async with delivering_again(world.rabbitmq_url, seen):
        keyword = await research(world, "brewers")
        await eventually(lambda: "social.posted" in {message["type"] for message in seen})
    await assert_it_can_be_read(world, keyword)
    requests = [request.query_params["q"] for request in world.brave.requests]
    assert requests == ["cold brew", "what is cold brew"]
    assert [path for path in world.internet.paths if path != "/robots.txt"].count("/guide") == 1
    calls = len(world.model.asked)
    assert await spent(world, "brewers") == len(requests) * SEARCH_MICROS + calls * MODEL_CALL_MICROS
    types = [message["type"] for message in seen]
    assert types.count("research.requested") == 1 + DELIVERIES
    assert types.count("research.completed") == types.count("social.posted") == 1
    # Keys and what pays for them stay with the gateway.
    assert BRAVE_KEY not in json.dumps(seen)
    assert {asked.headers["Authorization"] for asked in world.model.asked} == {f"Bearer {MODEL_KEY}"}

    # The same with SearXNG, which costs nothing; pages are kept from before.
    assert (await world.gateway.delete("/v1/providers/brave")).status_code == 204
    await assert_it_can_be_read(world, await research(world, "roasters"))
    assert [request.query_params["q"] for request in world.searxng.requests] == requests
    assert len(world.brave.requests) == len(requests)
    assert world.internet.paths.count("/guide") == 1
    assert await spent(world, "roasters") == (len(world.model.asked) - calls) * MODEL_CALL_MICROS
    everything = (await world.gateway.get("/v1/spend")).json()
    assert sum(each["spent"] for each in everything["providers"]) == (
        len(requests) * SEARCH_MICROS + len(world.model.asked) * MODEL_CALL_MICROS
    )

    # Where nothing may be spent, a keyword waits and says so.
    await brandctl(world, "spend", "stop", "--brand", "savers", "--why", "holidays")
    waits = await followed(world, "savers", lambda each: each["waits"] is not None)
    assert (waits["state"], waits["reason"]) == ("queued", None)
    assert waits["waits"].startswith("waits for the budget for searches: the gateway says spending.stopped: ")
    assert "holidays" in waits["waits"]
    assert datetime.fromisoformat(waits["waits_until"]) > datetime.now(UTC) + timedelta()
