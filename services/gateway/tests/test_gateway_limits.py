"""How much a provider may be asked: decided without a database, and shared by replicas on one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

import httpx
import pytest
from starlette.responses import Response

from chassis import Connections
from chassis.testing import eventually, running, serving
from gateway.app import GatewayApp
from gateway.limits import Permit, PermitDelay, RateLimiter, RateLimits
from gateway.limits.domain import GateState, decide, pause_after
from gateway.problems import CallProblem
from gateway.settings import Settings
from tests.fixtures.providers import FakeModel, FakeSearxng

KEY = "test-service-key-0123456789"
NOW = datetime(2026, 1, 2, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def bounds(**changes: Any) -> RateLimits:
    given: dict[str, Any] = {
        "per_minute": 60,
        "brand_per_minute": None,
        "together": 1,
        "at_once": 8,
        "seconds": 10.0,
    }
    return RateLimits(**(given | changes))


def gate(**changes: Any) -> GateState:
    given: dict[str, Any] = {
        "next_at": None,
        "failures": 0,
        "closed_until": None,
        "closed_why": None,
        "brand_next_at": None,
        "brands": 1,
        "under_way": {},
    }
    return GateState(**(given | changes))


def waits(decided: Permit | PermitDelay) -> tuple[timedelta, str]:
    assert isinstance(decided, PermitDelay)
    return decided.time, decided.problem.type


def test_requests_come_evenly() -> None:
    first = decide("brave", "acme", gate(), bounds(), NOW)
    assert first == Permit(NOW + SECOND, NOW + SECOND, None)
    after = gate(next_at=NOW + SECOND, brand_next_at=NOW + SECOND)
    assert waits(decide("brave", "acme", after, bounds(), NOW + SECOND / 4)) == (
        SECOND * 3 / 4,
        "limit.reached",
    )
    assert isinstance(decide("brave", "acme", after, bounds(), NOW + SECOND), Permit)
    # What was not used is not saved up.
    late = decide("brave", "acme", after, bounds(), NOW + 100 * SECOND)
    assert isinstance(late, Permit)
    assert late.next_at == NOW + 101 * SECOND


def test_some_may_come_together_where_that_is_allowed() -> None:
    state, gone = gate(), 0
    while isinstance(decided := decide("model", "acme", state, bounds(together=3), NOW), Permit):
        state, gone = gate(next_at=decided.next_at, brand_next_at=decided.brand_next_at), gone + 1
    assert gone == 3
    assert decided.time == SECOND


def test_brands_that_ask_share_an_account_and_one_alone_has_all_of_it() -> None:
    shared = decide("model", "acme", gate(brands=2), bounds(), NOW)
    assert isinstance(shared, Permit)
    assert (shared.next_at, shared.brand_next_at) == (NOW + SECOND, NOW + 2 * SECOND)
    busy = {"acme": 4, "other": 1}
    assert waits(decide("model", "acme", gate(brands=2, under_way=busy), bounds(), NOW))[1] == "limit.reached"
    assert isinstance(decide("model", "other", gate(brands=2, under_way=busy), bounds(), NOW), Permit)
    assert isinstance(decide("model", "acme", gate(under_way=busy), bounds(), NOW), Permit)
    assert waits(decide("model", "acme", gate(under_way={"acme": 8}), bounds(), NOW))[1] == "limit.reached"


def test_a_brand_has_no_more_than_its_own_part() -> None:
    went = decide("model", "acme", gate(), bounds(brand_per_minute=6), NOW)
    assert isinstance(went, Permit)
    assert went.brand_next_at == NOW + 10 * SECOND


def test_a_provider_that_asked_us_to_wait_is_obeyed() -> None:
    closed = gate(closed_until=NOW + 20 * SECOND, closed_why="slow down")
    decided = decide("brave", "acme", closed, bounds(), NOW)
    assert waits(decided) == (20 * SECOND, "provider.limited")
    assert isinstance(decide("brave", "acme", closed, bounds(), NOW + 20 * SECOND), Permit)


def test_after_failures_in_a_row_one_request_at_a_time_looks_whether_it_is_back() -> None:
    assert [pause_after(failures) for failures in (4, 5, 6, 30)] == [
        None, timedelta(seconds=30), timedelta(seconds=60), timedelta(minutes=10)
    ]  # fmt: skip
    failing = gate(failures=5, closed_until=NOW)
    probe = decide("brave", "acme", failing, bounds(), NOW)
    assert isinstance(probe, Permit)
    assert probe.probe_until == NOW + 10 * SECOND
    others = gate(failures=5, closed_until=probe.probe_until)
    assert waits(decide("brave", "acme", others, bounds(), NOW)) == (10 * SECOND, "provider.failing")


Replicas = tuple[httpx.AsyncClient, httpx.AsyncClient]


@pytest.fixture
async def url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("gateway")


@pytest.fixture
async def replicas(url: str) -> AsyncIterator[Replicas]:
    settings = Settings.model_validate({"database_url": url, "service_key": KEY, "http_port": 0})
    async with running(GatewayApp(settings)) as one, running(GatewayApp(settings)) as other:
        clients = [
            httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{app.port}",
                headers={"X-Service-Key": KEY},
                trust_env=False,
                timeout=60,
            )
            for app in (one, other)
        ]
        async with clients[0], clients[1]:
            yield clients[0], clients[1]


async def connect(api: httpx.AsyncClient, kind: str, **settings: Any) -> None:
    answer = await api.put(f"/v1/providers/{kind}", json={"kind": kind, "settings": settings})
    assert answer.status_code == 204, answer.text


def search(api: httpx.AsyncClient, query: str, brand: str = "acme") -> Awaitable[httpx.Response]:
    return api.post("/v1/search", json={"query": query, "brand": brand})


@pytest.mark.extended
async def test_two_replicas_together_ask_no_more_than_the_account_may(replicas: Replicas) -> None:
    async with serving(fake := FakeSearxng()) as url:
        await connect(replicas[0], "searxng", url=url, per_minute=1, together=3)
        answers = await asyncio.gather(*(search(replicas[number % 2], f"q {number}") for number in range(10)))
    # Three together; the next one may come in a minute.
    assert len(fake.requests) == 3
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) == 10 - len(fake.requests)
    assert {answer.json()["type"] for answer in refused} == {"limit.reached"}
    assert all(int(answer.headers["Retry-After"]) >= 5 for answer in refused)


@pytest.mark.extended
async def test_no_more_are_under_way_than_may_be_and_two_brands_share_them(replicas: Replicas) -> None:
    fake = FakeModel()
    fake.delay.clear()
    async with serving(fake) as url:
        settings = {"url": f"{url}/v1", "model": "m", "at_once": 4, "per_minute": 60_000, "together": 100}
        await connect(replicas[0], "model", **settings)

        def write(number: int, brand: str) -> Awaitable[httpx.Response]:
            body = {"model": "m", "messages": [{"role": "user", "content": str(number)}]}
            return replicas[number % 2].post("/v1/chat/completions", json=body, headers={"X-Brand": brand})

        first = [asyncio.ensure_future(write(number, "acme")) for number in range(4)]
        await eventually(lambda: len(fake.requests) == 4)
        more = [asyncio.ensure_future(write(number, "acme")) for number in range(4, 12)]
        others = [asyncio.ensure_future(write(number, "other")) for number in range(12, 14)]
        refused = await asyncio.gather(*more, *others)
        assert {answer.status_code for answer in refused} == {429}
        fake.delay.set()
        assert {answer.status_code for answer in await asyncio.gather(*first)} == {200}
        # Both have asked lately: neither gets more than two.
        fake.delay.clear()
        both = [
            asyncio.ensure_future(write(number, brand))
            for number, brand in enumerate(["acme"] * 6 + ["other"] * 2, start=20)
        ]
        await eventually(lambda: sum(task.done() for task in both) == 4)
        fake.delay.set()
        answers = await asyncio.gather(*both)
    assert [answer.status_code for answer in answers].count(200) == 4
    assert {answer.status_code for answer in answers[6:]} == {200}
    assert fake.most_at_once == 4


@pytest.mark.extended
async def test_what_one_replica_is_told_the_other_obeys(replicas: Replicas) -> None:
    async with serving(fake := FakeSearxng()) as url:
        await connect(replicas[0], "searxng", url=url, per_minute=60_000, together=100)
        fake.next_answers = [Response(status_code=429, headers={"Retry-After": "400"})]
        assert (await search(replicas[0], "a")).status_code == 429
        refused = await search(replicas[1], "b")
    assert (refused.status_code, refused.json()["type"], len(fake.requests)) == (429, "provider.limited", 1)
    assert 300 <= int(refused.headers["Retry-After"]) <= 400


async def test_a_provider_that_fails_is_left_alone_by_all_and_found_again_by_one(
    replicas: Replicas, url: str
) -> None:
    connections = Connections(url, name="test", size=2)
    await connections.open()
    async with serving(fake := FakeSearxng()) as address:
        await connect(replicas[0], "searxng", url=address, per_minute=60_000, together=100)
        fake.next_answers = [Response(status_code=502) for _ in range(5)]
        for number in range(5):
            assert (await search(replicas[number % 2], f"q {number}")).status_code == 503
        for replica in replicas:
            refused = await search(replica, "again")
            assert (refused.status_code, "5 times in a row" in refused.json()["detail"]) == (503, True)
        assert len(fake.requests) == 5
        async with connections.connection() as connection:
            await connection.execute("update gates set closed_until = clock_timestamp()")
        fake.delay.clear()
        probe = asyncio.ensure_future(search(replicas[0], "is it back?"))
        await eventually(lambda: len(fake.requests) == 6)
        assert (await search(replicas[1], "me too")).status_code == 503
        fake.delay.set()
        assert (await probe).status_code == 200
        assert (await search(replicas[1], "me too")).status_code == 200
    await connections.close()


async def test_a_pause_that_is_far_too_long_is_not_believed(url: str) -> None:
    connections = Connections(url, name="test", size=2)
    await connections.open()

    limiter = RateLimiter(connections)
    async with connections.connection() as connection, connection.transaction():
        assert isinstance(await limiter.turn(connection, "brave", "acme", bounds()), Permit)
    limited = CallProblem("provider.limited", "x", HTTPStatus.TOO_MANY_REQUESTS, after=timedelta(days=400))
    await limiter.failed("brave", limited)
    async with connections.connection() as connection, connection.transaction():
        decided = await limiter.turn(connection, "brave", "acme", bounds())
    assert isinstance(decided, PermitDelay)
    assert timedelta(minutes=59) < decided.time <= timedelta(hours=1)
    await connections.close()
