"""The list of messages that wait for another attempt, as a service's API shows it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from starlette.requests import Request

from chassis.http.api import add_routes, api
from chassis.http.callers import Caller, Scope
from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand.payloads import ResearchRequested
from messaging import Dependency, QueuePolicy, RetryLater, Service, Transaction, WaitFor, on_batch
from messaging.retry_routes import retry_routes
from messaging.storage.outbox import dead_letter_row, row_for

QUEUE = "research-commands"
RETRIES = "/v1/retries"
CALLERS = {
    "operator": Caller("olga", frozenset({Scope.READ, Scope.OPERATE})),
    "editor": Caller("eve", frozenset(Scope) - {Scope.OPERATE}),
    "bound": Caller("bo", frozenset(Scope), frozenset({"acme"})),
}
Asking = Callable[[Service], AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def asking() -> Asking:
    """The API of a service, asked by the operator unless a request says otherwise."""

    async def authorise(request: Request) -> Caller:
        return CALLERS[request.headers["X-Service-Key"]]

    @asynccontextmanager
    async def ask(service: Service) -> AsyncIterator[httpx.AsyncClient]:
        app = api("Retries", authorise, answers=service.database)
        add_routes(app, retry_routes(service.database))
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://test",
            headers={"X-Service-Key": "operator"},
        ) as client:
            yield client

    return ask


async def fail(messages: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
    for message in messages:
        if message.payload.keyword == "needs the library":
            tx.fail(message, WaitFor("library", "it is closed", after=timedelta(hours=1)))
        else:
            tx.fail(message, RetryLater("the shelf is locked", after=timedelta(hours=2)))


async def listed(client: httpx.AsyncClient, **query: Any) -> dict[str, Any]:
    answer = await client.get(RETRIES, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def waiting(world: Any, count: int) -> bool:
    return bool(await world.database.fetchval("select count(*) = $1 from outbox", count))


async def test_each_message_that_waits_is_listed_with_the_reason_and_when_it_is_due(
    world: Any, asking: Asking
) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(fail, ResearchRequested))
    failed, waits = world.request(), world.request("needs the library")
    async with running(service), asking(service) as client:
        assert (await listed(client))["items"] == []
        before = datetime.now(UTC)
        await world.send(failed)
        await world.send(waits)
        await eventually(lambda: waiting(world, 2))
        found = await listed(client)
        of_chain = await listed(client, correlation_id="chain-1", type="research.requested")
        others = [await listed(client, **each) for each in ({"correlation_id": "x"}, {"type": "x\0"})]
    first, second = found["items"]
    assert (first["message_id"], second["message_id"]) == (str(waits.event_id), str(failed.event_id))
    assert (first["attempt"], first["waits_for"], first["exception_type"]) == (1, "library", None)
    assert (second["attempt"], second["waits_for"], second["exception_type"], second["detail"]) == (
        2,
        None,
        "RetryLater",
        "the shelf is locked",
    )
    assert {each["brand"] for each in found["items"]} == {"acme"}
    assert {each["queue"] for each in found["items"]} == {QUEUE}
    assert not any(each["is_sending"] for each in found["items"])
    due = datetime.fromisoformat(second["due_at"]) - before
    assert timedelta(hours=1, minutes=59) < due < timedelta(hours=2, minutes=5)
    assert (found["matching"], found["next"]) == (2, None)
    assert [each["items"] for each in (of_chain, *others)] == [found["items"], [], []]


async def test_other_rows_of_the_outbox_are_no_retries(world: Any, asking: Asking) -> None:
    service = world.service()
    async with running(service), asking(service) as client:
        async with service.database.transaction() as tx:
            tx.send(ResearchRequested(brand_slug="acme", keyword="k"), delay=timedelta(days=1))
            message = world.request()
            later = timedelta(days=1)
            tx.outgoing.append(row_for(message, "returns", QUEUE, headers={"replay-of": "x"}, delay=later))
            dead = row_for(message, "commands", QUEUE, headers={"attempt": 5}, delay=later)
            tx.outgoing.append(dead_letter_row(dead, QUEUE, headers={}))
        assert (await listed(client))["items"] == []


async def test_pages_have_each_message_once_and_bodies_of_strangers_name_no_brand(
    world: Any, asking: Asking
) -> None:
    service = world.service()
    bodies = [b"\x00garbage", b"[1]", b'{"payload": {"brand_slug": 5}}', b"[" * 60_000]
    async with running(service), asking(service) as client:
        for number in range(5):
            await world.database.execute(
                """
                insert into outbox (id, exchange, routing_key, event_id, type, body, headers, deliver_at, due_at)
                values ($1, 'returns', $2, $3, 'x', $4, $5, $6, $6)
                """,
                uuid4(),
                QUEUE,
                uuid4(),
                bodies[number % 4],
                json.dumps({"attempt": number}),
                # Two are due at the same time.
                datetime.now(UTC).replace(microsecond=999_999) + timedelta(hours=1 + number // 2),
            )
        shown: list[Any] = []
        following = None
        for _ in range(3):
            found = await listed(client, limit=2, **({"after": following} if following else {}))
            assert found["matching"] == 5
            shown += found["items"]
            following = found["next"]
        assert following is None
        assert shown == (await listed(client))["items"]
        assert {each["brand"] for each in shown} == {None}
        wrong = await client.get(RETRIES, params={"after": "12"})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_request")


async def test_a_message_leaves_the_list_when_its_next_attempt_starts(world: Any, asking: Asking) -> None:
    library = asyncio.Event()
    service = world.service()
    dependency = service.add_dependency(
        Dependency("library", outages=(OSError,), shortest_pause=0.05, longest_pause=0.2)
    )

    async def need(messages: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
        async with dependency.call():
            if not library.is_set():
                raise OSError("closed")
        await world.write_all(messages, tx)

    service.consume(
        QUEUE, on_batch(need, ResearchRequested), policy=QueuePolicy(wait_base=0.05, wait_limit=0.2)
    )
    async with running(service), asking(service) as client:
        await world.send(world.request())

        async def is_listed() -> bool:
            return bool((await listed(client))["items"])

        await eventually(is_listed)
        library.set()
        await eventually(lambda: world.has_effects(1))
        await eventually(world.outbox_is_empty)
        assert not await is_listed()


@pytest.mark.parametrize("who", ["editor", "bound"])
async def test_only_operators_of_all_brands_see_it(world: Any, asking: Asking, who: str) -> None:
    service = world.service()
    async with running(service), asking(service) as client:
        answer = await client.get(RETRIES, headers={"X-Service-Key": who})
    assert answer.status_code == 403
