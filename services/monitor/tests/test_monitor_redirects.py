"""Replays of what died in a queue that is gone: refused without a target, and redirected to the queue that handles its type."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import UUID, uuid4

import httpx
import pytest

from envelope import DeadLetterResolved, DomainMessage, new_event_id
from messaging import Database, DeadLetter
from messaging.headers import REPLAY_OF
from monitor.dead_letters import handlers, states_of_messages

GONE, TARGET = "printer-commands", "publisher-commands"
NewDeath = Callable[..., DomainMessage[DeadLetter]]
NewEnvelope = Callable[..., bytes]
Record = Callable[..., Awaitable[list[UUID]]]
PAYLOAD = {"brand_slug": "daily-grind", "content_id": str(uuid4()), "target": "site"}


async def handled(database: Database, dead: UUID, replay: UUID) -> None:
    """The consumer of the target reports that it has handled the replay."""
    word = DeadLetterResolved(dead_event_id=dead, replay_event_id=replay, queue=TARGET)
    message = DomainMessage[DeadLetterResolved](
        event_id=new_event_id(),
        type="dead_letter.resolved",
        source="publisher",
        timestamp=datetime.now(UTC),
        payload=word,
    )
    async with database.transaction() as tx:
        await handlers.resolve([message], tx)


async def state_in_ledger(database: Database, dead: UUID, queue: str) -> str | None:
    async with database.connection() as connection:
        return (await states_of_messages(connection, [dead], queue)).get(dead)


@pytest.mark.parametrize(
    ("type_", "told"),
    [
        ("content.publish", "content.publish is handled from publisher-commands now"),
        ("coupon.printed", "no service handles coupon.printed now"),
    ],
)
async def test_a_message_of_a_queue_that_is_gone_is_not_replayed_into_nowhere(
    database: Database,
    api: httpx.AsyncClient,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
    type_: str,
    told: str,
) -> None:
    [letter] = await record(new_death(new_envelope(type=type_, payload=PAYLOAD), queue=GONE))
    refused = await api.post(f"/v1/dead-letters/{letter}/replay", json={})
    assert (refused.status_code, refused.json()["code"]) == (422, "dead_letter_unsuitable")
    assert "no queue printer-commands any more" in refused.json()["detail"]
    assert told in refused.json()["detail"]
    every = await api.post("/v1/dead-letters/replay", json={})
    assert every.json()["replayed"] == 0
    wrong = await api.post(f"/v1/dead-letters/{letter}/replay", json={"redirect_to": "social-commands"})
    assert wrong.status_code == 422
    none = await api.post("/v1/dead-letters/replay", json={"redirect_to": "social-commands"})
    assert none.json()["replayed"] == 0
    async with database.connection() as connection:
        assert await connection.fetchval("select count(*) from outbox where exchange = 'returns'") == 0
    assert (await api.get(f"/v1/dead-letters/{letter}")).json()["state"] == "open"


async def test_a_redirected_replay_is_resolved_by_the_consumer_of_its_new_queue(
    database: Database,
    api: httpx.AsyncClient,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
) -> None:
    dead = new_event_id()
    [letter] = await record(
        new_death(new_envelope(dead, type="content.publish", payload=PAYLOAD), queue=GONE)
    )
    before = (await api.get(f"/v1/dead-letters/{letter}")).json()
    assert (before["redirectable_to"], before["redirected_from"]) == (TARGET, None)
    answer = await api.post(f"/v1/dead-letters/{letter}/replay", json={"redirect_to": TARGET, "by": "Ann"})
    assert answer.status_code == 202, answer.text
    told = answer.json()
    assert (told["state"], told["queue"], told["redirected_from"], told["redirectable_to"]) == (
        "replaying",
        TARGET,
        GONE,
        None,
    )
    async with database.connection() as connection:
        sent = await connection.fetchrow(
            "select * from outbox where event_id = $1", UUID(told["replay_event_id"])
        )
    assert sent is not None
    assert sent["routing_key"] == TARGET
    assert str(dead) in sent["headers"]
    assert await state_in_ledger(database, dead, GONE) == "replaying"
    await handled(database, dead, UUID(told["replay_event_id"]))
    assert (await api.get(f"/v1/dead-letters/{letter}")).json()["state"] == "resolved"
    # The sender's ledger knows the message by the queue that it was sent to.
    assert await state_in_ledger(database, dead, GONE) == "resolved"


async def test_a_redirected_replay_that_dies_takes_the_place_of_the_first(
    database: Database,
    api: httpx.AsyncClient,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
) -> None:
    dead = new_event_id()
    [letter] = await record(
        new_death(new_envelope(dead, type="content.publish", payload=PAYLOAD), queue=GONE)
    )
    bulk = await api.post("/v1/dead-letters/replay", json={"redirect_to": TARGET})
    assert [each["id"] for each in bulk.json()["replays"]] == [str(letter)]
    [replay] = [each["replay_event_id"] for each in bulk.json()["replays"]]
    again = new_envelope(UUID(replay), type="content.publish", payload=PAYLOAD)
    [second] = await record(new_death(again, queue=TARGET, headers={REPLAY_OF: str(dead)}))
    first = (await api.get(f"/v1/dead-letters/{letter}")).json()
    assert (first["state"], first["replaced_by"]) == ("resolved", str(second))
    assert (await api.get(f"/v1/dead-letters/{second}")).json()["state"] == "open"
    assert await state_in_ledger(database, dead, GONE) == "open"


async def test_what_has_its_queue_is_not_redirected(
    api: httpx.AsyncClient, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    [letter] = await record(new_death(new_envelope(type="content.publish", payload=PAYLOAD), queue=TARGET))
    refused = await api.post(f"/v1/dead-letters/{letter}/replay", json={"redirect_to": "social-commands"})
    assert (refused.status_code, refused.json()["code"]) == (422, "dead_letter_unsuitable")
    assert f"its queue {TARGET} is there" in refused.json()["detail"]
    bulk = await api.post("/v1/dead-letters/replay", json={"redirect_to": TARGET})
    assert bulk.json()["replayed"] == 0
    assert (await api.get(f"/v1/dead-letters/{letter}")).json()["redirectable_to"] is None
