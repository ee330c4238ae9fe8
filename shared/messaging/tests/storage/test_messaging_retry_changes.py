"""What an operator does with messages that wait for another attempt: they are run now, or cancelled."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import httpx
import pytest
from starlette.requests import Request

from chassis.http.api import add_routes, api
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Caller, Scope
from chassis.testing import eventually, running
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ResearchRequested
from messaging import RetryLater, Service, Transaction, on_batch
from messaging.flow import dead_letters
from messaging.headers import REPLAY_OF
from messaging.retry_routes import retry_routes
from messaging.testing import Broker

QUEUE = "research-commands"
RETRIES = "/v1/retries"
CALLERS = {
    "operator": Caller("olga", frozenset({Scope.READ, Scope.OPERATE})),
    "editor": Caller("eve", frozenset(Scope) - {Scope.OPERATE}),
    "bound": Caller("bo", frozenset(Scope), frozenset({"acme"})),
}
Asking = Callable[[Service], AbstractAsyncContextManager[httpx.AsyncClient]]
CANCEL = {"reason": "the keyword is obsolete", "by": "ann"}


@pytest.fixture
def asking() -> Asking:
    """The API of a service, asked by the operator unless a request says otherwise."""

    async def authorise(request: Request) -> Caller:
        return CALLERS[request.headers["X-Service-Key"]]

    @asynccontextmanager
    async def ask(service: Service) -> AsyncIterator[httpx.AsyncClient]:
        app = api("Retries", authorise, answers=service.database)
        add_routes(app, retry_routes(service.database))
        keep_audit_log(app, service.database)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app, raise_app_exceptions=False),
            base_url="http://test",
            headers={"X-Service-Key": "operator"},
        ) as client:
            yield client

    return ask


class Shelf:
    """A handler that fails until the shelf is open."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self.is_open = False

    async def handle(self, messages: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
        if self.is_open:
            await self._world.write_all(messages, tx)
            return
        for message in messages:
            tx.fail(message, RetryLater("the shelf is locked", after=timedelta(hours=2)))


@pytest.fixture
def shelf(world: Any) -> Shelf:
    return Shelf(world)


async def waits(client: httpx.AsyncClient, count: int = 1) -> list[dict[str, Any]]:
    """Waits until so many messages are listed."""

    async def found() -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = (await client.get(RETRIES)).json()["items"]
        return items if len(items) == count else []

    return list(await eventually(found))


async def change(client: httpx.AsyncClient, verb: str, **body: Any) -> dict[str, Any]:
    answer = await client.post(f"{RETRIES}/{verb}", json=(CANCEL if verb == "cancel" else {}) | body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def put(
    world: Any, message: DomainMessage[Any], *, lease: UUID | None = None, queue: str = QUEUE
) -> str:
    """Has the message wait in the outbox for two hours; returns the id of the row."""
    row_id = new_event_id()
    await world.database.execute(
        """
        insert into outbox (id, exchange, routing_key, event_id, type, correlation_id, body, headers, deliver_at, due_at, lease)
        values ($1, 'returns', $2, $3, $4, $5, $6, $7, $8, $8, $9)
        """,
        row_id,
        queue,
        message.event_id,
        message.type,
        message.correlation_id,
        encode(message),
        json.dumps({"attempt": 3, "failure-type": "OSError", "failure-message": "no route", "waits": 2}),
        datetime.now(UTC) + timedelta(hours=2),
        lease,
    )
    return str(row_id)


async def test_run_now_makes_the_attempt_at_once(
    world: Any, shelf: Shelf, asking: Asking, wakes_when_due: None
) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(shelf.handle, ResearchRequested))
    async with running(service), asking(service) as client:
        await world.send(world.request())
        [item] = await waits(client)
        shelf.is_open = True
        # Two people at once: the second finds it due, or gone.
        both = await asyncio.gather(*(change(client, "run", ids=[item["id"]]) for _ in range(2)))
        await eventually(lambda: world.has_effects(1))
        await eventually(world.outbox_is_empty)
        again = await change(client, "run", ids=[item["id"]])
    assert [item["id"]] in [each["ids"] for each in both]
    assert (again["ids"], [each["code"] for each in again["refused"]]) == ([], ["gone"])
    assert await world.effect_count() == 1


async def test_a_cancelled_message_is_a_dead_letter_and_no_copy_of_it_has_an_effect(
    world: Any, shelf: Shelf, asking: Asking
) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(shelf.handle, ResearchRequested))
    message = world.request()
    async with running(service), asking(service) as client:
        await world.send(message)
        [item] = await waits(client)
        both = await asyncio.gather(*(change(client, "cancel", ids=[item["id"]]) for _ in range(2)))
        shelf.is_open = True
        # The broker may still have a copy, after a confirm that never came.
        await world.send(message)
        other = world.request()
        await world.send(other)
        await eventually(lambda: world.has_effects(1))
        await eventually(world.outbox_is_empty)
        arrived = await world.broker.take(f"{QUEUE}-dlq")
        letter = dead_letters.read(arrived.body, dict(arrived.headers), QUEUE)
        assert await world.broker.depth(f"{QUEUE}-dlq") == 0
    assert sorted(len(each["ids"]) for each in both) == [0, 1]
    assert (letter.dead_event_id, letter.reason, letter.attempts) == (message.event_id, "cancelled", 1)
    assert letter.detail.startswith("cancelled by ann: the keyword is obsolete")
    assert "RetryLater: the shelf is locked" in letter.detail
    assert (letter.service, letter.body) == ("research", encode(message))
    assert await world.database.fetchval("select event_id from effects") == other.event_id
    outcome = "select outcome from processed_events where event_id = $1"
    assert await world.database.fetchval(outcome, message.event_id) == "dead"
    # So its replay is accepted.
    origin = "select settled_by is null from dead_letter_origins where event_id = $1"
    assert await world.database.fetchval(origin, message.event_id) is True


async def test_what_is_being_sent_has_ended_or_is_gone_stays_as_it_is(world: Any, asking: Asking) -> None:
    service = world.service()
    sent, ended, recorded = (world.request() for _ in range(3))
    async with running(service), asking(service) as client:
        ids = {
            "sending": await put(world, sent, lease=uuid4()),
            "ended": await put(world, ended),
            "unsuitable": await put(world, recorded, queue=f"{QUEUE}-dlq"),
            "gone": str(uuid4()),
        }
        await world.database.execute(
            "insert into processed_events (event_id, type, queue, outcome) values ($1, $2, $3, 'handled')",
            ended.event_id,
            ended.type,
            QUEUE,
        )
        cancelled = await change(client, "cancel", ids=list(ids.values()))
        run = await change(client, "run", ids=[ids["sending"], ids["gone"]])
        rows = await world.database.fetch(
            "select id, due_at > now() + interval '1 hour' as later from outbox"
        )
    assert cancelled["ids"] == []
    assert {each["id"]: each["code"] for each in cancelled["refused"]} == {
        row_id: code for code, row_id in ids.items()
    }
    assert {each["code"] for each in run["refused"]} == {"sending", "gone"}
    assert all(each["detail"] for each in cancelled["refused"])
    assert {str(row["id"]): row["later"] for row in rows} == {
        row_id: True for code, row_id in ids.items() if code != "gone"
    }


async def test_all_of_a_type_that_waited_by_then_are_cancelled_page_by_page(
    world: Any, asking: Asking
) -> None:
    service = world.service()
    async with running(service), asking(service) as client:
        first = [await put(world, world.request()) for _ in range(5)]
        until = (await client.get(RETRIES)).json()["now"]
        later = await put(world, world.request())
        taken, after = [], {}
        for _ in range(4):
            answer = await change(client, "cancel", type="research.requested", until=until, limit=2, **after)
            taken += answer["ids"]
            if answer["next"] is None:
                break
            after = {"after": answer["next"]}
        other = await change(client, "cancel", type="content.publish")
        left = [each["id"] for each in (await client.get(RETRIES)).json()["items"]]
        chain = await change(client, "run", correlation_id="chain-1", until=datetime.now(UTC).isoformat())
        await eventually(world.outbox_is_empty)
    assert (sorted(taken), other["ids"], left, chain["ids"]) == (sorted(first), [], [later], [later])


async def test_a_cancel_that_cannot_commit_changes_nothing(world: Any, asking: Asking) -> None:
    service = world.service()
    async with running(service), asking(service) as client:
        row_id = await put(world, world.request())
        await world.database.execute("alter table dead_letter_origins rename to elsewhere")
        answer = await client.post(f"{RETRIES}/cancel", json=CANCEL | {"ids": [row_id]})
        assert answer.status_code >= 500
        await world.database.execute("alter table elsewhere rename to dead_letter_origins")
        assert [each["id"] for each in await waits(client)] == [row_id]
        assert await world.database.fetchval("select count(*) from processed_events") == 0
        done = await change(client, "cancel", ids=[row_id])
        assert done["ids"] == [row_id]
        noted = await world.database.fetch("select * from audit_log")
    assert any("cancel" in str(dict(row)) for row in noted)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"ids": []},
        {"ids": [str(uuid4())], "type": "x"},
        {"type": "a\0b"},
        {"type": "x", "limit": 201},
        {"type": "x", "until": "yesterday"},
        {"ids": [str(uuid4())] * 201},
    ],
)
async def test_a_selection_that_makes_no_sense_is_refused(
    world: Any, asking: Asking, wrong: dict[str, Any]
) -> None:
    service = world.service()
    async with running(service), asking(service) as client:
        for verb, more in (("run", {}), ("cancel", CANCEL)):
            assert (await client.post(f"{RETRIES}/{verb}", json=wrong | more)).status_code == 422
        without = await client.post(f"{RETRIES}/cancel", json={"type": "x", "reason": " "})
        assert without.status_code == 422


@pytest.mark.parametrize("who", ["editor", "bound"])
async def test_only_operators_of_all_brands_may(world: Any, asking: Asking, who: str) -> None:
    service = world.service()
    async with running(service), asking(service) as client:
        for verb in ("run", "cancel"):
            # The key is refused before the body is read.
            answer = await client.post(
                f"{RETRIES}/{verb}", content=b"nonsense", headers={"X-Service-Key": who}
            )
            assert answer.status_code == 403


async def test_a_cancelled_message_can_be_replayed(
    world: Any, shelf: Shelf, asking: Asking, broker_urls: dict[str, str]
) -> None:
    service = world.service(rabbitmq_url=broker_urls["research"])
    service.consume(QUEUE, on_batch(shelf.handle, ResearchRequested))
    message = world.request()
    replay = message.model_copy(update={"event_id": new_event_id(), "causation_id": message.event_id})

    async def publish(sender: str, exchange: str, sent: DomainMessage[Any], **headers: str) -> None:
        async with Broker.connected(broker_urls[sender]) as broker:
            user = urlsplit(broker_urls[sender]).username
            await broker.publish(
                exchange, QUEUE, encode(sent), type=sent.type, user_id=user, headers={**headers}
            )

    async with running(service), asking(service) as client:
        await publish("orchestrator", "commands", message)
        [item] = await waits(client)
        await change(client, "cancel", ids=[item["id"]])
        await world.broker.take(f"{QUEUE}-dlq")
        shelf.is_open = True
        await publish("monitor", "returns", replay, **{REPLAY_OF: str(message.event_id)})
        await eventually(lambda: world.has_effects(1))
    assert await world.database.fetchval("select event_id from effects") == replay.event_id
