"""Each row of the outcome table, on a real broker and a real database."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import uuid4

import pytest

from chassis.testing import eventually, running
from envelope import DomainMessage, encode, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import (
    AuditCompleted,
    ContentGenerate,
    ContentRefused,
    ResearchCompleted,
    ResearchRequested,
)
from messaging import Context, QueuePolicy, Record, RetryLater, Transaction, Unprocessable, on_batch, on_each
from messaging.flow.dead_letters import read
from messaging.running_code import running_code
from messaging.topology import DELIVERY_LIMIT

QUEUE = "research-commands"


async def write(tx: Transaction, message: DomainMessage) -> None:
    await tx.connection.execute(
        "insert into effects values ($1, $2)", message.event_id, message.payload.keyword
    )


async def write_all(messages: Sequence[DomainMessage], tx: Transaction) -> None:
    for message in messages:
        await write(tx, message)


async def write_one(message: DomainMessage, _context: Context) -> Record:
    return lambda tx: write(tx, message)


SHAPES = pytest.mark.parametrize(
    "handler",
    [on_batch(write_all, ResearchRequested), on_each(write_one, ResearchRequested)],
    ids=["batch", "single"],
)


async def settled(world, queue=QUEUE) -> None:
    """Nothing is ready, nothing waits in the outbox, and nothing is left to redeliver."""
    await eventually(world.outbox_is_empty)
    assert await world.broker.depth(queue) == 0


@SHAPES
async def test_handled_one_effect_one_inbox_row_one_ack(world, handler) -> None:
    service = world.service()
    service.consume(QUEUE, handler)
    message = world.request()
    async with running(service):
        await world.send(message)
        await eventually(world.effects)
    assert await world.effects() == ["solar panels"]
    assert await world.outcomes() == {message.event_id: "handled"}
    # The service is gone, so an unacknowledged delivery would be back in the queue.
    assert await world.broker.depth(QUEUE) == 0


@SHAPES
async def test_what_is_sent_with_the_effect_arrives_and_leaves_the_outbox(world, handler) -> None:
    async def answer(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        await write_all(messages, tx)
        for message in messages:
            tx.send(ResearchCompleted(brand_slug="acme", research_id=uuid4(), keyword="k"), caused_by=message)

    async def answer_one(message: DomainMessage, _context: Context) -> Record:
        return lambda tx: answer([message], tx)

    batch = handler.handler is write_all
    service = world.service()
    service.consume(
        QUEUE, on_batch(answer, ResearchRequested) if batch else on_each(answer_one, ResearchRequested)
    )
    message = world.request()
    async with running(service):
        await world.send(message)
        arrived = await world.broker.take("orchestrator-events")
        await eventually(world.outbox_is_empty)
    body = json.loads(arrived.body)
    assert (body["type"], body["source"]) == ("research.completed", "research")
    assert (body["correlation_id"], body["causation_id"]) == ("chain-1", str(message.event_id))
    assert arrived.routing_key == "research.completed"
    assert arrived.delivery_mode == 2


async def plan_mode(tx: Transaction) -> str:
    return await tx.connection.fetchval("select current_setting('plan_cache_mode')")


@pytest.mark.parametrize("batch", [True, False])
async def test_what_handles_messages_keeps_its_plans_and_what_else_a_service_does_has_its_own(
    world, batch
) -> None:
    modes = []
    service = world.service()

    async def note(_messages: Sequence[DomainMessage], tx: Transaction) -> None:
        modes.append(await plan_mode(tx))

    async def note_one(_message: DomainMessage, _context: Context) -> Record:
        async with service.database.connection() as connection:
            modes.append(await connection.fetchval("select current_setting('plan_cache_mode')"))
        return lambda tx: note([], tx)

    service.consume(
        QUEUE, on_batch(note, ResearchRequested) if batch else on_each(note_one, ResearchRequested)
    )
    async with running(service):
        await world.send(world.request())
        await eventually(world.outcomes)
        async with service.database.transaction() as tx:
            assert await plan_mode(tx) == "auto"
    assert modes == ["force_generic_plan"] * (1 if batch else 2)


@SHAPES
async def test_a_duplicate_is_acknowledged_without_effect(world, handler) -> None:
    service = world.service()
    service.consume(QUEUE, handler)
    message = world.request()
    async with running(service):
        await world.send(message)
        await eventually(world.effects)
        await world.send(message)
        await eventually(lambda: service.runners[0].settlement.counts.duplicates == 1)
    assert await world.effects() == ["solar panels"]
    assert await world.broker.depth(QUEUE) == 0


@pytest.mark.extended
@SHAPES
async def test_copies_within_one_batch_have_one_effect(world, handler) -> None:
    message = world.request()
    for _ in range(20):
        await world.send(message)
    service = world.service()
    service.consume(QUEUE, handler, policy=QueuePolicy(max_batch_size=50, max_batch_timeout=0.5))
    async with running(service):
        await eventually(lambda: service.runners[0].settlement.counts.duplicates == 19)
    assert await world.effects() == ["solar panels"]


@pytest.mark.extended
@SHAPES
async def test_copies_on_two_replicas_at_once_have_one_effect(world, handler) -> None:
    messages = [world.request(f"k{number:02}") for number in range(30)]
    for _ in range(4):
        for message in messages:
            await world.send(message)
    replicas = [world.service(), world.service()]
    for replica in replicas:
        replica.consume(QUEUE, handler, policy=QueuePolicy(max_batch_size=10, prefetch=20))
    async with running(replicas[0]), running(replicas[1]):
        await eventually(lambda: sum(r.runners[0].settlement.counts.duplicates for r in replicas) == 90)
    assert await world.effects() == [f"k{number:02}" for number in range(30)]


@pytest.mark.extended
@pytest.mark.usefixtures("wakes_when_due")
async def test_a_transient_failure_comes_back_after_the_backoff(world) -> None:
    attempts: list[tuple[int, datetime]] = []

    async def flaky(message: DomainMessage, context: Context) -> Record:
        attempts.append((context.attempt, datetime.now(UTC)))
        if context.attempt < 3:
            raise ConnectionError("the other side is away")
        return await write_one(message, context)

    service = world.service(retry_base_seconds=0.4)
    service.consume(QUEUE, on_each(flaky, ResearchRequested))
    async with running(service):
        await world.send(world.request())
        await eventually(world.effects)
        await settled(world)
    assert [attempt for attempt, _ in attempts] == [1, 2, 3]
    waits = [(later - earlier).total_seconds() for (_, earlier), (_, later) in pairwise(attempts)]
    assert waits[0] >= 0.4
    assert waits[1] >= 0.8


@pytest.mark.extended
@pytest.mark.usefixtures("wakes_when_due")
async def test_retry_later_waits_as_long_as_it_was_told(world) -> None:
    moments: list[datetime] = []

    async def busy(message: DomainMessage, context: Context) -> Record:
        moments.append(datetime.now(UTC))
        if context.attempt == 1:
            raise RetryLater("429", after=timedelta(seconds=1.5))
        return await write_one(message, context)

    service = world.service(retry_base_seconds=60)
    service.consume(QUEUE, on_each(busy, ResearchRequested))
    async with running(service):
        await world.send(world.request())
        await eventually(world.effects)
    assert (moments[1] - moments[0]).total_seconds() >= 1.5


async def test_a_waiting_retry_is_a_row_that_says_why(world) -> None:
    async def failing(_message: DomainMessage, _context: Context) -> None:
        raise ConnectionError("the other side is away")

    service = world.service(retry_base_seconds=60)
    service.consume(QUEUE, on_each(failing, ResearchRequested))
    message = world.request()
    async with running(service):
        await world.send(message)
        row = await eventually(lambda: world.database.fetchrow("select * from outbox"))
    assert (row["exchange"], row["routing_key"], row["event_id"]) == ("returns", QUEUE, message.event_id)
    assert row["created_at"] + timedelta(seconds=60) <= row["deliver_at"]
    assert row["deliver_at"] <= datetime.now(UTC) + timedelta(seconds=60)
    headers = json.loads(row["headers"])
    assert headers["attempt"] == 2
    assert headers["failure-message"] == "the other side is away"
    assert await world.outcomes() == {}


@pytest.mark.extended
@SHAPES
async def test_an_exhausted_message_is_one_dead_letter_with_its_facts(world, handler) -> None:
    async def failing(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        await write_all(messages, tx)
        raise ConnectionError("the other side is away")

    async def failing_one(_message: DomainMessage, _context: Context) -> Record:
        raise ConnectionError("the other side is away")

    batch = handler.handler is write_all
    service = world.service(max_attempts=3, retry_base_seconds=0.1)
    service.consume(
        QUEUE, on_batch(failing, ResearchRequested) if batch else on_each(failing_one, ResearchRequested)
    )
    message = world.request()
    async with running(service):
        await world.send(message)
        arrived = await world.broker.take(f"{QUEUE}-dlq")
        await settled(world)
    letter = read(arrived.body, dict(arrived.headers), QUEUE)
    assert (letter.dead_event_id, letter.message_type) == (message.event_id, "research.requested")
    assert (letter.reason, letter.attempts, letter.service) == ("exhausted", 3, "research")
    code = running_code(CATALOGUE.system, "research")
    assert (letter.code, letter.version) == (code.hash, code.version)
    assert code.hash
    assert (letter.exception_type, letter.detail) == ("ConnectionError", "the other side is away")
    assert "raise ConnectionError" in (letter.stack or "")
    assert letter.first_failed_at is not None
    assert letter.first_failed_at < letter.failed_at
    assert arrived.body == encode(message)
    assert await world.effects() == []
    assert await world.outcomes() == {message.event_id: "dead"}
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0


async def test_a_late_copy_of_a_dead_message_is_a_duplicate(world) -> None:
    async def hopeless(_message: DomainMessage, _context: Context) -> None:
        raise Unprocessable("no such site; create it first")

    service = world.service()
    service.consume(QUEUE, on_each(hopeless, ResearchRequested))
    message = world.request()
    async with running(service):
        await world.send(message)
        await world.broker.take(f"{QUEUE}-dlq")
        await world.send(message)
        await eventually(lambda: service.runners[0].settlement.counts.duplicates == 1)
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0


@pytest.mark.extended
@pytest.mark.parametrize(
    ("change", "reason", "words"),
    [
        ({"payload": {"brand_slug": "acme"}}, "invalid_payload", "keyword"),
        ({"payload": {"brand_slug": "acme", "keyword": "\x00"}}, "invalid_payload", "U+0000"),
        ({"type": "research.imagined"}, "unknown_type", "catalogue has no such type"),
        ({"type": "social.create"}, "unknown_type", "handled from the queue social-commands, not from"),
    ],
)
async def test_what_no_attempt_can_mend_is_dead_at_once(world, change, reason, words) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    event_id = new_event_id()
    body = json.loads(encode(world.request(event_id=event_id))) | change
    async with running(service):
        await world.send_raw(json.dumps(body).encode())
        arrived = await world.broker.take(f"{QUEUE}-dlq")
    letter = read(arrived.body, dict(arrived.headers), QUEUE)
    assert (letter.reason, letter.attempts, letter.dead_event_id) == (reason, 1, event_id)
    assert words in letter.detail
    assert await world.outcomes() == {event_id: "dead"}


async def test_an_unknown_event_that_is_for_others_is_let_go_once(world) -> None:
    """So a version that sends a new one can be rolled out beside one that does not know it."""
    service = world.service()
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    event_id = new_event_id()
    body = json.loads(encode(world.request(event_id=event_id))) | {"type": "research.celebrated"}
    async with running(service):
        for _ in range(2):
            await world.broker.publish(
                "commands",
                QUEUE,
                json.dumps(body).encode(),
                type="research.celebrated",
                headers={"for-others": 1},
            )
        await eventually(lambda: service.runners[0].settlement.counts.duplicates == 1)
    assert await world.outcomes() == {event_id: "handled"}
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0
    assert await world.broker.depth(QUEUE) == 0


async def test_an_event_for_others_says_so_on_its_way(world) -> None:
    async def look(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        tx.send(AuditCompleted(brand_slug="acme", audit_id=uuid4()), caused_by=messages[0])
        tx.send(
            ContentRefused(brand_slug="acme", content_id=uuid4(), keyword="k", reason="rejected"),
            caused_by=messages[0],
        )

    service = world.service("orchestrator")
    service.consume("orchestrator-commands", on_batch(look, ContentGenerate))
    wanted = ContentGenerate(brand_slug="acme", content_id=uuid4(), research_id=uuid4(), keyword="k")
    async with running(service):
        await world.send(world.message(wanted))
        arrived = [await world.broker.take("orchestrator-events") for _ in range(2)]
    assert [(each.routing_key, each.headers.get("for-others")) for each in arrived] == [
        ("audit.completed", 1),
        ("content.refused", None),
    ]


@SHAPES
async def test_unprocessable_is_dead_at_once_with_its_reason(world, handler) -> None:
    async def hopeless(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        for message in messages:
            tx.fail(message, Unprocessable("no such site; create it first"))

    async def hopeless_one(_message: DomainMessage, _context: Context) -> None:
        raise Unprocessable("no such site; create it first")

    batch = handler.handler is write_all
    service = world.service()
    service.consume(
        QUEUE, on_batch(hopeless, ResearchRequested) if batch else on_each(hopeless_one, ResearchRequested)
    )
    message = world.request()
    async with running(service):
        await world.send(message)
        arrived = await world.broker.take(f"{QUEUE}-dlq")
    letter = read(arrived.body, dict(arrived.headers), QUEUE)
    assert (letter.reason, letter.detail) == ("permanent", "no such site; create it first")
    assert await world.outcomes() == {message.event_id: "dead"}


@pytest.mark.extended
@pytest.mark.parametrize(
    "body", [b"", b"not json", b"\xff\xfe\x00", b"[]", b'{"event_id": 1}', b"[" * 100_000]
)
async def test_a_body_that_is_no_envelope_goes_to_the_dead_letters_of_the_broker(world, body) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    async with running(service):
        await world.send_raw(body)
        arrived = await world.broker.take(f"{QUEUE}-dlq")
        await world.send(world.request())
        await eventually(world.effects)
    letter = read(arrived.body, dict(arrived.headers), QUEUE)
    assert (letter.reason, letter.dead_event_id, letter.body) == ("not_an_envelope", None, body)


@pytest.mark.extended
@pytest.mark.parametrize(
    "deaths", [[1], [{"queue": QUEUE, "reason": "rejected", "count": "x"}], ["text"], {}]
)
async def test_a_body_with_a_forged_record_of_deaths_never_reaches_the_brokers_own_dead_lettering(
    world, deaths
) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(write_all, ResearchRequested))
    async with running(service):
        await world.broker.publish("commands", QUEUE, b"noise", headers={"x-death": deaths})
        arrived = await world.broker.take(f"{QUEUE}-dlq")
        # The broker still can.
        await world.send_raw(b"honest noise")
        await world.broker.take(f"{QUEUE}-dlq")
    assert "x-death" not in arrived.headers
    letter = read(arrived.body, dict(arrived.headers), QUEUE)
    assert (letter.reason, letter.body) == ("not_an_envelope", b"noise")
    assert service.runners[0].settlement.counts.dead_lettered.total() == 1


@pytest.mark.extended
async def test_poison_in_a_batch_of_100_takes_no_neighbour_along(world) -> None:
    async def strict(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        await write_all(messages, tx)
        if any(message.payload.keyword == "poison" for message in messages):
            raise ZeroDivisionError("poison")

    for number in range(99):
        await world.send(world.request(f"k{number:02}"))
    await world.send(world.request("poison"))
    service = world.service(max_attempts=2, retry_base_seconds=0.1)
    service.consume(
        QUEUE,
        on_batch(strict, ResearchRequested),
        policy=QueuePolicy(max_batch_size=100, max_batch_timeout=1),
    )
    async with running(service):
        await world.broker.take(f"{QUEUE}-dlq")
        await settled(world)
    assert await world.effects() == [f"k{number:02}" for number in range(99)]
    assert sorted((await world.outcomes()).values()) == ["dead"] + ["handled"] * 99
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0


@pytest.mark.extended
async def test_one_message_of_a_batch_can_ask_for_another_time(world) -> None:
    seen: list[str] = []

    async def picky(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        for message in messages:
            keyword = message.payload.keyword
            if keyword == "later" and keyword not in seen:
                tx.fail(message, RetryLater("not yet", after=timedelta(seconds=0.2)))
            else:
                await write(tx, message)
            seen.append(keyword)

    for keyword in ("a", "later", "b"):
        await world.send(world.request(keyword))
    service = world.service()
    service.consume(QUEUE, on_batch(picky, ResearchRequested), policy=QueuePolicy(max_batch_timeout=0.5))
    async with running(service):
        await eventually(lambda: _count(world, 3))
    assert Counter(seen) == {"a": 1, "b": 1, "later": 2}
    assert set((await world.outcomes()).values()) == {"handled"}


async def _count(world, wanted: int) -> bool:
    return len(await world.effects()) == wanted


@pytest.mark.extended
async def test_an_attempt_past_its_deadline_has_failed(world) -> None:
    cut_short: list[int] = []

    async def slow(message: DomainMessage, context: Context) -> Record:
        if context.attempt == 1:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cut_short.append(context.attempt)
                raise
        return await write_one(message, context)

    service = world.service(retry_base_seconds=0.1)
    # The second attempt has as long, on however busy a machine.
    service.consume(QUEUE, on_each(slow, ResearchRequested), policy=QueuePolicy(handler_timeout=1.0))
    async with running(service):
        await world.send(world.request())
        await eventually(world.effects)
        assert cut_short == [1]
        assert service.runners[0].settlement.counts.retried.total() >= 1


async def test_past_its_delivery_limit_the_broker_itself_gives_up_on_a_message(world) -> None:
    """The last resort: nobody of ours is left to dead-letter it, and it is still found with its reason."""
    message = world.request()
    await world.send(message)
    for _ in range(DELIVERY_LIMIT + 1):
        await world.broker.refuse(QUEUE)
    arrived = await world.broker.take(f"{QUEUE}-dlq")
    letter = read(arrived.body, dict(arrived.headers), QUEUE)
    assert (letter.reason, letter.dead_event_id) == ("delivery_limit", message.event_id)
    assert await world.broker.depth(QUEUE) == 0
