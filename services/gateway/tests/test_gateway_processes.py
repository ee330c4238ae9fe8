"""Two gateways as processes of their own on one database: caps under load, and one of them killed in the midst of a call."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import asyncpg
import httpx
import pytest

from chassis.testing import eventually, serving
from tests.fixtures.providers import FakeModel

KEY = "test-service-key-0123456789"
PRICE = 1000
"""Micro-dollars of each call: 100 tokens read at 10 dollars a million, nothing written that is paid for."""


@dataclass
class Replica:
    process: asyncio.subprocess.Process
    api: httpx.AsyncClient

    def write(self, text: str, key: str) -> Awaitable[httpx.Response]:
        body = {"model": "model", "messages": [{"role": "user", "content": text}]}
        return self.api.post(
            "/v1/chat/completions", json=body, headers={"X-Brand": "acme", "Idempotency-Key": key}
        )

    async def is_ready(self) -> bool:
        assert self.process.returncode is None
        try:
            return (await self.api.get("/health/ready")).status_code == 200
        except httpx.TransportError:
            return False


@pytest.fixture
async def url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("gateway")


@pytest.fixture
async def replicas(url: str, free_port: Callable[[], int]) -> AsyncIterator[list[Replica]]:
    started: list[Replica] = []
    try:
        for _ in range(2):
            port = free_port()
            settings = {
                "DATABASE_URL": url,
                "SERVICE_KEY": KEY,
                "HTTP_PORT": str(port),
                "LOG_LEVEL": "warning",
            }
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "gateway", env={"PATH": os.environ["PATH"]} | settings
            )
            api = httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}",
                headers={"X-Service-Key": KEY},
                trust_env=False,
                timeout=120,
            )
            started.append(Replica(process, api))
        for each in started:
            await eventually(each.is_ready)
        yield started
    finally:
        for each in started:
            await each.api.aclose()
            if each.process.returncode is None:
                each.process.terminate()
            await each.process.wait()


@pytest.fixture
async def model(replicas: list[Replica]) -> AsyncIterator[FakeModel]:
    async with serving(fake := FakeModel()) as address:
        settings = {
            "url": f"{address}/v1",
            "model": "m",
            "read_price": "10",
            "per_minute": 60_000,
            "together": 1000,
            "at_once": 100,
            "seconds": 60,
        }
        body = {"kind": "model", "settings": settings}
        assert (await replicas[0].api.put("/v1/providers/model", json=body)).status_code == 204
        yield fake


async def day(replica: Replica) -> tuple[int, int]:
    """(spent, set aside) by the brand."""
    (scope,) = (await replica.api.get("/v1/spend", params={"brand": "acme"})).json()["scopes"]
    return scope["day"]["spent"], scope["day"]["reserved"]


@pytest.mark.extended
async def test_fifty_calls_at_once_over_two_processes_hold_the_cap_to_the_cent(
    replicas: list[Replica], model: FakeModel
) -> None:
    # Each is set aside at some thousands of micro-dollars and costs a thousand: there is room for 20 in the end.
    await replicas[0].api.put("/v1/spend/caps/acme", json={"day": "0.02"})
    left = list(range(50))
    while left:
        answers = await asyncio.gather(*(replicas[n % 2].write(f"question {n}", f"event-{n}") for n in left))
        spent, reserved = await day(replicas[0])
        assert (spent <= 20_000, reserved) == (True, 0)
        assert {answer.status_code for answer in answers} <= {200, 402}
        left_now = [n for n, answer in zip(left, answers, strict=True) if answer.status_code == 402]
        if left_now == left:
            break
        left = left_now
    assert spent == PRICE * len(model.requests) == PRICE * (50 - len(left))
    # Nobody was refused who had room: one more would be set aside at more than is left.
    (refused, *_) = answers
    assert refused.json()["type"] == "budget.exhausted"
    assert "dollars that may be spent by the brand acme this day are left" in refused.json()["detail"]
    assert 20_000 - spent < 5_000


@pytest.mark.extended
async def test_a_process_that_is_killed_in_the_midst_of_a_call_leaks_nothing(
    replicas: list[Replica], model: FakeModel, url: str
) -> None:
    killed, other = replicas
    model.delay.clear()
    asking = asyncio.ensure_future(killed.write("a story", "event-1/draft"))
    await eventually(lambda: model.requests)
    spent, reserved = await day(other)
    assert (spent, reserved > 0) == (0, True)
    killed.process.kill()
    await killed.process.wait()
    with pytest.raises(httpx.TransportError):
        await asking

    # The same command is delivered again, at the one that is left: nobody knows yet that the call's process is dead.
    again = asyncio.ensure_future(other.write("a story", "event-1/draft"))
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("update calls set lease_until = clock_timestamp() where state = 'sent'")
    finally:
        await connection.close()
    await eventually(lambda: len(model.requests) == 2)
    model.delay.set()
    answer = await again
    assert (answer.status_code, answer.json()["gateway"]["spent"]) == (200, PRICE)
    for _ in range(3):
        assert (await other.write("a story", "event-1/draft")).json()["gateway"]["spent"] == 0
    # What was sent may have been charged: it counts in full, and nothing is set aside any more.
    assert await day(other) == (reserved + PRICE, 0)
    states = [each["state"] for each in (await other.api.get("/v1/spend/calls")).json()["items"]]
    assert states == ["settled", "presumed"]
    assert len(model.requests) == 2


async def test_a_process_that_is_asked_to_stop_hears_what_it_has_paid_for(
    replicas: list[Replica], model: FakeModel
) -> None:
    stopped, other = replicas
    model.delay.clear()
    asking = asyncio.ensure_future(stopped.write("a story", "event-1/draft"))
    await eventually(lambda: model.requests)
    stopped.process.terminate()
    model.delay.set()
    assert (await asking).status_code == 200
    assert await stopped.process.wait() == 0
    assert (await other.write("a story", "event-1/draft")).json()["gateway"]["kept"]
    assert await day(other) == (PRICE, 0)
