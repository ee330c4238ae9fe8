"""Dead letters from death to resolution: real broker, real database, real HTTP, the real command."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest

from envelope import DomainMessage, encode, new_event_id
from envelope.payloads import ResearchRequested
from messaging import Context, Service, ServiceSettings, Unprocessable, on_each
from messaging.testing import Broker, eventually, running
from monitor.app import build
from monitor.settings import Settings

KEY = "a-key-for-tests-only"
QUEUE = "research-commands"


@dataclass
class World:
    monitor: Service
    worker: Service
    broker: Broker
    api: httpx.AsyncClient
    broken: bool = True
    handled: int = 0

    async def research(self, message: DomainMessage[ResearchRequested], _context: Context) -> None:
        if self.broken:
            raise Unprocessable("no such provider")
        self.handled += 1

    async def send(self, keyword: str = "solar panels") -> DomainMessage:
        message = DomainMessage(
            event_id=new_event_id(),
            type="research.requested",
            source="orchestrator",
            timestamp=datetime.now(UTC),
            correlation_id="chain-1",
            payload=ResearchRequested(brand_slug="acme", keyword=keyword),
        )
        await self.broker.publish("commands", QUEUE, encode(message), type=message.type)
        return message

    async def open(self, count: int = 1) -> list[dict[str, Any]]:
        async def there() -> list[dict[str, Any]] | None:
            letters = await self.list(state="open")
            return letters if len(letters) == count else None

        return await eventually(there)

    async def list(self, **query: object) -> list[dict[str, Any]]:
        answer = await self.api.get("/v1/dead-letters", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["dead_letters"]

    async def state(self, identity: str) -> str:
        return (await self.api.get(f"/v1/dead-letters/{identity}")).json()["state"]


@pytest.fixture
async def world(rabbitmq_url: str, make_database: Callable[..., Awaitable[str]]) -> AsyncIterator[World]:
    common = {"rabbitmq_url": rabbitmq_url, "service_key": KEY, "http_port": 0}
    monitor = build(Settings.model_validate(common | {"database_url": await make_database("monitor")}))
    worker = Service(
        "research", ServiceSettings.model_validate(common | {"database_url": await make_database()})
    )
    async with Broker.connected(rabbitmq_url) as broker, client_of(monitor) as api:
        world = World(monitor, worker, broker, api)
        worker.consume(QUEUE, on_each(world.research, ResearchRequested))
        async with running(monitor), running(worker):
            api.base_url = httpx.URL(f"http://127.0.0.1:{monitor.port}")
            yield world


@asynccontextmanager
async def client_of(_monitor: Service) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(headers={"X-Service-Key": KEY}, timeout=30) as client:
        yield client


async def test_a_dead_message_is_recorded_with_its_facts_and_announced(world: World) -> None:
    message = await world.send()
    (letter,) = await world.open()
    assert letter["event_id"] == str(message.event_id)
    assert (letter["queue"], letter["type"], letter["source"]) == (
        QUEUE,
        "research.requested",
        "orchestrator",
    )
    assert (letter["reason"], letter["detail"], letter["service"]) == (
        "permanent",
        "no such provider",
        "research",
    )
    assert letter["exception_type"] == "Unprocessable"
    assert "in research" in letter["frame"]
    detail = (await world.api.get(f"/v1/dead-letters/{letter['id']}")).json()
    assert detail["body"] == json.loads(encode(message))
    assert "raise Unprocessable" in detail["stack"]

    announced = json.loads((await world.broker.take("brand-events")).body)
    assert announced["type"] == "dead_letter.recorded"
    assert announced["correlation_id"] == "chain-1"
    assert announced["payload"]["dead_event_id"] == str(message.event_id)
    assert (announced["payload"]["brand_slug"], announced["payload"]["keyword"]) == ("acme", "solar panels")


async def test_a_replay_resolves_once_its_consumer_has_handled_it(world: World) -> None:
    await world.send()
    (letter,) = await world.open()
    world.broken = False
    answer = await world.api.post(f"/v1/dead-letters/{letter['id']}/replay")
    assert answer.status_code == 202
    assert answer.json()["replay_event_id"] != letter["event_id"]
    await eventually(lambda: is_state(world, letter["id"], "resolved"))
    assert world.handled == 1
    assert await world.list(state="open") == []


async def is_state(world: World, identity: str, state: str) -> bool:
    return await world.state(identity) == state


async def test_a_replay_that_dies_again_is_a_new_dead_letter_linked_to_the_old(world: World) -> None:
    await world.send()
    (old,) = await world.open()
    await world.api.post(f"/v1/dead-letters/{old['id']}/replay")
    await eventually(lambda: is_state(world, old["id"], "superseded"))
    (new,) = await world.open()
    assert new["id"] != old["id"]
    assert new["replay_of"] == old["event_id"]
    assert new["correlation_id"] == old["correlation_id"]


async def test_replay_clicked_many_times_at_once_sends_one_message(world: World) -> None:
    await world.send()
    (letter,) = await world.open()
    world.broken = False
    answers = await asyncio.gather(
        *(world.api.post(f"/v1/dead-letters/{letter['id']}/replay") for _ in range(8))
    )
    assert sorted(answer.status_code for answer in answers) == [202] + [409] * 7
    await eventually(lambda: is_state(world, letter["id"], "resolved"))
    assert world.handled == 1


async def test_of_replay_and_discard_at_once_one_wins(world: World) -> None:
    await world.send()
    (letter,) = await world.open()
    replayed, discarded = await asyncio.gather(
        world.api.post(f"/v1/dead-letters/{letter['id']}/replay"),
        world.api.post(f"/v1/dead-letters/{letter['id']}/discard", json={"reason": "not needed"}),
    )
    assert {replayed.status_code, discarded.status_code} in ({202, 409}, {409, 204})


async def test_discarding_keeps_the_reason(world: World) -> None:
    await world.send()
    (letter,) = await world.open()
    answer = await world.api.post(
        f"/v1/dead-letters/{letter['id']}/discard", json={"reason": "keyword withdrawn"}
    )
    assert answer.status_code == 204
    (discarded,) = await world.list(state="discarded")
    assert discarded["resolution"] == "keyword withdrawn"
    again = await world.api.post(f"/v1/dead-letters/{letter['id']}/replay")
    assert (again.status_code, "discarded" in again.json()["detail"]) == (409, True)


@pytest.mark.parametrize(
    "body", [b"", b"\x00\xff garbage", b"[" * 90_000, b'{"event_id": "\\u0000"}', b"x" * 200_000]
)
async def test_bytes_that_are_no_message_are_recorded_to_be_looked_at(world: World, body: bytes) -> None:
    await world.broker.publish("commands", QUEUE, body)
    (letter,) = await world.open()
    assert (letter["reason"], letter["event_id"], letter["queue"]) == ("not_an_envelope", None, QUEUE)
    refused = await world.api.post(f"/v1/dead-letters/{letter['id']}/replay")
    assert refused.status_code == 409
    assert "no envelope" in refused.json()["detail"]
    assert (await world.api.get(f"/v1/dead-letters/{letter['id']}")).status_code == 200


async def test_equal_garbage_sent_twice_is_two_dead_letters(world: World) -> None:
    for _ in range(2):
        await world.broker.publish("commands", QUEUE, b"garbage")
    await world.open(2)


async def test_many_are_replayed_at_once_and_the_others_stay(world: World) -> None:
    for number in range(5):
        await world.send(f"k{number}")
    await world.broker.publish("commands", QUEUE, b"garbage")
    await world.open(6)
    groups = (await world.api.get("/v1/dead-letters/summary")).json()
    assert [(group["reason"], group["count"]) for group in groups] == [
        ("permanent", 5),
        ("not_an_envelope", 1),
    ]
    world.broken = False
    answer = await world.api.post("/v1/dead-letters/replay", json={"queue": QUEUE, "limit": 3})
    assert answer.json()["count"] == 3
    await eventually(lambda: world.handled == 3)
    await world.open(3)


async def test_paging_shows_each_dead_letter_once_newest_first(world: World) -> None:
    for number in range(5):
        await world.send(f"k{number}")
    await world.open(5)
    seen: list[int] = []
    before: int | None = None
    while True:
        query = {"limit": 2} | ({"before": before} if before else {})
        page = (await world.api.get("/v1/dead-letters", params=query)).json()
        seen += [letter["number"] for letter in page["dead_letters"]]
        before = page["next_before"]
        if before is None:
            break
    assert seen == sorted(seen, reverse=True)
    assert len(set(seen)) == 5


async def test_the_api_wants_its_key_and_explains_bad_input(world: World) -> None:
    async with httpx.AsyncClient(base_url=world.api.base_url) as stranger:
        assert (await stranger.get("/v1/dead-letters")).status_code == 401
        assert (await stranger.get("/v1/dead-letters", headers={"X-Service-Key": "wrong"})).status_code == 401
    assert (await world.api.get(f"/v1/dead-letters/{uuid4()}")).status_code == 404
    for path in ("/v1/dead-letters/nonsense", "/v1/dead-letters?state=odd", "/v1/dead-letters?limit=0"):
        answer = await world.api.get(path)
        assert answer.status_code == 422
        assert isinstance(answer.json()["detail"], str)
    nul = await world.api.get("/v1/dead-letters", params={"queue": "a\x00b"})
    assert nul.status_code == 422


def brandctl(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MONITOR_URL": str(world.api.base_url), "SERVICE_KEY": KEY, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "brandctl", "dead-letters", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def test_the_operators_command_lists_shows_replays_and_discards(world: World) -> None:
    await world.send("first")
    await world.send("second")
    letters = await world.open(2)
    listed = await asyncio.to_thread(brandctl, world, "list")
    assert listed.returncode == 0, listed.stderr
    assert all(letter["id"] in listed.stdout for letter in letters)
    shown = await asyncio.to_thread(brandctl, world, "show", letters[0]["id"])
    assert "no such provider" in shown.stdout
    assert "second" in shown.stdout
    world.broken = False
    replayed = await asyncio.to_thread(brandctl, world, "replay", letters[0]["id"], "--wait")
    assert (replayed.returncode, "resolved" in replayed.stdout) == (0, True)
    discarded = await asyncio.to_thread(
        brandctl, world, "discard", letters[1]["id"], "--reason", "not needed"
    )
    assert discarded.returncode == 0
    assert json.loads((await asyncio.to_thread(brandctl, world, "list", "--json")).stdout)["open"] == 0
    again = await asyncio.to_thread(brandctl, world, "replay", letters[0]["id"])
    assert again.returncode == 1
    assert "resolved" in again.stderr
