"""Checks of a message's sender, with a user at the broker for each service: no service can use another's name."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import aio_pika
import pytest

from chassis.testing import eventually, running
from envelope import MAX_MESSAGE_BYTES, DeadLetterResolved, DomainMessage, Payload, encode
from envelope.brand.payloads import (
    ContentPublish,
    ContentPublished,
    ResearchCompleted,
    ResearchRequested,
    SocialPosted,
)
from messaging import Service, Transaction, on_batch
from messaging.flow import dead_letters
from messaging.flow.replays import content_digest
from messaging.headers import Reason
from messaging.testing import Broker

EVENTS = "brand-events"


def user_of(url: str) -> str:
    return urlsplit(url).username or ""


def finding() -> ResearchCompleted:
    return ResearchCompleted(brand_slug="acme", research_id=uuid4(), keyword="mortgage refinancing")


def resolution(queue: str) -> DeadLetterResolved:
    return DeadLetterResolved(dead_event_id=uuid4(), replay_event_id=uuid4(), queue=queue)


@pytest.fixture
def hears(world, broker_urls: dict[str, str]) -> Callable[..., tuple[Service, list[DomainMessage]]]:
    """A service as its own user, that writes down what it believes."""

    def make(name: str, queue: str, *payloads: type[Payload], url: str | None = None) -> Any:
        believed: list[DomainMessage] = []

        async def take(messages: Sequence[DomainMessage], _tx: Transaction) -> None:
            believed.extend(messages)

        service = world.service(name, rabbitmq_url=url or broker_urls[name])
        service.consume(queue, on_batch(take, *payloads))
        return service, believed

    return make


async def say(
    url: str, exchange: str, key: str, message: DomainMessage, *, signed: bool = True, **changes: Any
) -> None:
    """Publishes over a user's own connection, as an intruder in that service may."""
    body = encode(message.model_copy(update=changes))
    async with Broker.connected(url) as broker:
        await broker.publish(exchange, key, body, type=message.type, user_id=user_of(url) if signed else None)


async def what_died(world, queue: str) -> tuple[Reason, str]:
    letter = await world.broker.take(f"{queue}-dlq")
    read = dead_letters.read(letter.body, dict(letter.headers), queue)
    return read.reason, read.detail


@pytest.mark.parametrize("signed", [True, False])
async def test_another_services_event_under_a_routing_key_of_ones_own_is_not_believed(
    world, broker_urls: dict[str, str], hears, signed: bool
) -> None:
    service, believed = hears("orchestrator", "orchestrator-events", ResearchCompleted, SocialPosted)
    async with running(service):
        await say(broker_urls["social"], EVENTS, "social.posted", world.message(finding()), signed=signed)
        reason, detail = await what_died(world, "orchestrator-events")
    assert (reason, believed) == (Reason.FALSE_CLAIM, [])
    assert "research.completed must have its type as routing key" in detail
    assert "'social.posted'" in detail


@pytest.mark.parametrize("signed", [True, False])
async def test_who_may_not_say_a_thing_is_not_believed_under_any_name(
    world, broker_urls: dict[str, str], hears, signed: bool
) -> None:
    service, believed = hears("orchestrator", "orchestrator-events", SocialPosted)
    posted = world.message(
        SocialPosted(brand_slug="acme", content_id=uuid4(), platform="feed", post_url="http://localhost/")
    )
    async with running(service):
        await say(broker_urls["social"], EVENTS, "social.posted", posted, signed=signed, source="publisher")
        reason, detail = await what_died(world, "orchestrator-events")
    assert (reason, believed) == (Reason.FALSE_CLAIM, [])
    assert "social.posted may come from social, but source is 'publisher'" in detail


@pytest.mark.extended
@pytest.mark.parametrize(
    ("source", "queue", "signed", "why"),
    [
        (
            "orchestrator",
            "orchestrator-commands",
            True,
            "source is 'orchestrator', but social sent it",
        ),
        ("orchestrator", "orchestrator-commands", False, "user_id is not one of our services'"),
        (
            "social",
            "orchestrator-commands",
            True,
            "social reports about a queue that it does not consume",
        ),
        ("social", "social-commands", False, "user_id is not one of our services'"),
    ],
)
async def test_nobody_settles_the_dead_letters_of_another_service(
    world, broker_urls: dict[str, str], hears, source: str, queue: str, signed: bool, why: str
) -> None:
    service, believed = hears("monitor", "monitor-commands", DeadLetterResolved)
    word = world.message(resolution(queue))
    async with running(service):
        await say(broker_urls["social"], "commands", "monitor-commands", word, signed=signed, source=source)
        reason, detail = await what_died(world, "monitor-commands")
        assert (reason, believed) == (Reason.FALSE_CLAIM, [])
        assert why in detail
        # An operator who knows better vouches for it with a replay. What is not the sender's own stays so.
        await say(
            broker_urls["monitor"], "returns", "monitor-commands", word, source=source, event_id=uuid4()
        )
        if "does not consume" in why:
            assert (await what_died(world, "monitor-commands"))[0] is Reason.FALSE_CLAIM
        else:
            await eventually(lambda: believed)


async def test_what_services_say_in_their_own_name_is_believed_and_signed(
    world, broker_urls: dict[str, str], hears
) -> None:
    orchestrator, events = hears("orchestrator", "orchestrator-events", ResearchCompleted)
    monitor, words = hears("monitor", "monitor-commands", DeadLetterResolved)
    research = world.service(rabbitmq_url=broker_urls["research"])

    async def find(messages: Sequence[DomainMessage], tx: Transaction) -> None:
        for message in messages:
            tx.send(finding(), caused_by=message)

    research.consume("research-commands", on_batch(find, ResearchRequested))
    tap = await world.broker.tap(EVENTS)
    async with running(orchestrator), running(monitor), running(research):
        await say(broker_urls["orchestrator"], "commands", "research-commands", world.request())
        # A replay of the recorder's, of which the consumer gives word.
        replay = world.request("replayed")
        dead = uuid4()
        await world.database.execute(
            "insert into dead_letter_origins (event_id, digest) values ($1, $2)",
            dead,
            content_digest(encode(replay)),
        )
        async with Broker.connected(broker_urls["monitor"]) as broker:
            await broker.publish(
                "returns",
                "research-commands",
                encode(replay),
                type=replay.type,
                user_id=user_of(broker_urls["monitor"]),
                headers={"replay-of": str(dead)},
            )
        await eventually(lambda: len(events) == 2 and len(words) == 1)
    seen = await world.broker.take(tap)
    assert (seen.user_id, seen.app_id) == (user_of(broker_urls["research"]), "research")


async def test_messages_of_a_version_that_signed_none_are_believed_where_the_routing_key_proves_their_sender(
    world, broker_urls: dict[str, str], hears
) -> None:
    orchestrator, events = hears("orchestrator", "orchestrator-events", ResearchCompleted)
    research, commands = hears("research", "research-commands", ResearchRequested)
    async with running(orchestrator), running(research):
        await say(
            broker_urls["research"], EVENTS, "research.completed", world.message(finding()), signed=False
        )
        await say(broker_urls["orchestrator"], "commands", "research-commands", world.request(), signed=False)
        await eventually(lambda: events and commands)


async def test_where_services_share_a_user_at_the_broker_their_word_is_all_there_is(world, hears) -> None:
    monitor, words = hears("monitor", "monitor-commands", DeadLetterResolved, url=world.rabbitmq_url)
    async with running(monitor):
        word = world.message(resolution("orchestrator-commands"))
        await say(world.rabbitmq_url, "commands", "monitor-commands", word, source="orchestrator")
        await eventually(lambda: words)


async def test_the_broker_lets_nobody_sign_with_another_name(world, broker_urls: dict[str, str]) -> None:
    with pytest.raises(aio_pika.exceptions.ChannelPreconditionFailed, match="user_id"):
        async with Broker.connected(broker_urls["social"]) as broker:
            await broker.publish(
                EVENTS, "social.posted", b"{}", type="social.posted", user_id=user_of(broker_urls["research"])
            )


async def test_a_user_whom_the_broker_knows_by_another_name_signs_with_that(
    world, broker_urls: dict[str, str]
) -> None:
    research = world.service(rabbitmq_url=broker_urls["research"])
    # As with a token for a password: the URL's name means nothing to the broker.
    research._publisher._user = "whoever"
    tap = await world.broker.tap(EVENTS)
    async with running(research):
        async with research.database.transaction() as tx:
            tx.send(finding())
        assert (await world.broker.take(tap)).user_id == user_of(broker_urls["research"])


async def test_a_known_type_in_the_wrong_queue_is_told_the_right_one(
    world, broker_urls: dict[str, str], hears
) -> None:
    service, _ = hears("research", "research-commands", ResearchRequested)
    lost: tuple[tuple[Payload, str], ...] = (
        (
            ContentPublish(brand_slug="acme", content_id=uuid4(), target="site"),
            "the exchange commands with the routing key publisher-commands",
        ),
        (finding(), "the exchange brand-events with its type as routing key"),
    )
    async with running(service):
        for payload, way in lost:
            await say(broker_urls["orchestrator"], "commands", "research-commands", world.message(payload))
            reason, detail = await what_died(world, "research-commands")
            assert reason is Reason.UNKNOWN_TYPE
            assert f"not from research-commands: send it to {way}" in detail


async def test_a_body_over_the_limit_is_called_too_large(world, broker_urls: dict[str, str], hears) -> None:
    service, _ = hears("research", "research-commands", ResearchRequested)
    body = encode(world.request())
    async with running(service):
        await world.send_raw(body + b" " * (MAX_MESSAGE_BYTES + 1 - len(body)))
        reason, detail = await what_died(world, "research-commands")
    assert reason is Reason.TOO_LARGE
    assert detail.startswith("131,073 bytes, over the limit of 131,072")


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "ftp://example.org/", "//example.org/", "http://"]
)
def test_an_address_is_one_that_a_browser_may_open(address: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        ContentPublished(brand_slug="acme", content_id=uuid4(), published_url=address)
