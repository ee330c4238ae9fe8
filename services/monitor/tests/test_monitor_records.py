"""Recording and settling deaths, on a real database."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import structlog

from chassis.observing import logs
from envelope import DeadLetterResolved, DomainMessage, new_event_id
from messaging import Database, DeadLetter
from monitor.dead_letters import decision_store, handlers, operations, queries, rename_queues, store
from monitor.dead_letters.decision_store import OperatorDecision
from monitor.dead_letters.domain import DeadLetterRefusal
from monitor.dead_letters.operations import DeadLetterOperations, ReplayResult

Death = DomainMessage[DeadLetter]
NewDeath = Callable[..., Death]
NewEnvelope = Callable[..., bytes]
Record = Callable[..., Awaitable[list[UUID]]]


async def row(database: Database, dead: UUID) -> dict[str, Any]:
    async with database.connection() as connection:
        found = await connection.fetchrow("select * from dead_messages where id = $1", dead)
    assert found is not None
    return dict(found)


async def sent(database: Database) -> list[dict[str, Any]]:
    async with database.connection() as connection:
        rows = await connection.fetch("select * from outbox order by created_at, id")
    return [{**row, "body": json.loads(row["body"]), "headers": json.loads(row["headers"])} for row in rows]


def word(*, dead: UUID, replay: UUID, queue: str = "publisher-commands") -> DomainMessage[DeadLetterResolved]:
    return DomainMessage[DeadLetterResolved](
        event_id=new_event_id(),
        type="dead_letter.resolved",
        source="publisher",
        timestamp=datetime.now(UTC),
        payload=DeadLetterResolved(dead_event_id=dead, replay_event_id=replay, queue=queue),
    )


async def resolve(database: Database, *, dead: UUID, replay: UUID, queue: str = "publisher-commands") -> None:
    async with database.transaction() as tx:
        await handlers.resolve([word(dead=dead, replay=replay, queue=queue)], tx)


async def replay(database: Database, dead: UUID) -> UUID:
    done = await DeadLetterOperations(database).replay(dead)
    assert isinstance(done, ReplayResult)
    return next(iter(done.replays.values()))


async def test_a_death_is_recorded_with_its_facts_and_announced(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    event_id, content_id = uuid4(), uuid4()
    payload = {"brand_slug": "daily-grind", "content_id": str(content_id), "keyword": "", "target": "site"}
    [dead] = await record(new_death(new_envelope(event_id, payload=payload)))
    found = await row(database, dead)
    assert (found["event_id"], found["state"], found["frame"]) == (
        event_id,
        "open",
        "publisher/handlers.py:41 in content_publish",
    )
    [announcement] = await sent(database)
    assert (announcement["exchange"], announcement["correlation_id"]) == ("brand-events", "chain-1")
    announced = announcement["body"]["payload"]
    assert (announced["brand_slug"], announced["content_id"]) == ("daily-grind", str(content_id))
    # An empty keyword is no keyword: what is not valid is left out rather than spoiling the announcement.
    assert announced.get("keyword") is None
    assert announced["dead_event_id"] == str(event_id)


HOSTILE = [
    b"",
    b"\x00\xff\xfe",
    b'{"event_id": "x"',
    "\ud800".encode("utf-8", "surrogatepass"),
    b"\x00" * 1000,
    b"{" * 5000,
    b'{"payload": "\\u0000"}',
]


async def test_garbage_is_recorded_byte_for_byte(
    database: Database, record: Record, new_death: NewDeath
) -> None:
    headers = {"n\x00": "v\x00", "s": "\ud800", "f": float("inf"), "deep": [[[{"x": None}]]]}
    deaths = [
        new_death(
            body,
            dead_event_id=None,
            message_type=None,
            source=None,
            correlation_id=None,
            reason="not_an_envelope",
            headers=headers,
            detail="de\x00tail\ud800",
            stack="st\x00ack",
            exception_type="E\x00",
            service="s\x00",
            attempts=2**40,
        )
        for body in HOSTILE
    ]
    ids = await record(*deaths)
    for dead, body in zip(ids, HOSTILE, strict=True):
        found = await row(database, dead)
        assert found["payload"] == body
        assert not found["replayable"]
    announced = await sent(database)
    assert [UUID(one["body"]["payload"]["dead_event_id"]) for one in announced] == ids
    for dead in ids:
        assert isinstance(await DeadLetterOperations(database).replay(dead), DeadLetterRefusal)


async def test_the_same_death_twice_is_one_row_and_one_announcement(
    database: Database, record: Record, new_death: NewDeath
) -> None:
    death = new_death()
    await record(death)
    await record(death)
    assert len(await sent(database)) == 1


async def test_the_death_of_an_announcement_ends_there(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    await record(new_death(new_envelope(type="dead_letter.recorded"), queue="orchestrator-events"))
    assert await sent(database) == []


@pytest.mark.parametrize(
    "changes", [{"reason": "false_claim"}, {"queue": "social-commands", "reason": "unknown_type"}]
)
async def test_the_death_of_what_nobody_believes_costs_nobody_anything(
    database: Database,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
    changes: dict[str, str],
) -> None:
    await record(new_death(new_envelope(), **changes))
    [announcement] = await sent(database)
    payload = announcement["body"]["payload"]
    assert payload["reason"] == changes["reason"]
    assert {"brand_slug", "keyword", "content_id"} & payload.keys() == set()


async def test_the_alert_names_the_facts_and_no_secrets(record: Record, new_death: NewDeath) -> None:
    with structlog.testing.capture_logs([logs.redact]) as lines:
        [dead] = await record(new_death(headers={"authorization": "hunter2"}))
    [alert] = [line for line in lines if line["event"] == "dead_letter_recorded"]
    assert alert["log_level"] == "error"
    assert (alert["dead_letter_id"], alert["reason"], alert["attempts"]) == (str(dead), "exhausted", 5)
    assert "secret" not in str(alert)
    assert "hunter2" not in str(alert)
    assert "daily-grind" not in str(alert)


async def test_a_replay_is_a_new_message_of_the_same_chain(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    event_id = uuid4()
    [dead] = await record(new_death(new_envelope(event_id, unknown_field=[1, 2])))
    replay_id = await replay(database, dead)
    message = (await sent(database))[-1]
    assert (message["exchange"], message["routing_key"]) == ("returns", "publisher-commands")
    assert message["headers"]["replay-of"] == str(event_id)
    body = message["body"]
    assert (body["event_id"], body["causation_id"], body["correlation_id"], body["unknown_field"]) == (
        str(replay_id),
        str(event_id),
        "chain-1",
        [1, 2],
    )
    found = await row(database, dead)
    assert (found["state"], found["replay_event_id"]) == ("replaying", replay_id)
    assert found["replayed_at"] is not None


async def test_word_of_the_consumer_resolves(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    event_id = uuid4()
    [dead] = await record(new_death(new_envelope(event_id)))
    replay_id = await replay(database, dead)
    for _ in range(2):
        await resolve(database, dead=event_id, replay=replay_id)
    found = await row(database, dead)
    assert (found["state"], found["resolution"]) == ("resolved", f"handled as {replay_id}")


async def test_word_of_many_settles_each_of_them_alone_however_often_it_comes(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    events = [uuid4() for _ in range(6)]
    dead = [(await record(new_death(new_envelope(event_id))))[0] for event_id in events]
    replays = [await replay(database, each) for each in dead[:4]]
    async with database.connection() as connection:
        await connection.execute(
            "update dead_messages set replayed_at = now() - interval '2 days' where id = $1", dead[1]
        )
    assert (
        await DeadLetterOperations(database).discard(dead[1], OperatorDecision(why="queue was purged"))
        is None
    )
    past_the_records, unknown = uuid4(), uuid4()
    words = [
        word(dead=events[0], replay=replays[0]),
        word(dead=events[1], replay=replays[1]),
        word(dead=events[2], replay=replays[2], queue="social-commands"),
        word(dead=events[4], replay=past_the_records),
        word(dead=unknown, replay=uuid4()),
    ]
    for _ in range(2):
        async with database.transaction() as tx:
            await handlers.resolve([*words, words[0]], tx)
    found = [await row(database, each) for each in dead]
    assert [each["resolution"] for each in found] == [
        f"handled as {replays[0]}",
        f"handled as {replays[1]}",
        None,
        None,
        f"handled as {past_the_records}",
        None,
    ]
    assert [each["state"] for each in found] == [
        "resolved",
        "resolved",
        "replaying",
        "replaying",
        "resolved",
        "open",
    ]


async def test_a_replay_that_dies_is_linked_and_takes_over(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    event_id = uuid4()
    [first] = await record(new_death(new_envelope(event_id)))
    replay_id = await replay(database, first)
    [second] = await record(new_death(new_envelope(replay_id), replay_of=event_id))
    old, new = await row(database, first), await row(database, second)
    assert (old["state"], old["resolution"]) == ("resolved", f"replaced by {second}")
    assert (new["state"], new["replay_of"]) == ("open", first)
    again = await replay(database, second)
    await resolve(database, dead=replay_id, replay=again)
    assert (await row(database, second))["state"] == "resolved"


@pytest.mark.parametrize("word_first", [True, False])
async def test_a_handled_replay_that_the_broker_also_gave_up_on_asks_for_nobody(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope, *, word_first: bool
) -> None:
    event_id = uuid4()
    [first] = await record(new_death(new_envelope(event_id)))
    replay_id = await replay(database, first)
    second = new_death(new_envelope(replay_id), replay_of=event_id, reason="delivery_limit")
    if word_first:
        await resolve(database, dead=event_id, replay=replay_id)
        await record(second)
    else:
        await record(second)
        await resolve(database, dead=event_id, replay=replay_id)
    assert [(await row(database, dead))["state"] for dead in (first, second.event_id)] == ["resolved"] * 2


async def test_word_may_come_before_the_death_or_for_one_that_is_unknown(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    event_id = uuid4()
    await resolve(database, dead=event_id, replay=uuid4())
    await resolve(database, dead=uuid4(), replay=uuid4())
    [dead] = await record(new_death(new_envelope(event_id)))
    assert (await row(database, dead))["state"] == "resolved"


async def test_word_about_another_queue_settles_nothing(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    event_id = uuid4()
    await resolve(database, dead=event_id, replay=uuid4(), queue="social-commands")
    [dead] = await record(new_death(new_envelope(event_id)))
    assert (await row(database, dead))["state"] == "open"


async def test_what_was_recorded_under_the_former_name_of_a_queue_is_replayed_and_settled(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    events = [uuid4() for _ in range(2)]
    former, today = [
        (await record(new_death(new_envelope(event_id), queue=queue)))[0]
        for event_id, queue in zip(events, ("brand-events", "orchestrator-events"), strict=True)
    ]
    replays = [await replay(database, dead) for dead in (former, today)]
    # Either version of the consumer gives word, either version of the monitor has recorded.
    await resolve(database, dead=events[0], replay=replays[0], queue="orchestrator-events")
    await resolve(database, dead=events[1], replay=replays[1], queue="brand-events")
    await rename_queues(database)
    assert await all_resolved(database, former, today)
    assert (await row(database, former))["queue"] == "orchestrator-events"


async def all_resolved(database: Database, *dead: UUID) -> bool:
    return all([(await row(database, each))["state"] == "resolved" for each in dead])


async def test_many_at_once_have_one_outcome(database: Database, record: Record, new_death: NewDeath) -> None:
    deciding = DeadLetterOperations(database)
    for _ in range(5):
        [dead] = await record(new_death())
        before = len(await sent(database))
        outcomes = await asyncio.gather(
            *(deciding.replay(dead) for _ in range(3)),
            *(deciding.discard(dead, OperatorDecision(why="not needed")) for _ in range(2)),
            deciding.replay_all(decision_store.DeadLetterSelection(), 10),
        )
        done = [
            outcome
            for outcome in outcomes
            if outcome is None or (isinstance(outcome, ReplayResult) and outcome.replays)
        ]
        assert len(done) == 1
        state = (await row(database, dead))["state"]
        assert (state, len(await sent(database)) - before) in {("replaying", 1), ("discarded", 0)}


async def test_two_bulk_replays_send_each_message_once(
    database: Database, record: Record, new_death: NewDeath
) -> None:
    ids = await record(*(new_death() for _ in range(120)), new_death(b"garbage"))
    deciding = DeadLetterOperations(database)
    both = await asyncio.gather(
        *(deciding.replay_all(decision_store.DeadLetterSelection(), 500) for _ in range(2))
    )
    replayed = [dead for one in both for dead in one.replays]
    assert sorted(replayed) == sorted(ids[:120])
    raw = [one for one in await sent(database) if one["exchange"] == "returns"]
    assert len(raw) == 120


async def test_a_bulk_replay_of_large_ones_goes_on_where_it_ended(
    database: Database,
    record: Record,
    new_death: NewDeath,
    new_envelope: NewEnvelope,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bodies = [new_envelope(uuid4(), payload={"article": "x" * size}) for size in (50, 50, 5_000, 50, 50)]
    ids = [(await record(new_death(body)))[0] for body in bodies]
    monkeypatch.setattr(operations, "MOST_BYTES", sum(map(len, bodies[:2])))
    pieces, after = [], None
    while not pieces or after is not None:
        done = await DeadLetterOperations(database).replay_all(
            decision_store.DeadLetterSelection(after=after), 10
        )
        pieces.append(list(done.replays))
        after = done.last
    # One that is too large by itself goes alone.
    assert pieces == [ids[:2], ids[2:3], ids[3:]]
    assert len(await sent(database)) == 2 * len(ids)


async def test_a_lost_replay_that_was_discarded_and_then_handled_is_resolved(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope
) -> None:
    event_id = uuid4()
    [dead] = await record(new_death(new_envelope(event_id)))
    replay_id = await replay(database, dead)
    async with database.connection() as connection:
        await connection.execute("update dead_messages set replayed_at = now() - interval '2 days'")
    assert (
        await DeadLetterOperations(database).discard(dead, OperatorDecision(why="queue was purged")) is None
    )
    await resolve(database, dead=event_id, replay=replay_id)
    assert (await row(database, dead))["state"] == "resolved"


async def test_only_what_is_settled_is_forgotten(
    database: Database, record: Record, new_death: NewDeath
) -> None:
    settled, still_open = await record(new_death(), new_death())
    await DeadLetterOperations(database).discard(settled, OperatorDecision(why="old"))
    async with database.transaction() as tx:
        await tx.connection.execute(
            "update dead_messages set resolved_at = now() - interval '31 days' where id = $1", settled
        )
        await store.delete_settled(tx.connection, timedelta(days=30))
        left = await tx.connection.fetch("select id from dead_messages")
    assert [found["id"] for found in left] == [still_open]


async def test_open_dead_letters_are_counted_by_queue_with_those_that_have_none(
    database: Database, record: Record, new_death: NewDeath
) -> None:
    (discarded, *_) = await record(new_death(), new_death(), new_death(), new_death(queue="social-commands"))
    await DeadLetterOperations(database).discard(discarded, OperatorDecision(why="of no use"))
    async with database.connection() as connection:
        counted = await queries.open_by_queue(connection)
    assert counted.pop("publisher-commands") == 2
    assert counted.pop("social-commands") == 1
    assert set(counted.values()) == {0}


@pytest.mark.parametrize("word_first", [True, False])
async def test_one_command_settles_the_letters_of_all_that_it_replaces(
    database: Database, record: Record, new_death: NewDeath, new_envelope: NewEnvelope, word_first: bool
) -> None:
    events, by = [uuid4() for _ in range(3)], uuid4()

    async def tell() -> None:
        for _ in range(2):
            for event_id in events:
                await resolve(database, dead=event_id, replay=by)

    if word_first:
        await tell()
    dead = await record(*(new_death(new_envelope(event_id)) for event_id in events))
    other, *_ = await record(new_death(new_envelope(uuid4())))
    if not word_first:
        await tell()

    found = [await row(database, each) for each in dead]
    assert [(each["state"], each["resolution"]) for each in found] == [("resolved", f"handled as {by}")] * 3
    assert (await row(database, other))["state"] == "open"
