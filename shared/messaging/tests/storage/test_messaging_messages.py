"""The lists of messages, handled and running ones too, as a service's API shows them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from starlette.requests import Request

from chassis.http.api import add_routes, api
from chassis.http.callers import Caller, Scope
from chassis.testing import eventually, running
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ResearchRequested
from messaging import (
    Context,
    QueuePolicy,
    Record,
    RetryLater,
    Service,
    Transaction,
    Unprocessable,
    WaitFor,
    on_batch,
    on_each,
)
from messaging.flow import retry_changes
from messaging.message_routes import message_routes
from messaging.storage import attempts, inbox, messages
from messaging.storage.attempts import EndedAttempt
from messaging.storage.retries import RetrySelection

QUEUE = "research-commands"
MESSAGES = "/v1/messages"
RUNNING = "/v1/messages/running"
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
        app = api("Messages", authorise, answers=service.database)
        add_routes(app, message_routes(service.database))
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://test",
            headers={"X-Service-Key": "operator"},
        ) as client:
            yield client

    return ask


async def answer_of(client: httpx.AsyncClient, path: str = MESSAGES, **query: Any) -> dict[str, Any]:
    answer = await client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def ids_of(client: httpx.AsyncClient, **query: Any) -> list[str]:
    return [each["message_id"] for each in (await answer_of(client, **query))["items"]]


async def all_pages(client: httpx.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    pages = [await answer_of(client, **query)]
    while pages[-1]["next"] is not None:
        pages.append(await answer_of(client, **query, after=pages[-1]["next"]))
        assert len(pages) < 100
    return pages


async def treat(given: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
    for message in given:
        match message.payload.keyword:
            case "later":
                tx.fail(message, RetryLater("the shelf is locked", after=timedelta(hours=2)))
            case "never":
                tx.fail(message, Unprocessable("no such shelf"))


def id_at(at: datetime, number: int = 0) -> UUID:
    """A UUIDv7 of a time."""
    return UUID(int=int(at.timestamp() * 1000) << 80 | 0x7000_8000_0000_0000_0000 | number)


async def store(world: Any, *rows: inbox.InboxRow) -> None:
    async with world.database.acquire() as connection, connection.transaction():
        await inbox.insert(connection, QUEUE, rows)


async def test_what_became_of_each_message_is_listed(world: Any, asking: Asking) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(treat, ResearchRequested))
    handled, dead, later = world.request("k"), world.request("never"), world.request("later")
    async with running(service), asking(service) as client:
        before = await answer_of(client)
        for each in (handled, dead, later):
            await world.send(each)
        async with service.database.transaction() as tx:
            unsent = tx.send(
                ResearchRequested(brand_slug="acme", keyword="tomorrow"),
                correlation_id="chain-2",
                delay=timedelta(days=1),
            )

        async def all_listed() -> bool:
            states = {each["state"] for each in (await answer_of(client))["items"]}
            return states == {"handled", "dead_lettered", "waiting", "unsent"}

        await eventually(all_listed)
        found = await answer_of(client)
        of_chain = await ids_of(client, correlation_id="chain-1")
        by_state = {
            state: await ids_of(client, state=state)
            for state in ("handled", "dead_lettered", "waiting", "unsent")
        }
        by_id = await ids_of(client, message_id=str(later.event_id))
        by_type = await ids_of(client, type="research.requested", state="handled")
        nothing = [
            await ids_of(client, **each)
            for each in (
                {"type": "x"},
                {"type": "x\0"},
                {"correlation_id": "x\0"},
                {"message_id": str(uuid4())},
            )
        ]
    assert (before["items"], before["reaches_back_to"]) == ([], None)
    items = {each["message_id"]: each for each in found["items"]}
    assert set(items) == {str(each) for each in (handled.event_id, dead.event_id, later.event_id, unsent)}
    assert by_state == {
        "handled": [str(handled.event_id)],
        "dead_lettered": [str(dead.event_id)],
        "waiting": [str(later.event_id)],
        "unsent": [str(unsent)],
    }
    assert set(of_chain) == {str(each.event_id) for each in (handled, dead, later)}
    assert (by_id, by_type) == ([str(later.event_id)], [str(handled.event_id)])
    assert nothing == [[]] * 4
    one, waits, to_send = items[str(handled.event_id)], items[str(later.event_id)], items[str(unsent)]
    assert (one["queue"], one["correlation_id"], one["attempt"], one["due_at"]) == (
        QUEUE,
        "chain-1",
        None,
        None,
    )
    assert datetime.fromisoformat(one["ended_at"]) >= datetime.fromisoformat(one["at"])
    assert (waits["attempt"], waits["exception_type"], waits["detail"]) == (
        2,
        "RetryLater",
        "the shelf is locked",
    )
    assert (to_send["queue"], to_send["attempt"], to_send["ended_at"]) == (QUEUE, None, None)
    assert timedelta(hours=23) < datetime.fromisoformat(to_send["due_at"]) - datetime.now(UTC)
    assert found["reaches_back_to"] == min(items[str(each.event_id)]["at"] for each in (handled, dead))
    assert datetime.fromisoformat(found["chains_since"]) <= datetime.fromisoformat(found["now"])


async def test_the_cause_of_a_message_and_its_attempts_are_listed(world: Any, asking: Asking) -> None:
    service = world.service()
    tried: list[int] = []

    async def work(message: DomainMessage[ResearchRequested], context: Context) -> Record:
        if message.payload.keyword == "long":
            await asyncio.sleep(attempts.LONG.total_seconds())
        if message.payload.keyword == "troubled":
            tried.append(context.attempt)
            if len(tried) <= 2:
                raise WaitFor("library", "closed")
            if len(tried) == 3:
                raise OSError("no shelf")
        return lambda tx: world.write(tx, message)

    service.consume(QUEUE, on_each(work, ResearchRequested), policy=QueuePolicy(wait_base=0.05))
    cause = new_event_id()
    quick, long, troubled = (
        world.request(each).model_copy(update={"causation_id": cause})
        for each in ("quick", "long", "troubled")
    )
    async with running(service), asking(service) as client:
        for each in (quick, long, troubled):
            await world.send(each)

        async def all_handled() -> bool:
            return len(await ids_of(client, state="handled")) == 3

        await eventually(all_handled)
        found = {each["message_id"]: each for each in (await answer_of(client))["items"]}
    assert {each["caused_by"] for each in found.values()} == {str(cause)}
    assert found[str(quick.event_id)]["attempts"] == []
    (alone,) = found[str(long.event_id)]["attempts"]
    assert (alone["attempt"], alone["outcome"], alone["reason"]) == (1, "handled", None)
    worked = datetime.fromisoformat(alone["ended_at"]) - datetime.fromisoformat(alone["began_at"])
    assert worked >= attempts.LONG
    first, second = found[str(troubled.event_id)]["attempts"]
    assert (first["attempt"], first["outcome"], first["reason"]) == (1, "retried", "OSError")
    assert first["waits"] == 2
    assert first["began_at"] < first["ended_at"] < first["next_at"] <= second["began_at"]
    assert (second["attempt"], second["outcome"], second["next_at"]) == (2, "handled", None)
    assert tried == [1, 1, 1, 2]


async def test_a_waiting_message_has_its_cause_and_a_cancelled_one_keeps_it(
    world: Any, asking: Asking
) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(treat, ResearchRequested))
    cause = new_event_id()
    later = world.request("later").model_copy(update={"causation_id": cause})
    async with running(service), asking(service) as client:
        await world.send(later)

        async def is_waiting() -> bool:
            return bool(await ids_of(client, state="waiting"))

        await eventually(is_waiting)
        (waiting,) = (await answer_of(client))["items"]
        await retry_changes.cancel(service.database, RetrySelection(), 10, by="olga", reason="no shelf")
        (dead,) = (await answer_of(client, state="dead_lettered"))["items"]
    assert waiting["caused_by"] == dead["caused_by"] == str(cause)
    (attempt,) = dead["attempts"]
    assert (attempt["outcome"], attempt["reason"]) == ("retried", "RetryLater")


async def test_attempts_leave_with_the_record_and_the_last_are_listed(world: Any) -> None:
    tried = new_event_id()
    service = world.service()
    async with running(service), service.database.transaction() as tx:
        for number in range(1, 26):
            ended = EndedAttempt(tried, number, "retried", next_after=timedelta(minutes=1))
            await attempts.note(tx.connection, [ended])
        await tx.connection.execute(
            "update message_attempts set ended_at = now() - interval '9 days' where attempt > 24"
        )
        shown = (await attempts.find(tx.connection, [tried, new_event_id()]))[tried]
        assert [each.attempt for each in shown] == list(range(6, 26))
        await attempts.forget_old(tx.connection)
        shown = (await attempts.find(tx.connection, [tried]))[tried]
        assert [each.attempt for each in shown] == list(range(5, 25))


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
async def test_pages_have_each_message_once_newest_first_whatever_its_id(
    world: Any, asking: Asking, limit: int
) -> None:
    service = world.service()
    now = datetime.now(UTC).replace(microsecond=0)
    rows = [
        inbox.InboxRow(id_at(now - timedelta(hours=number // 2), number), "x", "handled", "c")
        for number in range(6)
    ]
    foreign = [UUID(int=1), UUID(int=2**128 - 1), uuid4(), id_at(now + timedelta(days=400))]
    async with running(service), asking(service) as client:
        await store(world, *rows, *(inbox.InboxRow(each, "x", "dead", "c") for each in foreign))
        # At the very millisecond of others, and in the same one.
        for number, event_id in enumerate(foreign):
            await world.database.execute(
                "update processed_events set processed_at = $2 where event_id = $1",
                event_id,
                now - timedelta(hours=number % 2, microseconds=number // 2),
            )
        for number in range(3):
            await world.database.execute(
                """
                insert into outbox (id, exchange, routing_key, event_id, type, correlation_id, body, headers, deliver_at, due_at, created_at)
                values ($1, 'returns', $2, $3, 'x', 'c', '', '{"attempt": 2}', now() + interval '1 hour', now() + interval '1 hour', $4)
                """,
                uuid4(),
                QUEUE,
                uuid4(),
                now - timedelta(hours=number),
            )
        pages = await all_pages(client, limit=limit)
        of_chain = await all_pages(client, limit=limit, correlation_id="c")
        hour = await all_pages(
            client, limit=limit, since=(now - timedelta(hours=1)).isoformat(), until=now.isoformat()
        )
    listed = [each for page in pages for each in page["items"]]
    assert len(listed) == len({each["message_id"] for each in listed}) == 13
    keys = [(datetime.fromisoformat(each["at"]), each["message_id"]) for each in listed]
    assert keys == sorted(keys, reverse=True)
    assert [each for page in of_chain for each in page["items"]] == listed
    assert [each for page in hour for each in page["items"]] == [
        each for each in listed if now - timedelta(hours=1) <= datetime.fromisoformat(each["at"]) < now
    ]
    assert all(len(page["items"]) == limit for page in pages[:-1])


async def test_a_rare_type_is_found_over_several_pages_of_which_each_reads_a_bounded_part(
    world: Any, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "MOST_READ", 10)
    service = world.service()
    now = datetime.now(UTC)
    rows = [
        inbox.InboxRow(
            id_at(now - timedelta(minutes=number), number), "rare" if number == 25 else "x", "handled"
        )
        for number in range(40)
    ]
    async with running(service), asking(service) as client:
        await store(world, *rows)
        pages = await all_pages(client, type="rare")
    assert [len(page["items"]) for page in pages] == [0, 0, 1, 0, 0]
    assert pages[2]["items"][0]["message_id"] == str(rows[25].event_id)


@pytest.mark.parametrize(
    "query",
    [
        {"after": "12"},
        {"state": "lost"},
        {"message_id": "x"},
        {"since": "x"},
        {"limit": "0"},
        {"limit": "201"},
    ],
)
async def test_strange_queries_are_refused(world: Any, asking: Asking, query: dict[str, str]) -> None:
    service = world.service()
    async with running(service), asking(service) as client:
        answer = await client.get(MESSAGES, params=query)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_cursors_of_any_time_are_taken(world: Any, asking: Asking) -> None:
    service = world.service()
    async with running(service), asking(service) as client:
        await store(world, inbox.InboxRow(new_event_id(), "x", "handled"))
        assert await ids_of(client, after=f"0-{UUID(int=0)}") == []
        assert len(await ids_of(client, after=f"{'9' * 17}-{UUID(int=2**128 - 1)}")) == 1
        assert await ids_of(client, since="9999-12-31T23:59:59Z") == []
        assert await ids_of(client, until="0001-01-01T00:00:00Z") == []


async def test_a_message_in_a_handler_is_listed_with_its_process_until_it_ends(
    world: Any, asking: Asking
) -> None:
    service = world.service()
    gate = asyncio.Event()

    async def work(message: DomainMessage[ResearchRequested], context: Context) -> None:
        del message, context
        await gate.wait()

    service.consume(QUEUE, on_each(work, ResearchRequested), policy=QueuePolicy(max_concurrency=2))
    given = [world.request() for _ in range(3)]
    async with running(service), asking(service) as client:
        for each in given:
            await world.send(each)

        async def are_running(count: int) -> bool:
            return len((await answer_of(client, RUNNING))["items"]) == count

        await eventually(lambda: are_running(2))
        found = await answer_of(client, RUNNING)
        assert {each["message_id"] for each in found["items"]} <= {str(each.event_id) for each in given}
        (one, _) = found["items"]
        assert (one["type"], one["queue"], one["correlation_id"], one["attempt"]) == (
            "research.requested",
            QUEUE,
            "chain-1",
            1,
        )
        assert one["since"] < one["seen_at"] <= found["now"]
        assert not one["is_orphaned"]
        # Beside the list of messages too: all of them, or those of its chain.
        lists = [
            await answer_of(client, MESSAGES, **asked)
            for asked in (
                {},
                {"running": True},
                {"running": True, "correlation_id": "chain-1"},
                {"running": True, "correlation_id": "another"},
                {"running": True, "correlation_id": "no\0chain"},
            )
        ]
        ids = [each["running"] and [one["message_id"] for one in each["running"]] for each in lists]
        both = [each["message_id"] for each in found["items"]]
        assert ids == [None, both, both, [], []]
        gate.set()
        await eventually(lambda: are_running(0))
        assert await world.database.fetchval("select count(*) from running_messages") == 0


async def test_a_message_of_a_dead_process_is_orphaned_until_it_has_an_outcome_or_runs_elsewhere(
    world: Any, asking: Asking
) -> None:
    service = world.service()
    lost, ended, taken = new_event_id(), new_event_id(), new_event_id()

    async def note(host: str, age: timedelta, *event_ids: UUID) -> None:
        rows = [
            {
                "event_id": str(each),
                "type": "x",
                "queue": QUEUE,
                "correlation_id": None,
                "attempt": 1,
                "age": 5.5,
            }
            for each in event_ids
        ]
        await world.database.execute(
            "insert into running_messages (process, host, pid, seen_at, messages) values ($1, $2, 7, now() - $3::interval, $4)",
            uuid4(),
            host,
            age,
            json.dumps(rows),
        )

    async with running(service), asking(service) as client:
        await note("dead", timedelta(minutes=5), lost, ended, taken)
        await note("alive", timedelta(), taken)
        await store(world, inbox.InboxRow(ended, "x", "handled"))
        items = (await answer_of(client, RUNNING))["items"]
    assert [(each["message_id"], each["host"], each["is_orphaned"]) for each in items] == [
        (str(lost), "dead", True),
        (str(taken), "alive", False),
    ]
    since, seen = (datetime.fromisoformat(items[0][name]) for name in ("since", "seen_at"))
    assert seen - since == timedelta(seconds=5.5)


@pytest.mark.parametrize("who", ["editor", "bound"])
@pytest.mark.parametrize("path", [MESSAGES, RUNNING])
async def test_only_operators_of_all_brands_see_them(world: Any, asking: Asking, who: str, path: str) -> None:
    service = world.service()
    async with running(service), asking(service) as client:
        answer = await client.get(path, headers={"X-Service-Key": who})
    assert answer.status_code == 403
