"""The record of sent messages and the question for their outcomes, which the ledger compares."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from starlette.requests import Request

from chassis.http.api import add_routes, api
from chassis.http.callers import Caller, Scope
from chassis.testing import eventually, running
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ResearchCompleted, ResearchRequested
from messaging import Context, QueuePolicy, RetryLater, Service, Transaction, Unprocessable, on_batch, on_each
from messaging.ledger_routes import MOST_ASKED, packed, unpacked
from messaging.message_routes import message_routes
from messaging.storage import outbox, sent

QUEUE = "research-commands"
SENT = "/v1/messages/sent"
OUTCOMES = "/v1/messages/outcomes"
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
        app = api("Ledger", authorise, answers=service.database)
        add_routes(app, message_routes(service.database))
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://test",
            headers={"X-Service-Key": "operator"},
        ) as client:
            yield client

    return ask


async def sent_ids(client: httpx.AsyncClient, exchange: str = "commands", **query: Any) -> list[UUID]:
    """Of all pages."""
    found: list[UUID] = []
    after: dict[str, str] = {}
    while True:
        answer = await client.get(SENT, params={"exchange": exchange, "older_than": 0, **query, **after})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += [each for batch in page["items"] for each in unpacked(batch["ids"])]
        if page["is_last"]:
            return found
        after = {"after": page["next"]}


async def outcomes_of(client: httpx.AsyncClient, ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    answer = await client.get(OUTCOMES, params={"queue": QUEUE, "ids": packed(ids)})
    assert answer.status_code == 200, answer.text
    return {UUID(each["message_id"]): each for each in answer.json()["unhandled"]}


async def test_what_the_broker_confirmed_is_recorded_once_by_route(world: Any, asking: Asking) -> None:
    service = world.service("orchestrator")
    async with running(service), asking(service) as client:
        async with service.database.transaction() as tx:
            commands = [
                tx.send(ResearchRequested(brand_slug="acme", keyword=f"k {number}")) for number in range(5)
            ]
            event = tx.send(ResearchCompleted(brand_slug="acme", keyword="k", research_id=new_event_id()))
            tx.send(ResearchRequested(brand_slug="acme", keyword="tomorrow"), delay=timedelta(days=1))
            tx.send_raw(
                queue=QUEUE,
                body=b"{}",
                event_id=new_event_id(),
                type="x.y",
                correlation_id=None,
                headers={},
                continues={},
            )

        async def only_the_delayed_one_is_left() -> bool:
            return bool(await world.database.fetchval("select count(*) = 1 from outbox"))

        await eventually(only_the_delayed_one_is_left)
        found = await sent_ids(client)
        of_queue = await sent_ids(client, routing_key=QUEUE)
        others = await sent_ids(client, routing_key="social-commands")
        events = await sent_ids(client, "brand-events")
        returned = await sent_ids(client, "returns")
        rows = await world.database.fetchval("select count(*) from sent_batches")
        young = await client.get(SENT, params={"exchange": "commands"})
    assert sorted(found) == sorted(commands) == sorted(of_queue)
    assert (events, others, returned) == ([event], [], [])
    assert rows == 2
    assert (young.json()["items"], young.json()["is_last"], young.json()["is_recorded"]) == ([], True, True)


async def test_pages_end_within_a_bound_and_no_message_is_on_two_of_them(world: Any, asking: Asking) -> None:
    service = world.service("orchestrator")
    ids = [new_event_id() for _ in range(2500)]
    async with asking(service) as client:
        await service.connections.open()
        for start in range(0, len(ids), 100):
            await world.database.execute(
                "insert into sent_batches (exchange, routing_key, event_ids) values ('commands', $1, $2)",
                QUEUE,
                ids[start : start + 100],
            )
        first = (await client.get(SENT, params={"exchange": "commands", "older_than": 0})).json()
        found = await sent_ids(client)
        # What comes later is behind the place where reading ended.
        end = (
            await client.get(SENT, params={"exchange": "commands", "older_than": 0, "routing_key": "none"})
        ).json()["next"]
        later = new_event_id()
        await world.database.execute(
            "insert into sent_batches (exchange, routing_key, event_ids) values ('commands', $1, $2)",
            QUEUE,
            [later],
        )
        rest = await sent_ids(client, after=end)
        await world.database.execute("update sent_batches set sent_at = sent_at - interval '49 hours'")
        async with service.connections.connection() as connection:
            await sent.forget_old(connection)
        await service.connections.close()
    assert len(first["items"]) == 10
    assert not first["is_last"]
    assert found == ids
    assert rest == [later]
    assert await world.database.fetchval("select count(*) from sent_batches") == 0


async def test_a_message_that_two_relays_published_is_recorded_by_the_one_that_deletes_it(world: Any) -> None:
    service = world.service("orchestrator")
    await service.connections.open()
    mine, theirs = new_event_id(), new_event_id()
    row = outbox.row_for(world.request("k"), "commands", QUEUE)
    async with service.connections.connection() as connection:
        await outbox.insert(connection, [row], mine, timedelta(0))
        await outbox.claim(connection, 10, theirs, timedelta(seconds=30))
        await sent.delete_confirmed(connection, [row.id], mine)
        assert await connection.fetchval("select count(*) from sent_batches") == 0
        for _ in range(2):
            await sent.delete_confirmed(connection, [row.id], theirs)
        assert await connection.fetchval("select event_ids from sent_batches") == [row.event_id]
    await service.connections.close()


async def test_switched_off_nothing_is_recorded(world: Any, asking: Asking) -> None:
    service = world.service("orchestrator", message_ledger=False)
    async with running(service), asking(service) as client:
        async with service.database.transaction() as tx:
            tx.send(ResearchRequested(brand_slug="acme", keyword="k"))
        await eventually(world.outbox_is_empty)
        page = (await client.get(SENT, params={"exchange": "commands", "older_than": 0})).json()
    assert (page["items"], page["is_recorded"]) == ([], False)


async def treat(given: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
    for message in given:
        match message.payload.keyword:
            case "later":
                tx.fail(message, RetryLater("the shelf is locked", after=timedelta(hours=2)))
            case "never":
                tx.fail(message, Unprocessable("no such shelf"))


async def test_all_but_handled_messages_are_told_of_with_their_state(world: Any, asking: Asking) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(treat, ResearchRequested))
    handled, dead, later = world.request("k"), world.request("never"), world.request("later")
    strange = UUID("7c9e6679-7425-40de-944b-e07fc1f90ae7")
    asked = [handled.event_id, dead.event_id, later.event_id, strange]
    async with running(service), asking(service) as client:
        for each in (handled, dead, later):
            await world.send(each)

        async def has_outcomes() -> bool:
            told = await outcomes_of(client, asked)
            states = {key: each["state"] for key, each in told.items()}
            # Until the broker has its dead letter, that waits in the outbox.
            return not any(each["is_unsent"] for each in told.values()) and states == {
                dead.event_id: "dead_lettered",
                later.event_id: "waiting",
                strange: "unknown",
            }

        await eventually(has_outcomes)
        found = await outcomes_of(client, asked)
        answer = (await client.get(OUTCOMES, params={"queue": QUEUE, "ids": packed([strange])})).json()
        foreign = (await client.get(OUTCOMES, params={"queue": "x\0y", "ids": packed([strange])})).json()
        nothing = (await client.get(OUTCOMES, params={"queue": QUEUE, "ids": ""})).json()
    assert found[later.event_id]["due_at"] is not None
    assert answer["ready"] == 0
    assert (foreign["ready"], nothing["unhandled"], nothing["ready"]) == (None, [], None)


async def test_messages_in_a_handler_and_those_behind_them_are_told_of(world: Any, asking: Asking) -> None:
    goes_on = asyncio.Event()

    async def wait(message: DomainMessage[ResearchRequested], _context: Context) -> None:
        await goes_on.wait()

    service = world.service()
    service.consume(QUEUE, on_each(wait, ResearchRequested), policy=QueuePolicy(max_concurrency=1))
    messages = [world.request(f"k {number}") for number in range(3)]
    ids = [each.event_id for each in messages]
    async with running(service), asking(service) as client:
        for each in messages:
            await world.send(each)

        async def states() -> bool:
            return [each["state"] for each in (await outcomes_of(client, ids)).values()] == [
                "running",
                "held",
                "held",
            ]

        await eventually(states, within=30)
        goes_on.set()

        async def all_handled() -> bool:
            return not await outcomes_of(client, ids)

        await eventually(all_handled, within=30)

        async def nothing_noted() -> bool:
            return bool(await world.database.fetchval("select count(*) = 0 from running_messages"))

        await eventually(nothing_noted, within=30)


async def test_only_operators_of_all_brands_may_ask_and_only_for_ids(world: Any, asking: Asking) -> None:
    service = world.service()
    wrong = {"queue": QUEUE, "ids": "nonsense!"}
    async with asking(service) as client:
        for caller in ("editor", "bound"):
            for path in (SENT, OUTCOMES):
                refused = await client.get(path, params=wrong, headers={"X-Service-Key": caller})
                assert refused.status_code == httpx.codes.FORBIDDEN, (caller, path)
        too_many = packed([new_event_id()] * (MOST_ASKED + 1))
        for ids in ("nonsense!", "AAAA", "ä", too_many):
            refused = await client.get(OUTCOMES, params={"queue": QUEUE, "ids": ids})
            assert refused.status_code == 422, ids[:20]
        refused = await client.get(SENT, params={"exchange": "commands", "after": "1"})
        assert refused.status_code == 422
