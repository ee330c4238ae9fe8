"""Messages after the deadline of their chain, on a real broker and a real database."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from chassis.testing import eventually, running
from envelope import ChainLimits, DomainMessage
from envelope.brand.payloads import ContentPublish, ResearchCompleted, ResearchRequested
from messaging import Context, CostReached, Record, RetryLater, Transaction, WaitFor, on_batch, on_each
from messaging.flow.dead_letters import DeadLetter, read

QUEUE = "research-commands"
PUBLISHER = "publisher-commands"


def in_time(message: DomainMessage, seconds: float) -> DomainMessage:
    return message.model_copy(update={"deadline": datetime.now(UTC) + timedelta(seconds=seconds)})


async def dead(world, queue: str = QUEUE) -> DeadLetter:
    found = await world.broker.take(f"{queue}-dlq")
    return read(found.body, dict(found.headers), queue)


async def unexpected(_message: DomainMessage, _context: Context) -> Record:
    raise AssertionError("no attempt begins after the deadline")


async def unexpected_batch(_messages: object, _tx: Transaction) -> None:
    raise AssertionError("no attempt begins after the deadline")


@pytest.mark.parametrize(
    "handler",
    [on_each(unexpected, ResearchRequested), on_batch(unexpected_batch, ResearchRequested)],
    ids=["single", "batch"],
)
async def test_what_arrives_late_ends_at_once_and_a_copy_of_it_changes_nothing(world, handler) -> None:
    service = world.service()
    service.consume(QUEUE, handler)
    message = in_time(world.request(), -60)
    async with running(service):
        await world.send(message)
        await world.send(message)
        letter = await dead(world)
        await eventually(lambda: service.runners[0].settlement.counts.duplicates == 1)
    assert (letter.reason, letter.exception_type, letter.attempts) == ("deadline_passed", "DeadlinePassed", 1)
    assert letter.detail.startswith("the deadline of ")
    assert await world.outcomes() == {message.event_id: "dead"}
    assert await world.broker.depth(f"{QUEUE}-dlq") == 0


@pytest.mark.parametrize(
    "problem", [RetryLater("busy"), WaitFor("the budget", "spent", after=timedelta(hours=1))]
)
async def test_what_would_be_tried_again_after_the_deadline_ends_now_and_says_what_failed(
    world, problem
) -> None:
    tried = []

    async def fail(message: DomainMessage, _context: Context) -> Record:
        tried.append(message.event_id)
        raise problem

    service = world.service(retry_base_seconds=3600)
    service.consume(QUEUE, on_each(fail, ResearchRequested))
    message = in_time(world.request(), 600)
    async with running(service):
        await world.send(message)
        letter = await dead(world)
        assert await world.outbox_is_empty()
    assert tried == [message.event_id]
    assert letter.reason == "deadline_passed"
    assert f"its last attempt failed with {type(problem).__name__}: {problem}" in letter.detail


async def test_attempts_that_end_in_time_are_made_and_the_one_after_the_deadline_is_not(world) -> None:
    tried = []

    async def fail(_message: DomainMessage, context: Context) -> Record:
        tried.append(context.attempt)
        raise RetryLater("not yet", after=timedelta(seconds=0.1 if context.attempt == 1 else 3600))

    service = world.service()
    service.consume(QUEUE, on_each(fail, ResearchRequested))
    async with running(service):
        await world.send(in_time(world.request(), 600))
        letter = await dead(world)
    assert letter.reason == "deadline_passed"
    assert tried == [1, 2]


async def test_what_may_have_begun_is_settled_after_the_deadline_and_what_has_not_is_ended(world) -> None:
    handled = []

    async def publish(message: DomainMessage, _context: Context) -> Record:
        handled.append(message.event_id)

        async def nothing(_tx: Transaction) -> None:
            pass

        return nothing

    service = world.service("publisher")
    service.consume(PUBLISHER, on_each(publish, ContentPublish))

    def command() -> DomainMessage:
        content = "0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"
        return in_time(
            world.message(ContentPublish(brand_slug="acme", content_id=content, target="site")), -60
        )

    tried, waited, new = command(), command(), command()
    async with running(service):
        await world.send(tried, headers={"attempt": 2})
        await world.send(waited, headers={"waits": 1, "waits-for": "the site"})
        await world.send(new)
        letter = await dead(world, PUBLISHER)
        await eventually(lambda: len(handled) == 2)
        await eventually(world.outbox_is_empty)
    assert set(handled) == {tried.event_id, waited.event_id}
    assert letter.dead_event_id == new.event_id
    outcomes = await world.outcomes()
    assert (outcomes[tried.event_id], outcomes[waited.event_id]) == ("handled", "handled")


async def test_every_message_that_a_handler_sends_carries_the_limits_of_the_one_that_caused_it(world) -> None:
    async def answer(message: DomainMessage, _context: Context) -> Record:
        async def write(tx: Transaction) -> None:
            done = ResearchCompleted(brand_slug="acme", research_id=message.event_id, keyword="k")
            tx.send(done, caused_by=message)
            tx.send(done, caused_by=message, limits=ChainLimits())

        return write

    service = world.service()
    service.consume(QUEUE, on_each(answer, ResearchRequested))
    message = in_time(world.request(), 600).model_copy(update={"max_cost": 250_000})
    async with running(service):
        await world.send(message)
        first, second = [json.loads((await world.broker.take("orchestrator-events")).body) for _ in range(2)]
    carried, free = (first, second) if "deadline" in first else (second, first)
    assert datetime.fromisoformat(carried["deadline"]) == message.deadline
    assert carried["max_cost"] == 250_000
    assert "deadline" not in free
    assert "max_cost" not in free


async def test_a_chain_that_has_reached_its_cost_ends_with_a_reason_of_its_own(world) -> None:
    async def fail(_message: DomainMessage, _context: Context) -> Record:
        raise CostReached("0.10 of 0.25 dollars are left, and this may cost 0.20")

    service = world.service()
    service.consume(QUEUE, on_each(fail, ResearchRequested))
    async with running(service):
        await world.send(world.request())
        letter = await dead(world)
    assert (letter.reason, letter.attempts) == ("cost_reached", 1)
    assert "this may cost 0.20" in letter.detail
