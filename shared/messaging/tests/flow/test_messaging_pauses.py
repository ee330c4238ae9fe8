"""Queues that operators pause and resume: at a real broker and database, with two replicas, through restarts."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from chassis.http.api import add_routes, api
from chassis.http.callers import Caller, Scope
from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand.payloads import ResearchRequested
from messaging import Context, QueuePolicy, Record, RetryLater, Service, Transaction, on_batch, on_each
from messaging.backbone_routes import backbone_routes

QUEUE = "research-commands"
PAUSE = "/v1/backbone/pause"
PAUSES = "/v1/backbone/pauses"
RESUME = "/v1/backbone/resume"
CALLERS = {
    "operator": Caller("olga", frozenset({Scope.READ, Scope.OPERATE})),
    "editor": Caller("eve", frozenset(Scope) - {Scope.OPERATE}),
    "bound": Caller("bo", frozenset(Scope), frozenset({"acme"})),
}
WHY = {"queue": QUEUE, "reason": "the gateway moves"}


async def authorise(request: Request) -> Caller:
    return CALLERS[request.headers["X-Service-Key"]]


@asynccontextmanager
async def asking(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """The API of a service, asked by the operator unless a request says otherwise."""
    app = api("Pauses", authorise, answers=service.database)
    add_routes(app, backbone_routes(service.database))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://test", headers={"X-Service-Key": "operator"}
    ) as client:
        yield client


def batching(world: Any) -> Service:
    service = world.service()
    service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    return service


async def change(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == httpx.codes.OK, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_pause_of_an_hour_holds_two_replicas_and_loses_nothing_through_a_restart(world: Any) -> None:
    first, second = batching(world), batching(world)
    async with running(first), asking(first) as client:
        async with running(second):
            await eventually(lambda: world.has_consumers(2))
            assert (await change(client, PAUSE, WHY))["is_changed"]
            await eventually(lambda: world.has_consumers(0))
            for number in range(50):
                await world.send(world.request(f"k{number:02}"))
            assert await first.problems() == await second.problems() == {}
            assert "paused by olga" in second.remarks()[QUEUE]
            assert "the gateway moves" in second.remarks()[QUEUE]
        await world.database.execute("update paused_queues set paused_at = paused_at - interval '1 hour'")
    third = batching(world)
    async with running(third), asking(third) as client:
        assert await world.is_ready(third)
        # A process that starts in a pause never becomes a consumer, so nothing of the queue is taken.
        assert await world.broker.depth(QUEUE) == 50
        assert await world.broker.consumers(QUEUE) == 0
        assert await world.effect_count() == 0
        (shown,) = (await client.get("/v1/backbone")).json()["queues"]
        assert (shown["is_consumed"], shown["pause"]["by"]) == (False, "olga")
        assert (await client.get(PAUSES)).json() == {"queues": [{"queue": QUEUE, **shown["pause"]}]}
        assert (await change(client, RESUME, {"queue": QUEUE}))["pause"] is None
        await eventually(lambda: world.has_effects(50))
        await eventually(lambda: world.has_consumers(1))
        assert third.remarks() == {}
    assert await world.effects() == [f"k{number:02}" for number in range(50)]


async def test_what_has_begun_is_finished_and_the_rest_is_given_back(world: Any) -> None:
    service = world.service()
    begun: list[str] = []
    may_end = asyncio.Event()

    async def slow(message: DomainMessage, _context: Context) -> Record:
        begun.append(message.payload.keyword)
        await may_end.wait()
        return lambda tx: world.write(tx, message)

    for number in range(12):
        await world.send(world.request(f"k{number:02}"))
    service.consume(QUEUE, on_each(slow, ResearchRequested), policy=QueuePolicy(max_concurrency=2))
    async with running(service), asking(service) as client:
        await eventually(lambda: len(begun) == 2)
        await change(client, PAUSE, WHY)
        await eventually(lambda: world.has_waiting(10))
        may_end.set()
        await eventually(lambda: world.has_effects(2))
        await eventually(lambda: service.runners[0].in_hand == 0)
        assert len(begun) == 2
        await change(client, RESUME, {"queue": QUEUE})
        await eventually(lambda: world.has_effects(12))
    assert sorted(begun) == [f"k{number:02}" for number in range(12)]


async def test_a_retry_that_is_due_in_a_pause_waits_for_its_end(world: Any) -> None:
    service = world.service()
    attempts: list[int] = []

    async def fails_once(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        attempts.append(len(messages))
        if len(attempts) == 1:
            await world.database.execute(
                "insert into paused_queues (queue, paused_by, reason) values ($1, 'olga', 'why')", QUEUE
            )
            await eventually(lambda: service.runners[0].is_held)
            raise RetryLater("not yet")
        await world.write_all(messages, tx)

    service.consume(QUEUE, on_batch(fails_once, ResearchRequested))
    async with running(service), asking(service) as client:
        await world.send(world.request())
        # Its time has come, and it waits at the broker.
        await eventually(lambda: world.has_waiting(1))
        assert attempts == [1]
        await change(client, RESUME, {"queue": QUEUE})
        await eventually(lambda: world.has_effects(1))


async def test_the_second_person_sees_what_is_there(world: Any) -> None:
    service = batching(world)
    async with running(service), asking(service) as client:
        first = await change(client, PAUSE, WHY)
        again = await change(client, PAUSE, {"queue": QUEUE, "reason": "another", "by": "Pat"})
        assert (first["is_changed"], again["is_changed"]) == (True, False)
        assert again["pause"] == first["pause"]
        seen = {"queue": QUEUE, "since": first["pause"]["since"]}
        assert (await change(client, RESUME, seen))["is_changed"]
        assert not (await change(client, RESUME, seen))["is_changed"]
        # Who looks at the first pause does not end the second.
        second = await change(client, PAUSE, WHY)
        late = await change(client, RESUME, seen)
        assert (late["is_changed"], late["pause"]) == (False, second["pause"])


@pytest.mark.parametrize("path", [PAUSE, RESUME])
async def test_only_operators_of_all_brands_may_and_only_queues_of_the_service(world: Any, path: str) -> None:
    service = batching(world)
    async with running(service), asking(service) as client:
        for caller in ("editor", "bound"):
            refused = await client.post(path, json=WHY, headers={"X-Service-Key": caller})
            assert refused.status_code == httpx.codes.FORBIDDEN, caller
        body = {"queue": "publisher-commands"} | ({"reason": "x"} if path == PAUSE else {})
        unknown = await client.post(path, json=body)
        assert unknown.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert QUEUE in unknown.json()["detail"]
        refused = await client.get(PAUSES, headers={"X-Service-Key": "bound"})
        assert refused.status_code == httpx.codes.FORBIDDEN
    assert not await world.database.fetchval("select count(*) from paused_queues")
