"""Many keywords of two brands in flight with a slow model, while orchestrator and gateway are killed and stopped.

The model and research are stand-ins; orchestrator and gateway are real, on a real broker and real databases.
"""

import asyncio
import os
import signal
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
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

from brandctl.local import processes, services
from chassis.testing import eventually, serving
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ResearchCompleted
from tests.fixtures.models.slow_model import CALLS_OF_AN_ARTICLE, SlowModel, keyword, research_of

ROOT = Path(__file__).parents[2]
KEY = "a-key-for-tests-only"
PRICE: Final = 1000
"""Micro-dollars of a call: 100 tokens read at 10 dollars a million; nothing is paid for those written."""
RESTING: Final = ("completed", "publishing", "refused", "failed")
"""States of a keyword whose article nobody works on any more; nobody publishes here."""


@dataclass(frozen=True)
class Size:
    """How much, and how slow."""

    many: int
    few: int
    seconds: float
    """That the model takes."""
    at_once: int
    """Calls that the gateway may make, and articles in hand."""
    brand_articles: int
    patience: float
    """Seconds for all of it."""
    lease: float | None
    """Seconds that the calls of a killed gateway are waited for; None: as in production, 15 more than a call may take."""


QUICK: Final = Size(many=9, few=3, seconds=0.1, at_once=3, brand_articles=3, patience=120, lease=0.5)
FULL: Final = Size(many=180, few=20, seconds=10.0, at_once=16, brand_articles=16, patience=3000, lease=None)


@dataclass
class Stack:
    """Orchestrator and gateway as processes, to be killed and started again."""

    addresses: services.ServiceAddresses
    environments: dict[str, dict[str, str]]
    logs: Path
    children: dict[str, processes.ChildProcess] = field(default_factory=dict)
    memory: list[tuple[float, int]] = field(default_factory=list)
    """(seconds since the start of the process, bytes) of the orchestrator."""
    _started_at: float = 0.0

    def start(self, name: str) -> None:
        logs = self.logs / str(time.monotonic_ns())
        self.children[name] = services.start(name, self.environments[name], logs)
        if name == "orchestrator":
            self._started_at = time.monotonic()

    def end(self, name: str, how: signal.Signals) -> None:
        process = self.children[name].process
        os.killpg(process.pid, how) if os.getpgid(process.pid) == process.pid else process.send_signal(how)
        process.wait(60)

    async def ready(self) -> None:
        await asyncio.to_thread(services.wait_until_ready, list(self.children.values()), self.addresses)

    def weigh(self) -> None:
        status = Path(f"/proc/{self.children['orchestrator'].process.pid}/status").read_text()
        kilobytes = int(status.partition("VmRSS:")[2].split()[0])
        self.memory.append((time.monotonic() - self._started_at, kilobytes * 1024))


def research() -> Starlette:
    """Research of the n-th keyword has the id n, with its brand's number in front."""

    def found(research_id: UUID) -> dict[str, Any]:
        number = research_id.int
        return {"research_id": str(research_id), **research_of(brand_of(number), number % 1000)}

    async def one(request: Request) -> JSONResponse:
        return JSONResponse(found(UUID(request.path_params["research_id"])))

    async def several(request: Request) -> JSONResponse:
        return JSONResponse({"items": [found(UUID(each)) for each in request.query_params.getlist("id")]})

    return Starlette(routes=[Route("/v1/research", several), Route("/v1/research/{research_id}", one)])


def brand_of(number: int) -> str:
    return "many" if number // 1000 == 1 else "few"


@pytest.fixture
async def databases(make_database: Callable[[str], Awaitable[str]]) -> dict[str, str]:
    return {name: await make_database(name) for name in ("orchestrator", "gateway")}


@pytest.fixture
async def stack_at(
    broker_urls: dict[str, str], databases: dict[str, str], tmp_path: Path
) -> AsyncIterator[Callable[[Size, SlowModel], Awaitable[Stack]]]:
    async with AsyncExitStack() as cleanup:

        async def start(size: Size, model: SlowModel) -> Stack:
            model_url = await cleanup.enter_async_context(serving(model))
            research_url = await cleanup.enter_async_context(serving(research()))
            addresses = services.choose_addresses()
            environments = {
                name: services.environment(
                    name,
                    addresses=addresses,
                    rabbitmq_url=broker_urls.get(name),
                    database_url=databases[name],
                    service_key=KEY,
                    corpus=ROOT,
                )
                for name in databases
            }
            environments["orchestrator"] |= {
                "RESEARCH_URL": research_url,
                "MODEL_URL": f"{addresses.url('gateway')}/v1",
                "MODEL_NAME": "model",
                # What is measured here are turns and crashes, in calls of an article that are known.
                "MODEL_JUDGE": "false",
                "WRITERS": str(size.at_once),
                "BRAND_ARTICLES": str(size.brand_articles),
                # Shorter than an answer takes.
                "SHUTDOWN_GRACE_SECONDS": str(size.seconds / 3),
                "RETRY_BASE_SECONDS": "1",
            }
            environments["gateway"] |= {
                "CAP_BRAND_DAY": "1000",
                "CAP_ALL_DAY": "1000",
                "CAP_BRAND_MONTH": "1000",
                "CAP_ALL_MONTH": "1000",
            }
            stack = Stack(addresses, environments, tmp_path)
            cleanup.callback(lambda: services.stop(list(stack.children.values())))
            for name in databases:
                stack.start(name)
            await stack.ready()
            settings = {
                "url": f"{model_url}/v1",
                "model": "m",
                "read_price": "10",
                "per_minute": 60_000,
                "together": 1000,
                "at_once": size.at_once,
                "seconds": 60,
            }
            async with client(stack, "gateway") as gateway:
                body = {"kind": "model", "settings": settings}
                (await gateway.put("/v1/providers/model", json=body)).raise_for_status()
            return stack

        yield start


def client(stack: Stack, service: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=stack.addresses.url(service), headers={"X-Service-Key": KEY}, timeout=60, trust_env=False
    )


async def hand_in(stack: Stack, rabbitmq_url: str, brand: str, numbers: range) -> str:
    """Submits the keywords and tells what research has found on them; returns the id of their cycle."""
    async with client(stack, "orchestrator") as api:
        described = {"name": brand, "writer": "model", "approval": "nothing"}
        made = await api.put(f"/v1/brands/{brand}", json=described)
        assert made.status_code == 201, made.text
        words = [keyword(number % 1000) for number in numbers]
        accepted = (await api.post(f"/v1/brands/{brand}/research", json={"keywords": words})).json()
    connection = await aio_pika.connect(rabbitmq_url)
    async with connection, connection.channel() as channel:
        events = await channel.get_exchange("brand-events", ensure=False)
        for number, text in zip(numbers, words, strict=True):
            found = DomainMessage(
                event_id=new_event_id(),
                type="research.completed",
                source="research",
                timestamp=datetime.now(UTC),
                correlation_id=accepted["correlation_id"],
                payload=ResearchCompleted(brand_slug=brand, research_id=UUID(int=number), keyword=text),
            )
            await events.publish(aio_pika.Message(encode(found)), routing_key="research.completed")
    return str(accepted["cycle_id"])


class Cycles:
    """How the keywords of both brands fare, seen from outside."""

    def __init__(self, stack: Stack, ids: dict[str, str]) -> None:
        self._stack = stack
        self._ids = ids
        self.states: dict[str, Counter[str]] = {brand: Counter() for brand in ids}
        self.reasons: set[str] = set()
        self.ended_when_the_few_had: int | None = None
        """Articles of the other brand that were written when the last of the few was."""

    async def look(self) -> int:
        """How many keywords have ended; the orchestrator may be away."""
        async with client(self._stack, "orchestrator") as api:
            for brand, cycle_id in self._ids.items():
                try:
                    keywords = (await api.get(f"/v1/cycles/{cycle_id}")).json()["keywords"]
                except httpx.TransportError:
                    continue
                self.states[brand] = Counter(each["state"] for each in keywords)
                self.reasons |= {each["reason"] for each in keywords if each["reason"]}
                self._stack.weigh()
        if self.ended_when_the_few_had is None and self.ended("few") == self.states["few"].total() > 0:
            self.ended_when_the_few_had = self.ended("many")
        return self.ended("many") + self.ended("few")

    def ended(self, brand: str) -> int:
        return sum(self.states[brand][state] for state in RESTING)

    async def reach(self, wanted: int, within: float) -> None:
        deadline = time.monotonic() + within
        while (found := await self.look()) < wanted:
            assert time.monotonic() < deadline, (found, self.states, self.reasons)
            await asyncio.sleep(within / 1000)


@pytest.mark.extended
@pytest.mark.parametrize("size", [QUICK, pytest.param(FULL, marks=pytest.mark.slow)], ids=["quick", "full"])
async def test_everything_is_written_once_paid_once_and_in_turns(
    size: Size,
    stack_at: Callable[[Size, SlowModel], Awaitable[Stack]],
    databases: dict[str, str],
    rabbitmq_url: str,
) -> None:
    model = SlowModel(size.seconds)
    stack = await stack_at(size, model)
    began = time.monotonic()
    total = size.many + size.few
    cycles = Cycles(
        stack,
        {
            "many": await hand_in(stack, rabbitmq_url, "many", range(1000, 1000 + size.many)),
            "few": await hand_in(stack, rabbitmq_url, "few", range(2200, 2200 + size.few)),
        },
    )

    for part, how in ((6, signal.SIGKILL), (4, signal.SIGTERM)):
        await cycles.reach(total // part, size.patience)
        await in_the_midst(model)
        stack.end("orchestrator", how)
        stack.start("orchestrator")
        await stack.ready()
    await cycles.reach(total // 3, size.patience)
    assert set(model.asked.values()) == {1}, "an orchestrator that ends costs nothing"
    await in_the_midst(model)
    stack.end("gateway", signal.SIGKILL)
    if size.lease is not None:
        await shorten_leases(databases["gateway"], size.lease)
    stack.start("gateway")
    await stack.ready()
    await cycles.reach(total, size.patience)
    took = time.monotonic() - began

    steady = [weight for age, weight in stack.memory if size is QUICK or age > 60]
    quarter = max(1, len(steady) // 4)
    first, last = statistics.median(steady[:quarter]), statistics.median(steady[-quarter:])
    print(  # noqa: T201  (figures that documents name)
        f"{total} keywords in {took:.0f} s, {model.asked.total()} calls, at most"
        f" {model.most_at_once} at once; the {size.few} were done when {cycles.ended_when_the_few_had} of {size.many}"
        f" were; memory {first / 1e6:.0f} MB, later {last / 1e6:.0f} MB, at most {max(steady) / 1e6:.0f} MB"
    )

    # Written once, and nothing was given up on the way.
    assert cycles.states == {"many": Counter(publishing=size.many), "few": Counter(publishing=size.few)}, (
        cycles.reasons
    )
    assert await queue_length(rabbitmq_url, "publisher-commands") == total
    assert await queue_length(rabbitmq_url, "orchestrator-commands-dlq") == 0

    # In turns: those that came last did not wait for all that came first.
    assert cycles.ended_when_the_few_had is not None
    assert cycles.ended_when_the_few_had <= size.few + 2 * size.brand_articles + size.at_once

    # The gateway's limit held, also over the death of the gateway that had made the calls.
    assert model.most_at_once <= size.at_once

    # Paid once: each prompt was answered once to somebody who heard it, and asked again only where nobody did: the gateway had
    # died over the call, or, on a machine that has much else to do, given it up. That is what the ledger says too.
    ledger = await ledger_of(databases["gateway"])
    lost = ledger["presumed"].calls + ledger["unheard"].calls
    assert len(model.asked) == total * CALLS_OF_AN_ARTICLE == ledger["answered"].calls
    assert model.asked.total() - len(model.asked) <= lost
    assert ledger["presumed"].calls <= size.at_once
    assert ledger["answered"].spent == PRICE * len(model.asked)
    counted = [ledger[how].spent for how in ("answered", "unheard", "presumed")]
    assert ledger["spend"].spent == sum(counted)

    # Memory does not grow with the work. A short run is mostly its start.
    assert last <= first * (1.5 if size is QUICK else 1.15), (first, last)


@pytest.mark.extended
async def test_a_brand_that_may_not_spend_waits_and_says_so_while_another_goes_on(
    stack_at: Callable[[Size, SlowModel], Awaitable[Stack]], databases: dict[str, str], rabbitmq_url: str
) -> None:
    model = SlowModel(0.05)
    stack = await stack_at(QUICK, model)
    async with client(stack, "gateway") as gateway:
        stopped = {"scope": "many", "why": "prices have changed"}
        (await gateway.post("/v1/spend/stop", json=stopped)).raise_for_status()
    many = await hand_in(stack, rabbitmq_url, "many", range(1000, 1003))
    few = await hand_in(stack, rabbitmq_url, "few", range(2200, 2202))

    async def keywords(cycle_id: str) -> list[dict[str, Any]]:
        async with client(stack, "orchestrator") as api:
            found: list[dict[str, Any]] = (await api.get(f"/v1/cycles/{cycle_id}")).json()["keywords"]
            return found

    async def all_are(cycle_id: str, state: str) -> bool:
        return all(each["state"] == state for each in await keywords(cycle_id))

    async def all_wait() -> bool:
        return all(each["waits"] for each in await keywords(many))

    await eventually(lambda: all_are(few, "publishing"))
    await eventually(all_wait)
    for each in await keywords(many):
        assert each["state"] == "writing"
        assert each["waits"].startswith(
            "waits for the model's budget: spending by the brand many is stopped:"
        )
        assert "prices have changed" in each["waits"]
        assert datetime.fromisoformat(each["waits_until"]) > datetime.now(UTC)

    async with client(stack, "gateway") as gateway:
        (await gateway.post("/v1/spend/resume", json={"scope": "many"})).raise_for_status()
    await ten_minutes_pass(databases["orchestrator"])
    stack.end("orchestrator", signal.SIGTERM)  # it sleeps until then
    stack.start("orchestrator")
    await stack.ready()
    await eventually(lambda: all_are(many, "publishing"))
    assert set(model.asked.values()) == {1}
    assert await queue_length(rabbitmq_url, "orchestrator-commands-dlq") == 0


async def ten_minutes_pass(url: str) -> None:
    """For what waits."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("update outbox set deliver_at = now(), due_at = now() where lease is null")
    finally:
        await connection.close()


async def in_the_midst(model: SlowModel) -> None:
    """Returns while calls are under way."""
    await eventually(lambda: model.under_way >= 2)


async def queue_length(rabbitmq_url: str, name: str) -> int:
    connection = await aio_pika.connect(rabbitmq_url)
    async with connection, connection.channel() as channel:
        queue = await channel.get_queue(name)
        return queue.declaration_result.message_count or 0


async def shorten_leases(url: str, seconds: float) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            "update calls set lease_until = clock_timestamp() + $1 * interval '1 second' where state = 'sent'",
            seconds,
        )
    finally:
        await connection.close()


@dataclass(frozen=True)
class Line:
    calls: int
    spent: int


async def ledger_of(url: str) -> dict[str, Line]:
    """Calls and micro-dollars by how they ended; `spend` is what counts against the caps."""
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            """
            select case when state <> 'settled' then state when outcome ? 'answer' then 'answered' else 'unheard' end as how,
                   count(*) as calls, sum(spent)::bigint as spent
            from calls group by how
            """
        )
        counted = await connection.fetchval(
            "select sum(spent)::bigint from spend where scope = '*' and period = 'month'"
        )
    finally:
        await connection.close()
    found = {row["how"]: Line(row["calls"], row["spent"]) for row in rows}
    return {"presumed": Line(0, 0), "unheard": Line(0, 0), **found, "spend": Line(0, counted)}
