"""Replays: who holds the recorder's user at the broker can send again what a service dead-lettered, and nothing else."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import pytest

from chassis.testing import eventually, running
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ResearchCompleted, ResearchRequested, SocialPosted
from messaging import Service, Transaction, Unprocessable, on_batch, on_each
from messaging.flow import dead_letters
from messaging.flow.replays import content_digest
from messaging.headers import REPLAY_OF, Reason
from messaging.testing import Broker

QUEUE = "research-commands"


class Consumer:
    """A research service that refuses every message until `accepts` is set, and counts the handler's calls."""

    def __init__(self, world, url: str, *, singly: bool = False) -> None:
        self.accepts = False
        self.started = 0
        self.handled: list[DomainMessage] = []
        self.service: Service = world.service(rabbitmq_url=url)
        handler = (
            on_each(self._take_one, ResearchRequested) if singly else on_batch(self._take, ResearchRequested)
        )
        self.service.consume(QUEUE, handler)

    async def _take(self, messages: Sequence[DomainMessage], tx: Transaction) -> None:
        for message in messages:
            self.started += 1
            if self.accepts:
                self.handled.append(message)
            else:
                tx.fail(message, Unprocessable("not now"))

    async def _take_one(self, message: DomainMessage, _context: object) -> None:
        self.started += 1
        if not self.accepts:
            raise Unprocessable("not now")
        self.handled.append(message)


def replay_of(message: DomainMessage, **changes: object) -> DomainMessage:
    """As the recorder makes it."""
    update = {"event_id": new_event_id(), "causation_id": message.event_id, "timestamp": datetime.now(UTC)}
    return message.model_copy(update={**update, **changes})


async def send_replay(
    url: str, message: DomainMessage, original: UUID | None, *, signed: bool = True, queue: str = QUEUE
) -> None:
    async with Broker.connected(url) as broker:
        await broker.publish(
            "returns",
            queue,
            encode(message),
            type=message.type,
            user_id=urlsplit(url).username if signed else None,
            headers={} if original is None else {REPLAY_OF: str(original)},
        )


async def next_death(world, queue: str = QUEUE) -> tuple[UUID | None, Reason, str]:
    letter = await world.broker.take(f"{queue}-dlq")
    read = dead_letters.read(letter.body, dict(letter.headers), queue)
    return read.dead_event_id, read.reason, read.detail


async def accept_replay(world, event_id: UUID) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "messaging",
        "accept-replay",
        str(event_id),
        env={**os.environ, "DATABASE_URL": world.database_url},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode()


@asynccontextmanager
async def dead_message(
    world, broker_urls: dict[str, str], consumer: Consumer
) -> AsyncIterator[DomainMessage]:
    """The consumer at work, and a message that it has dead-lettered; from then on it accepts messages."""
    message = world.request()
    async with running(consumer.service):
        async with Broker.connected(broker_urls["orchestrator"]) as broker:
            user = urlsplit(broker_urls["orchestrator"]).username
            await broker.publish("commands", QUEUE, encode(message), type=message.type, user_id=user)
        assert await next_death(world) == (message.event_id, Reason.PERMANENT, "not now")
        consumer.accepts = True
        yield message


@pytest.mark.extended
@pytest.mark.parametrize("singly", [False, True])
@pytest.mark.parametrize("signed", [True, False])
async def test_a_message_that_the_recorder_made_up_is_no_replay(
    world, broker_urls: dict[str, str], signed: bool, singly: bool
) -> None:
    consumer = Consumer(world, broker_urls["research"], singly=singly)
    consumer.accepts = True
    forged = world.request("forged")
    async with running(consumer.service):
        await send_replay(broker_urls["monitor"], forged, uuid4(), signed=signed)
        dead, reason, detail = await next_death(world)
        assert (dead, reason) == (forged.event_id, Reason.FALSE_CLAIM)
        assert f"accept-replay {forged.event_id}" in detail
        # It has died here now, and that is no reason to believe it.
        again = replay_of(forged)
        await send_replay(broker_urls["monitor"], again, forged.event_id, signed=signed)
        assert (await next_death(world))[:2] == (again.event_id, Reason.FALSE_CLAIM)
        # Nor is it one without a word of what it replays.
        await send_replay(broker_urls["monitor"], world.request("forged"), None, signed=signed)
        _, reason, detail = await next_death(world)
        assert reason is Reason.FALSE_CLAIM
        assert detail.startswith("it names no message that it replays, and this service has no")
    assert consumer.started == 0


@pytest.mark.parametrize("singly", [False, True])
async def test_a_dead_letter_is_replayed_once(world, broker_urls: dict[str, str], singly: bool) -> None:
    consumer = Consumer(world, broker_urls["research"], singly=singly)
    async with dead_message(world, broker_urls, consumer) as message:
        first, second = replay_of(message), replay_of(message)
        await send_replay(broker_urls["monitor"], first, message.event_id)
        await eventually(lambda: consumer.handled == [first])
        await send_replay(broker_urls["monitor"], second, message.event_id)
        assert (await next_death(world))[:2] == (second.event_id, Reason.FALSE_CLAIM)
    assert consumer.handled == [first]


async def test_of_two_replays_in_one_batch_one_is_handled(world, broker_urls: dict[str, str]) -> None:
    consumer = Consumer(world, broker_urls["research"])
    async with dead_message(world, broker_urls, consumer) as message:
        original = message.event_id
    replays = [replay_of(message), replay_of(message)]
    for replay in replays:
        await send_replay(broker_urls["monitor"], replay, original)
    after = Consumer(world, broker_urls["research"])
    after.accepts = True
    async with running(after.service):
        dead, reason, _ = await next_death(world)
        await eventually(lambda: len(after.handled) == 1)
    assert reason is Reason.FALSE_CLAIM
    assert {dead, after.handled[0].event_id} == {replay.event_id for replay in replays}


async def test_a_replay_with_another_content_is_refused(world, broker_urls: dict[str, str]) -> None:
    consumer = Consumer(world, broker_urls["research"])
    async with dead_message(world, broker_urls, consumer) as message:
        changed = replay_of(message, payload=ResearchRequested(brand_slug="acme", keyword="another"))
        await send_replay(broker_urls["monitor"], changed, message.event_id)
        assert (await next_death(world))[:2] == (changed.event_id, Reason.FALSE_CLAIM)
        elsewhere = replay_of(message, correlation_id="another chain")
        await send_replay(broker_urls["monitor"], elsewhere, message.event_id)
        assert (await next_death(world))[:2] == (elsewhere.event_id, Reason.FALSE_CLAIM)
    assert consumer.handled == []


async def test_a_replay_that_dies_again_can_be_replayed_in_its_turn(
    world, broker_urls: dict[str, str]
) -> None:
    consumer = Consumer(world, broker_urls["research"])
    async with dead_message(world, broker_urls, consumer) as message:
        consumer.accepts = False
        first = replay_of(message)
        await send_replay(broker_urls["monitor"], first, message.event_id)
        assert (await next_death(world))[:2] == (first.event_id, Reason.PERMANENT)
        consumer.accepts = True
        second = replay_of(first)
        await send_replay(broker_urls["monitor"], second, first.event_id)
        await eventually(lambda: consumer.handled == [second])


async def test_a_replay_of_a_replay_that_the_broker_gave_up_on_is_known_by_its_content(
    world, broker_urls: dict[str, str]
) -> None:
    consumer = Consumer(world, broker_urls["research"])
    async with dead_message(world, broker_urls, consumer) as message:
        never_settled = replay_of(message)
        replay = replay_of(never_settled)
        await send_replay(broker_urls["monitor"], replay, never_settled.event_id)
        await eventually(lambda: consumer.handled == [replay])


async def test_what_a_version_without_this_record_dead_lettered_is_replayed_once(
    world, broker_urls: dict[str, str]
) -> None:
    consumer = Consumer(world, broker_urls["research"])
    async with dead_message(world, broker_urls, consumer) as message:
        await world.database.execute("delete from dead_letter_origins")
        replay, late = replay_of(message), replay_of(message)
        await send_replay(broker_urls["monitor"], replay, message.event_id)
        await eventually(lambda: consumer.handled == [replay])
        await send_replay(broker_urls["monitor"], late, message.event_id)
        assert (await next_death(world))[:2] == (late.event_id, Reason.FALSE_CLAIM)


@pytest.mark.extended
async def test_an_administrator_lets_in_what_the_service_knows_nothing_of(
    world, broker_urls: dict[str, str]
) -> None:
    """As after the broker gave up on a message by itself."""
    consumer = Consumer(world, broker_urls["research"])
    consumer.accepts = True
    lost = world.request()
    first, second, third = replay_of(lost), replay_of(lost), replay_of(lost)
    async with running(consumer.service):
        await send_replay(broker_urls["monitor"], first, lost.event_id)
        assert (await next_death(world))[:2] == (first.event_id, Reason.FALSE_CLAIM)
        assert str(first.event_id) in await accept_replay(world, first.event_id)
        await send_replay(broker_urls["monitor"], second, first.event_id)
        await eventually(lambda: consumer.handled == [second])
        await send_replay(broker_urls["monitor"], third, first.event_id)
        assert (await next_death(world))[:2] == (third.event_id, Reason.FALSE_CLAIM)


@pytest.mark.extended
async def test_a_replay_makes_no_false_claim_true(world, broker_urls: dict[str, str]) -> None:
    queue = "orchestrator-events"
    believed: list[DomainMessage] = []

    async def take(messages: Sequence[DomainMessage], _tx: Transaction) -> None:
        believed.extend(messages)

    service = world.service("orchestrator", rabbitmq_url=broker_urls["orchestrator"])
    service.consume(queue, on_batch(take, ResearchCompleted, SocialPosted))
    claim = world.message(
        ResearchCompleted(brand_slug="acme", research_id=uuid4(), keyword="mortgage refinancing")
    )
    async with running(service):
        async with Broker.connected(broker_urls["social"]) as broker:
            await broker.publish(
                "brand-events",
                "social.posted",
                encode(claim),
                type=claim.type,
                user_id=urlsplit(broker_urls["social"]).username,
            )
        assert (await next_death(world, queue))[:2] == (claim.event_id, Reason.FALSE_CLAIM)
        replay = replay_of(claim)
        await send_replay(broker_urls["monitor"], replay, claim.event_id, queue=queue)
        dead, reason, detail = await next_death(world, queue)
        assert (dead, reason, believed) == (replay.event_id, Reason.FALSE_CLAIM, [])
        assert "research.completed must have its type as routing key" in detail
        # Whoever administers the service may know better.
        await accept_replay(world, replay.event_id)
        last = replay_of(replay)
        await send_replay(broker_urls["monitor"], last, replay.event_id, queue=queue)
        await eventually(lambda: believed == [last])


async def test_what_came_before_its_producer_was_known_is_judged_again(
    world, broker_urls: dict[str, str]
) -> None:
    """A consumer that was upgraded last: how the message first came proves who sent it."""
    consumer = Consumer(world, broker_urls["research"])
    consumer.accepts = True
    message = world.request()
    await world.database.execute(
        "insert into dead_letter_origins (event_id, digest, exchange, routing_key, user_id)"
        " values ($1, $2, 'commands', $3, $4)",
        message.event_id,
        content_digest(encode(message)),
        QUEUE,
        urlsplit(broker_urls["orchestrator"]).username,
    )
    replay = replay_of(message)
    async with running(consumer.service):
        await send_replay(broker_urls["monitor"], replay, message.event_id)
        await eventually(lambda: consumer.handled == [replay])


async def test_nobody_has_a_dead_letter_called_handled_by_a_header(world) -> None:
    service = world.service()
    service.consume(QUEUE, on_batch(world.write_all, ResearchRequested))
    async with running(service):
        await world.send(world.request(), headers={REPLAY_OF: str(uuid4())})
        await eventually(lambda: world.has_effects(1))
        await eventually(world.outbox_is_empty)
    assert await world.broker.depth("monitor-commands") == 0


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (
            b'{"type":"t","payload":{"a":1,"b":2},"event_id":"x"}',
            b'{"payload": {"b":2,"a":1}, "type":"t"}',
            True,
        ),
        (b'{"type":"t","payload":{"a":1}}', b'{"type":"t","payload":{"a":"1"}}', False),
        (b'{"type":"t","payload":{}}', b'{"type":"u","payload":{}}', False),
        (b'{"payload":' + b"9" * 5000 + b"}", b'{"payload":' + b"9" * 5000 + b"}", True),
    ],
)
def test_the_digest_is_of_the_content_alone(one: bytes, other: bytes, alike: bool) -> None:
    assert (content_digest(one) == content_digest(other)) is alike


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"a":' * 100_000])
def test_what_is_no_object_has_no_digest(body: bytes) -> None:
    assert content_digest(body) is None
