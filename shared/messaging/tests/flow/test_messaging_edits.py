"""Edited dead letters: the edited message goes out once, and the original never does."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
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
from envelope import DeadLetterEdited, DeadLetterResolved, DomainMessage, EnvelopeHead, encode, new_event_id
from envelope.brand.payloads import ResearchRequested
from messaging import RetryLater, Service, Transaction, Unprocessable, on_batch, on_each
from messaging.edit_routes import EDIT_BODIES
from messaging.flow import dead_letters
from messaging.flow.replays import content_digest
from messaging.headers import REPLAY_OF, Reason
from messaging.message_routes import message_routes
from messaging.problem_codes import ALL as MESSAGE_CODES
from messaging.storage import origins
from messaging.testing import Broker

QUEUE = "research-commands"
WRONG, RIGHT = "solar pannels", "solar panels"
CALLERS = {
    "operator": Caller("olga", frozenset({Scope.READ, Scope.OPERATE, Scope.REPAIR})),
    "looker": Caller("lou", frozenset(Scope) - {Scope.OPERATE}),
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
        app = api(
            "Edits", authorise, answers=service.database, codes=MESSAGE_CODES, larger_bodies=EDIT_BODIES
        )
        add_routes(app, message_routes(service.database))
        keep_audit_log(app, service.database)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app, raise_app_exceptions=False),
            base_url="http://test",
            headers={"X-Service-Key": "operator"},
        ) as client:
            yield client

    return ask


class Speller:
    """A research service that knows no keyword but the right one; while it is `slow`, it tries again instead."""

    def __init__(self, world: Any, url: str, *, singly: bool = False) -> None:
        self.handled: list[DomainMessage[Any]] = []
        self.tried = 0
        self.slow = False
        self.service: Service = world.service(rabbitmq_url=url)
        self.service.consume(
            QUEUE,
            on_each(self._one, ResearchRequested) if singly else on_batch(self._many, ResearchRequested),
        )

    def _look(self, message: DomainMessage[Any]) -> None:
        self.tried += 1
        if self.slow:
            raise RetryLater("not now", after=timedelta(seconds=0.5))
        if message.payload.keyword == WRONG:
            raise Unprocessable("nobody knows that word")
        self.handled.append(message)

    async def _many(self, messages: Any, tx: Transaction) -> None:
        for message in messages:
            try:
                self._look(message)
            except (Unprocessable, RetryLater) as error:
                tx.fail(message, error)

    async def _one(self, message: DomainMessage[Any], _context: object) -> None:
        self._look(message)


async def publish(url: str, exchange: str, body: bytes, type_: str, **headers: str) -> None:
    async with Broker.connected(url) as broker:
        await broker.publish(
            exchange, QUEUE, body, type=type_, user_id=urlsplit(url).username, headers={**headers}
        )


async def next_death(world: Any) -> tuple[UUID | None, Reason, str]:
    letter = await world.broker.take(f"{QUEUE}-dlq")
    read = dead_letters.read(letter.body, dict(letter.headers), QUEUE)
    return read.dead_event_id, read.reason, read.detail


async def next_report(world: Any) -> DomainMessage[Any]:
    """The next message for the recorder."""
    arrived = await world.broker.take("monitor-commands")
    head = EnvelopeHead.model_validate_json(arrived.body)
    payload = DeadLetterEdited if head.type == "dead_letter.edited" else DeadLetterResolved
    return DomainMessage[payload].model_validate_json(arrived.body)  # type: ignore[valid-type]


@asynccontextmanager
async def dead_message(
    world: Any, broker_urls: dict[str, str], speller: Speller, *, more: dict[str, Any] | None = None
) -> AsyncIterator[dict[str, Any]]:
    """A message that the service has dead-lettered, as a person sees it in full."""
    document = json.loads(encode(world.request(WRONG)))
    document["payload"] |= more or {}
    async with running(speller.service):
        await publish(
            broker_urls["orchestrator"], "commands", json.dumps(document).encode(), "research.requested"
        )
        assert (await next_death(world))[0] == UUID(document["event_id"])
        yield document


async def edit(client: httpx.AsyncClient, document: dict[str, Any], **changes: Any) -> httpx.Response:
    key = changes.pop("key", "operator")
    body = {"original": document, "payload": {**document["payload"], "keyword": RIGHT, **changes}}
    return await client.post(
        f"/v1/messages/{document['event_id']}/edit",
        json=body | {"by": "Ann", "reason": "a typing error"},
        headers={"X-Service-Key": key},
    )


def replay_of(document: dict[str, Any]) -> bytes:
    """As the recorder makes it."""
    return json.dumps(
        document | {"event_id": str(new_event_id()), "causation_id": document["event_id"]}
    ).encode()


@pytest.mark.parametrize("singly", [False, True])
async def test_the_edited_message_is_sent_and_the_original_never_is(
    world: Any, broker_urls: dict[str, str], asking: Asking, singly: bool
) -> None:
    speller = Speller(world, broker_urls["research"], singly=singly)
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        form = (await client.get(f"/v1/messages/{document['event_id']}/edit?type=research.requested")).json()
        assert (form["state"], form["queue"], form["fixed"]) == ("editable", QUEUE, ["brand_slug"])
        assert form["payload_schema"]["properties"]["keyword"]["maxLength"] == 200
        answer = await edit(client, document)
        assert answer.status_code == 202, answer.text
        edited = UUID(answer.json()["edited_message_id"])
        await eventually(lambda: len(speller.handled) == 1)
        report, word = sorted(
            [await next_report(world), await next_report(world)], key=lambda each: each.type
        )
        second = await edit(client, document)
        # The recorder may replay the original as often as it likes.
        for _ in range(2):
            replay = replay_of(document)
            await publish(
                broker_urls["monitor"],
                "returns",
                replay,
                "research.requested",
                **{REPLAY_OF: document["event_id"]},
            )
            _, reason, detail = await next_death(world)
            assert (reason, "was edited by Ann" in detail) == (Reason.FALSE_CLAIM, True)
        form = (await client.get(f"/v1/messages/{document['event_id']}/edit?type=research.requested")).json()
        noted = await world.database.fetch("select * from audit_log")
    (message,) = speller.handled
    assert (message.event_id, message.causation_id) == (edited, UUID(document["event_id"]))
    assert (message.payload.keyword, message.correlation_id) == (RIGHT, document["correlation_id"])
    assert speller.tried == 2  # the original before it died, and the edited one
    told = report.payload
    assert (told.dead_event_id, told.edited_event_id) == (UUID(document["event_id"]), edited)
    assert (told.edited_by, told.reason, told.content["keyword"]) == ("Ann", "a typing error", RIGHT)
    assert (word.payload.dead_event_id, word.payload.replay_event_id) == (UUID(document["event_id"]), edited)
    assert (second.status_code, second.json()["code"]) == (409, "message_edited")
    assert "was edited by Ann at 20" in second.json()["detail"]
    assert str(edited) in second.json()["detail"]
    assert (form["state"], form["edited_by"], form["settled_by"]) == ("edited", "Ann", str(edited))
    assert any("edit" in str(dict(row)) for row in noted)


async def test_of_two_people_at_once_one_is_refused(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    speller = Speller(world, broker_urls["research"])
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        both = await asyncio.gather(*(edit(client, document) for _ in range(5)))
        await eventually(lambda: len(speller.handled) == 1)
        await eventually(world.outbox_is_empty)
    assert sorted(each.status_code for each in both) == [202, 409, 409, 409, 409]
    assert len(speller.handled) == 1


async def test_the_same_request_twice_is_one_edit(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    speller = Speller(world, broker_urls["research"])
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        client.headers["Idempotency-Key"] = str(uuid4())
        first, second = await edit(client, document), await edit(client, document)
        await eventually(lambda: len(speller.handled) == 1)
    assert (first.status_code, first.json()) == (202, second.json())


async def test_an_edited_message_that_dies_can_be_edited_in_its_turn(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    speller = Speller(world, broker_urls["research"])
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        first = await edit(client, document, keyword=WRONG, priority="high")
        edited = UUID(first.json()["edited_message_id"])
        assert (await next_death(world))[0] == edited
        again = document | {"event_id": str(edited), "causation_id": document["event_id"]}
        again["payload"] = document["payload"] | {"priority": "high"}
        second = await edit(client, again)
        await eventually(lambda: len(speller.handled) == 1)
        late = await edit(client, document)
    assert (first.status_code, second.status_code, late.status_code) == (202, 202, 409)
    assert speller.handled[0].payload.keyword == RIGHT


async def test_a_dead_letter_that_was_replayed_cannot_be_edited(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    speller = Speller(world, broker_urls["research"])
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        await publish(
            broker_urls["monitor"],
            "returns",
            replay_of(document),
            "research.requested",
            **{REPLAY_OF: document["event_id"]},
        )
        await next_death(world)
        answer = await edit(client, document)
    assert (answer.status_code, answer.json()["code"]) == (409, "message_replayed")
    assert speller.handled == []


async def test_while_a_replay_waits_for_its_next_attempt_an_edit_is_refused(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    speller = Speller(world, broker_urls["research"])
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        speller.slow = True
        await publish(
            broker_urls["monitor"],
            "returns",
            replay_of(document),
            "research.requested",
            **{REPLAY_OF: document["event_id"]},
        )

        async def is_waiting() -> bool:
            found = "select count(*) from outbox where headers->>$1 is not null"
            return bool(await world.database.fetchval(found, REPLAY_OF))

        await eventually(is_waiting)
        answer = await edit(client, document)
    assert (answer.status_code, answer.json()["code"]) == (409, "message_replayed")
    assert "waits for the next attempt" in answer.json()["detail"]


@pytest.mark.parametrize("singly", [False, True])
async def test_a_replay_that_was_under_way_during_the_edit_is_given_up_at_its_next_attempt(
    world: Any, broker_urls: dict[str, str], asking: Asking, singly: bool
) -> None:
    speller = Speller(world, broker_urls["research"], singly=singly)
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        assert (await edit(client, document)).status_code == 202
        await eventually(lambda: len(speller.handled) == 1)
        tried = speller.tried
        # As the service itself returns one for its next attempt.
        await publish(
            broker_urls["research"],
            "returns",
            replay_of(document),
            "research.requested",
            **{REPLAY_OF: document["event_id"]},
        )
        _, reason, detail = await next_death(world)
    assert (reason, "was edited by Ann" in detail) == (Reason.FALSE_CLAIM, True)
    assert (speller.tried, len(speller.handled)) == (tried, 1)


async def test_an_administrator_lets_in_no_replay_of_an_edited_one(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    speller = Speller(world, broker_urls["research"])
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        await edit(client, document)
        edited, unknown = UUID(document["event_id"]), uuid4()
        async with world.database.acquire() as connection:
            assert await origins.accept(connection, [edited, unknown]) == [edited]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"brand_slug": "rival"}, "payload.brand_slug"),
        ({"keyword": ""}, "payload.keyword"),
        ({"keyword": 7}, "payload.keyword"),
        ({"priority": "urgent"}, "payload.priority"),
        ({"keywrod": "x"}, "payload.keywrod"),
        ({"newer": "changed"}, "payload.newer"),
        ({"not_before": "tomorrow"}, "payload.not_before"),
        (
            {"open_questions": {"answers_id": str(uuid4()), "questions": ["why"]}},
            "payload.open_questions.answers_id",
        ),
    ],
)
async def test_what_a_field_may_not_be_is_told_beside_it_and_nothing_is_sent(
    world: Any, broker_urls: dict[str, str], asking: Asking, changes: dict[str, Any], field: str
) -> None:
    speller = Speller(world, broker_urls["research"])
    old = {
        "newer": "stays",
        "open_questions": {"answers_id": str(uuid4()), "questions": ["how"]},
    }
    async with (
        dead_message(world, broker_urls, speller, more=old) as document,
        asking(speller.service) as client,
    ):
        answer = await edit(client, document, **changes)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
        assert [each["field"] for each in answer.json()["errors"]] == [field]
        assert await world.database.fetchval("select edited_at from dead_letter_origins") is None
        # Nothing is spoiled by it.
        assert (await edit(client, document)).status_code == 202
        await eventually(lambda: len(speller.handled) == 1)


async def test_what_a_newer_sender_has_added_stays(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    service = world.service(rabbitmq_url=broker_urls["research"])
    async with asking(service) as client:
        # Nobody consumes: the message lies in the queue, as it was sent.
        document = json.loads(encode(world.request(WRONG)))
        document["payload"]["newer"] = {"a": [1.0, 10**20, None]}
        async with running(service):
            await world.database.execute(
                "insert into dead_letter_origins (event_id, digest) values ($1, $2)",
                UUID(document["event_id"]),
                content_digest(json.dumps(document).encode()),
            )
            assert (await edit(client, document)).status_code == 202
            arrived = json.loads((await world.broker.take(QUEUE)).body)
    assert arrived["payload"] == document["payload"] | {"keyword": RIGHT}


@pytest.mark.parametrize("changed", ["type", "source", "correlation_id", "payload", "event_id"])
async def test_an_original_that_the_service_did_not_dead_letter_is_refused(
    world: Any, broker_urls: dict[str, str], asking: Asking, changed: str
) -> None:
    speller = Speller(world, broker_urls["research"])
    other = {
        "type": "research.erase",
        "source": "research",
        "correlation_id": "another",
        "payload": {"brand_slug": "rival", "keyword": WRONG},
        "event_id": str(uuid4()),
    }
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        answer = await client.post(
            f"/v1/messages/{document['event_id']}/edit",
            json={"original": document | {changed: other[changed]}, "payload": document["payload"]},
        )
        stranger = await edit(client, json.loads(encode(world.request("unheard of"))))
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_message"), answer.text
    assert (stranger.status_code, stranger.json()["code"]) == (404, "unknown_message")
    assert await world.database.fetchval("select count(*) from outbox") == 0


async def test_an_edit_makes_no_false_claim_true(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    speller = Speller(world, broker_urls["research"])
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        # As if social had said that it was the orchestrator, and the message had died of its fields before that was noticed.
        await world.database.execute(
            "update dead_letter_origins set exchange = 'commands', routing_key = $1, user_id = $2",
            QUEUE,
            urlsplit(broker_urls["social"]).username,
        )
        answer = await edit(client, document)
    assert (answer.status_code, answer.json()["code"]) == (422, "message_not_editable"), answer.text
    assert "an edit makes no false claim true" in answer.json()["detail"]
    assert speller.handled == []


@pytest.mark.parametrize("key", ["looker", "bound"])
async def test_who_may_not_is_refused_before_the_body(
    world: Any, broker_urls: dict[str, str], asking: Asking, key: str
) -> None:
    service = world.service(rabbitmq_url=broker_urls["research"])
    async with running(service), asking(service) as client:
        path, headers = f"/v1/messages/{uuid4()}/edit", {"X-Service-Key": key}
        answer = await client.post(path, content=b"nonsense", headers=headers)
        assert answer.status_code == 403
        assert (await client.get(f"{path}?type=research.requested", headers=headers)).status_code == 403


async def test_an_edit_that_cannot_commit_changes_nothing(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    speller = Speller(world, broker_urls["research"])
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        await world.database.execute("alter table outbox rename to elsewhere")
        assert (await edit(client, document)).status_code >= 500
        await world.database.execute("alter table elsewhere rename to outbox")
        assert await world.database.fetchval("select settled_by from dead_letter_origins") is None
        assert (await edit(client, document)).status_code == 202
        await eventually(lambda: len(speller.handled) == 1)


async def test_an_edited_message_that_becomes_too_large_is_refused(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    speller = Speller(world, broker_urls["research"])
    more = {"newer": "x" * 130_650}
    async with (
        dead_message(world, broker_urls, speller, more=more) as document,
        asking(speller.service) as client,
    ):
        answer = await edit(client, document)
        assert (answer.status_code, "bytes" in answer.text) == (422, True), answer.text
        assert await world.database.fetchval("select settled_by from dead_letter_origins") is None


async def test_one_whose_deadline_has_passed_needs_a_later_one(
    world: Any, broker_urls: dict[str, str], asking: Asking
) -> None:
    speller = Speller(world, broker_urls["research"])
    async with dead_message(world, broker_urls, speller) as document, asking(speller.service) as client:
        late = document | {"deadline": "2026-01-01T00:00:00Z", "max_cost": 1}
        body = {"original": late, "payload": document["payload"] | {"keyword": RIGHT}}
        path = f"/v1/messages/{document['event_id']}/edit"
        refused = await client.post(path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "message_not_editable")
        assert "has passed" in refused.json()["detail"]
        later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        assert (await client.post(path, json=body | {"deadline": later, "max_cost": 2})).status_code == 202
        await eventually(lambda: len(speller.handled) == 1)
    (handled,) = speller.handled
    assert (handled.deadline, handled.max_cost) == (datetime.fromisoformat(later), 2_000_000)
