"""The queue of the events gets another name on a live broker, and gets back the former one: nothing is lost either way."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

import pytest

from chassis.testing import eventually, running
from envelope import Catalogue, DomainMessage, encode
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchCompleted
from messaging import QueuePolicy, RetryLater, Transaction, on_batch, topology
from messaging.flow import dead_letters
from messaging.headers import Reason
from messaging.topology_upgrade import apply_topology

FORMER = "brand-events"
QUEUE = "orchestrator-events"


def the_version_before() -> Catalogue:
    catalogue = CATALOGUE.calling_events_queue(FORMER)
    catalogue.events_queue_formerly = ()
    return catalogue


BEFORE = the_version_before()


@pytest.fixture
async def upgraded(make_vhost, world_at) -> AsyncIterator[Any]:
    """A broker with the topology of the version before."""
    url = await make_vhost(topology=False)
    await topology.declare(url, BEFORE)
    async with world_at(url) as world:
        yield world


async def queues_of(world) -> set[str]:
    names = {FORMER, f"{FORMER}-dlq", QUEUE, f"{QUEUE}-dlq"}
    return {name for name in names if await world.broker.exists(name)}


async def bring_up_to_date(world, api_url: str | None, catalogue: Catalogue = CATALOGUE) -> list[str]:
    said: list[str] = []
    await apply_topology(world.rabbitmq_url, catalogue, api_url=api_url, say=said.append)
    return said


def news(world, keyword: str) -> DomainMessage:
    return world.message(ResearchCompleted(brand_slug="acme", research_id=uuid4(), keyword=keyword))


async def announce(world, message: DomainMessage) -> None:
    await world.broker.publish("brand-events", message.type, encode(message), type=message.type)


@pytest.mark.extended
async def test_what_lies_in_the_former_queues_is_moved_with_all_that_is_known_of_it(
    upgraded, rabbitmq_api_url: str
) -> None:
    world = upgraded
    event, retry, dead = (news(world, keyword) for keyword in ("event", "retry", "dead"))
    await announce(world, event)
    known = {"attempt": 3, "traceparent": f"00-{'1' * 32}-{'2' * 16}-01", "replay-of": str(event.event_id)}
    await world.broker.publish("returns", FORMER, encode(retry), type=retry.type, headers=known)
    facts = {"failure-reason": "permanent", "failure-message": "no such brand", "failure-queue": FORMER}
    facts["failure-last-at"] = "2026-01-02T03:04:05+00:00"
    await world.broker.publish("dead-letters", FORMER, encode(dead), type=dead.type, headers=facts)
    before = dead_letters.decoder(FORMER)(encode(dead), dead.type, facts).event_id

    said = await bring_up_to_date(world, rabbitmq_api_url)

    assert await queues_of(world) == {QUEUE, f"{QUEUE}-dlq"}
    assert said == [
        f"moved 2 messages from {FORMER} to {QUEUE}",
        f"removed {FORMER}: it was empty and unused",
        f"moved 1 message from {FORMER}-dlq to {QUEUE}-dlq",
        f"removed {FORMER}-dlq: it was empty and unused",
    ]
    arrived = [await world.broker.take(QUEUE) for _ in range(2)]
    assert [(message.body, message.type) for message in arrived] == [
        (encode(event), event.type),
        (encode(retry), retry.type),
    ]
    assert {name: value for name, value in arrived[1].headers.items() if name in known} == known
    letter = await world.broker.take(f"{QUEUE}-dlq")
    moved = dead_letters.decoder(QUEUE)(letter.body, letter.type, dict(letter.headers))
    assert (moved.payload.reason, moved.payload.detail, moved.payload.queue) == (
        Reason.PERMANENT,
        "no such brand",
        QUEUE,
    )
    assert moved.event_id == before, "a death recorded before the move must be known after it"
    assert await bring_up_to_date(world, rabbitmq_api_url) == []


async def test_what_the_broker_noted_on_a_dead_letter_survives_the_move(upgraded) -> None:
    world = upgraded
    former = world.service("orchestrator", catalogue=BEFORE)
    former.consume(FORMER, on_batch(world.write_all, ResearchCompleted))
    async with running(former):
        await world.broker.publish("brand-events", "research.completed", b"no envelope")
        await eventually(lambda: world.broker.depth(f"{FORMER}-dlq"))

    said = await bring_up_to_date(world, None)

    assert f"moved 1 message from {FORMER}-dlq to {QUEUE}-dlq" in said
    assert any("run this again with RABBITMQ_API_URL" in line for line in said)
    letter = await world.broker.take(f"{QUEUE}-dlq")
    assert "x-death" not in letter.headers
    read = dead_letters.read(letter.body, dict(letter.headers), QUEUE)
    assert (read.reason, read.body) == (Reason.NOT_AN_ENVELOPE, b"no envelope")


async def test_what_is_sent_by_the_former_name_still_arrives(world) -> None:
    for exchange, queue in (("returns", QUEUE), ("dead-letters", f"{QUEUE}-dlq")):
        await world.broker.publish(exchange, FORMER, b"{}")
        await world.broker.take(queue)
    await world.broker.publish("returns", f"{FORMER}-dlq", b"{}")
    await world.broker.take(f"{QUEUE}-dlq")


@pytest.mark.extended
async def test_an_upgrade_under_load_with_the_version_before_at_work_loses_nothing_and_does_nothing_twice(
    upgraded, rabbitmq_api_url: str
) -> None:
    world = upgraded
    fails: set[str] = {"k003", "k017"}

    async def once(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        for message in messages:
            if message.payload.keyword in fails:
                fails.discard(message.payload.keyword)
                tx.fail(message, RetryLater("not yet"))
            else:
                await world.write(tx, message)

    former = world.service("orchestrator", catalogue=BEFORE)
    former.consume(FORMER, on_batch(once, ResearchCompleted), policy=QueuePolicy(max_batch_size=5))
    today = world.service("orchestrator")
    today.consume(QUEUE, on_batch(once, ResearchCompleted))
    events = [news(world, f"k{number:03}") for number in range(150)]
    async with running(former):
        for event in events[:50]:
            await announce(world, event)
        upgrade = asyncio.create_task(bring_up_to_date(world, rabbitmq_api_url))
        for event in events[50:100]:
            await announce(world, event)
        said = await upgrade
        assert any(f"{FORMER} stays" in line and "still consumes it" in line for line in said)
        async with running(today):
            for event in events[100:]:
                await announce(world, event)
            await eventually(lambda: world.has_effects(150))
    # A copy, as a run that was cut short leaves one.
    await world.broker.publish("", FORMER, encode(events[0]), type=events[0].type)
    said = await bring_up_to_date(world, rabbitmq_api_url)
    assert f"removed {FORMER}: it was empty and unused" in said
    today = world.service("orchestrator")
    today.consume(QUEUE, on_batch(once, ResearchCompleted))
    async with running(today):
        await eventually(lambda: today.runners[0].settlement.counts.duplicates)
    assert await world.effects() == [f"k{number:03}" for number in range(150)]


@pytest.mark.extended
async def test_the_way_back_to_the_version_before_loses_nothing(world, rabbitmq_api_url: str) -> None:
    waiting, retry, later = (news(world, keyword) for keyword in ("waiting", "retry", "later"))
    await announce(world, waiting)
    await world.broker.publish("returns", QUEUE, encode(retry), type=retry.type, headers={"attempt": 2})

    said = await bring_up_to_date(world, rabbitmq_api_url, CATALOGUE.calling_events_queue(FORMER))

    assert f"moved 2 messages from {QUEUE} to {FORMER}" in said
    assert await queues_of(world) == {FORMER, f"{FORMER}-dlq"}
    # The version before declares what it knows, and finds it as it expects it.
    await topology.declare(world.rabbitmq_url, BEFORE)
    # A retry that the version of today has left in the outbox.
    await world.broker.publish("returns", QUEUE, encode(later), type=later.type, headers={"attempt": 2})
    former = world.service("orchestrator", catalogue=BEFORE)
    former.consume(FORMER, on_batch(world.write_all, ResearchCompleted))
    async with running(former):
        await eventually(lambda: world.has_effects(3))
    assert await world.effects() == ["later", "retry", "waiting"]
    # And forward again.
    await bring_up_to_date(world, rabbitmq_api_url)
    assert await queues_of(world) == {QUEUE, f"{QUEUE}-dlq"}
