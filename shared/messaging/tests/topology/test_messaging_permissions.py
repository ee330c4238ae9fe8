"""What each service may do at a real broker, as its own user there, and what it is refused."""

import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aio_pika
import httpx
import pytest
from aio_pika.abc import AbstractChannel, AbstractConnection
from aiormq.exceptions import ChannelAccessRefused

from brandctl.local import broker_users
from envelope import MessageKind
from envelope.brand import CATALOGUE, SERVICES
from messaging.testing import Broker
from messaging.topology import describe, permissions
from messaging.topology.users import Credentials

QUEUES = tuple(queue.name for queue in describe(CATALOGUE).queues)
DEAD = tuple(name for name in QUEUES if name.endswith("-dlq"))
WORK = tuple(name for name in QUEUES if name not in DEAD)
FOREIGN_EXCHANGES = ("", "amq.direct", "amq.fanout", "amq.topic", "amq.headers")
ROUTING_KEYS = (
    *QUEUES,
    "brand-events",
    "brand-events-dlq",
    *(entry.name for entry in CATALOGUE.values() if entry.kind is MessageKind.EVENT),
    "content.archived",
    "nowhere",
    "#",
)

# Written down by hand, and apart from what makes it: this is the promise.
CONSUMES = {
    "orchestrator": {"orchestrator-commands", "orchestrator-events"},
    "research": {"research-commands"},
    "publisher": {"publisher-commands"},
    "social": {"social-commands"},
    "monitor": {"monitor-commands", *DEAD},
    "events": {"events-commands", "event-log"},
}
# What an outbox or the records of a version before may still name.
FORMERLY = {"orchestrator": {"brand-events"}, "monitor": {"brand-events", "brand-events-dlq"}}
PUBLISHES = {
    "orchestrator": {
        *(("commands", f"{service}-commands") for service in SERVICES),
        ("brand-events", "content.generated"),
        ("brand-events", "audit.completed"),
        ("brand-events", "cycle.completed"),
        ("brand-events", "drafts.waiting"),
        ("brand-events", "content.refused"),
        *(
            (exchange, queue)
            for exchange in ("returns", "dead-letters")
            for queue in CONSUMES["orchestrator"] | FORMERLY["orchestrator"]
        ),
    },
    "research": {
        ("commands", "monitor-commands"),
        ("brand-events", "research.completed"),
        ("brand-events", "research.failed"),
        ("brand-events", "research.waiting"),
        ("brand-events", "brand.erased"),
        ("brand-events", "database.fell_back"),
        ("returns", "research-commands"),
        ("dead-letters", "research-commands"),
    },
    "publisher": {
        ("commands", "monitor-commands"),
        ("commands", "publisher-commands"),
        ("brand-events", "content.published"),
        ("brand-events", "content.publish_failed"),
        ("brand-events", "brand.erased"),
        ("brand-events", "database.fell_back"),
        ("returns", "publisher-commands"),
        ("dead-letters", "publisher-commands"),
    },
    "social": {
        ("commands", "monitor-commands"),
        ("commands", "publisher-commands"),
        ("commands", "social-commands"),
        ("brand-events", "social.posted"),
        ("brand-events", "social.failed"),
        ("brand-events", "brand.erased"),
        ("brand-events", "database.fell_back"),
        ("returns", "social-commands"),
        ("dead-letters", "social-commands"),
    },
    "monitor": {
        ("commands", "monitor-commands"),
        ("brand-events", "dead_letter.recorded"),
        ("brand-events", "brand.erased"),
        ("brand-events", "database.fell_back"),
        *(("returns", queue) for queue in {*QUEUES, *FORMERLY["monitor"]}),
        ("dead-letters", "monitor-commands"),
    },
    "events": {
        ("commands", "monitor-commands"),
        ("brand-events", "brand.erased"),
        ("brand-events", "database.fell_back"),
        *((exchange, queue) for exchange in ("returns", "dead-letters") for queue in CONSUMES["events"]),
    },
}
FOR_THE_DOCTOR = ("returns", "nowhere")
"""What each may publish, and no queue takes."""
OTHERS_QUEUE = {
    service: next(queue for queue in WORK if queue not in CONSUMES[service]) for service in SERVICES
}

Action = Callable[[AbstractChannel], Awaitable[object]]


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[AbstractConnection]:
    async with await aio_pika.connect(url, timeout=60) as connection:
        yield connection


async def is_allowed(connection: AbstractConnection, action: Action) -> bool:
    """Tries it on a channel of its own: a refusal closes the channel."""
    channel = await connection.channel()
    try:
        await action(channel)
    except ChannelAccessRefused:
        return False
    await channel.close()
    return True


def get(queue: str) -> Action:
    async def act(channel: AbstractChannel) -> None:
        await (await channel.get_queue(queue, ensure=False)).get(no_ack=True, fail=False)

    return act


def consume(queue: str) -> Action:
    async def note(_message: aio_pika.abc.AbstractIncomingMessage) -> None: ...

    async def act(channel: AbstractChannel) -> None:
        await (await channel.get_queue(queue, ensure=False)).consume(note)

    return act


def publish(exchange: str, routing_key: str) -> Action:
    async def act(channel: AbstractChannel) -> None:
        target = channel.default_exchange
        if exchange:
            target = await channel.get_exchange(exchange, ensure=False)
        await target.publish(aio_pika.Message(b"{}"), routing_key, mandatory=False, timeout=60)

    return act


async def bind(channel: AbstractChannel, queue: str, exchange: str) -> None:
    await (await channel.get_queue(queue, ensure=False)).bind(exchange, "#")


async def unbind(channel: AbstractChannel, queue: str, exchange: str) -> None:
    await (await channel.get_queue(queue, ensure=False)).unbind(exchange, queue)


async def purge(channel: AbstractChannel, queue: str) -> None:
    await (await channel.get_queue(queue, ensure=False)).purge()


async def bind_exchange(channel: AbstractChannel) -> None:
    await (await channel.get_exchange("returns", ensure=False)).bind("commands", "#")


def test_what_is_made_of_catalogue_and_topology_is_what_is_promised() -> None:
    described = permissions.describe(CATALOGUE)
    assert set(described) == set(SERVICES)
    for service, each in described.items():
        assert set(each.queues) == CONSUMES[service]
        keys = {(exchange, key) for exchange, keys in each.routing_keys.items() for key in keys}
        assert keys == PUBLISHES[service]
        assert set(each.topics) == set(describe(CATALOGUE).exchanges)
        assert FOR_THE_DOCTOR not in {
            (each.exchange, each.routing_key) for each in describe(CATALOGUE).bindings
        }
        assert each.configure == "^$"


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_consumes_its_own_queues_and_no_other(
    service: str, broker_urls: dict[str, str]
) -> None:
    async with connected(broker_urls[service]) as connection:
        for action in (get, consume):
            allowed = {queue for queue in QUEUES if await is_allowed(connection, action(queue))}
            assert allowed == CONSUMES[service]


@pytest.mark.extended
@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_publishes_what_the_catalogue_says_and_nothing_else(
    service: str, broker_urls: dict[str, str]
) -> None:
    exchanges = (*describe(CATALOGUE).exchanges, *FOREIGN_EXCHANGES)
    async with connected(broker_urls[service]) as connection:
        allowed = {
            (exchange, key)
            for exchange in exchanges
            for key in ROUTING_KEYS
            if await is_allowed(connection, publish(exchange, key))
        }
    assert allowed == PUBLISHES[service] | {FOR_THE_DOCTOR}


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_declares_binds_and_deletes_nothing(
    service: str, broker_urls: dict[str, str]
) -> None:
    arguments = {queue.name: queue.arguments for queue in describe(CATALOGUE).queues}
    own, other = min(CONSUMES[service]), OTHERS_QUEUE[service]
    attempts: dict[str, Action] = {
        "declare a queue": lambda channel: channel.declare_queue("new", durable=True),
        "declare a queue named by the broker": lambda channel: channel.declare_queue(exclusive=True),
        "declare its own queue": lambda channel: channel.declare_queue(
            own, durable=True, arguments=arguments[own]
        ),
        "declare an exchange": lambda channel: channel.declare_exchange("new", durable=True),
        "declare an exchange there is": lambda channel: channel.declare_exchange(
            "commands", aio_pika.ExchangeType.TOPIC, durable=True
        ),
        "bind its own queue": lambda channel: bind(channel, own, "commands"),
        "bind its own queue to all events": lambda channel: bind(channel, own, "brand-events"),
        "bind another's queue": lambda channel: bind(channel, other, "brand-events"),
        "bind an exchange": bind_exchange,
        "unbind its own queue": lambda channel: unbind(channel, own, "returns"),
        "delete its own queue": lambda channel: channel.queue_delete(own),
        "delete another's queue": lambda channel: channel.queue_delete(other),
        "delete an exchange": lambda channel: channel.exchange_delete("commands"),
        "purge another's queue": lambda channel: purge(channel, other),
    }
    async with connected(broker_urls[service]) as connection:
        allowed = {name for name, action in attempts.items() if await is_allowed(connection, action)}
    assert allowed == set()


@pytest.mark.extended
@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_sees_that_its_queue_is_there(service: str, broker_urls: dict[str, str]) -> None:
    async with Broker.connected(broker_urls[service]) as broker:
        for queue in CONSUMES[service]:
            assert await broker.depth(queue) == 0


async def test_a_service_enters_its_own_vhost_alone(
    broker_urls: dict[str, str], make_vhost: Callable[..., Awaitable[str]]
) -> None:
    elsewhere = (await make_vhost()).rpartition("/")[2]
    for url in broker_urls.values():
        with pytest.raises(aio_pika.exceptions.AMQPError):
            await aio_pika.connect(f"{url.rpartition('/')[0]}/{elsewhere}", timeout=60)


async def test_a_subscriber_to_the_events_gets_nowhere_near_the_queue_of_the_router(
    rabbitmq_url: str, rabbitmq_api: httpx.Client
) -> None:
    """An outsider's user, with what an administrator has to give it so that it may have a queue of its own for events."""
    vhost = broker_users.vhost_of(rabbitmq_url)
    outsider = Credentials(f"{vhost}-archive", secrets.token_hex(12))
    own = {"configure": "^archive$", "write": "^archive$", "read": f"^(archive|{CATALOGUE.events})$"}
    rabbitmq_api.put(f"/api/users/{outsider.user}", json={"password": outsider.password, "tags": ""})
    rabbitmq_api.put(f"/api/permissions/{vhost}/{outsider.user}", json=own)
    routers = next(queue for queue in describe(CATALOGUE).queues if queue.name == CATALOGUE.events_queue)
    attempts: dict[str, Action] = {
        "consume": consume(routers.name),
        "get": get(routers.name),
        "purge": lambda channel: purge(channel, routers.name),
        "delete": lambda channel: channel.queue_delete(routers.name),
        "bind": lambda channel: bind(channel, routers.name, CATALOGUE.events),
        "unbind": lambda channel: unbind(channel, routers.name, CATALOGUE.events),
        "declare": lambda channel: channel.declare_queue(
            routers.name, durable=True, arguments=routers.arguments
        ),
        "consume its dead letters": consume(f"{routers.name}-dlq"),
        "publish to it": publish("returns", routers.name),
    }
    try:
        async with (
            connected(broker_users.url_of(rabbitmq_url, outsider)) as connection,
            connection.channel() as channel,
            Broker.connected(rabbitmq_url) as broker,
        ):
            archive = await channel.declare_queue("archive", durable=True)
            await archive.bind(CATALOGUE.events, "#")
            await broker.publish(CATALOGUE.events, "content.published", b"{}")
            await broker.take("archive")
            allowed = {name for name, action in attempts.items() if await is_allowed(connection, action)}
            assert allowed == set()
            assert await broker.depth(routers.name) == 1
    finally:
        rabbitmq_api.delete(f"/api/users/{outsider.user}")


def test_a_service_is_not_let_into_the_management(
    broker_urls: dict[str, str], rabbitmq_api: httpx.Client
) -> None:
    for url in broker_urls.values():
        user, _, password = url.partition("://")[2].partition("@")[0].partition(":")
        answer = httpx.get(rabbitmq_api.base_url.join("/api/whoami"), auth=(user, password))
        assert answer.status_code == httpx.codes.UNAUTHORIZED


def test_a_pattern_matches_its_names_alone() -> None:
    matches = re.compile(permissions.pattern(["content.published", "brand-events"])).search
    assert matches("content.published")
    assert matches("brand-events")
    for name in ("contentXpublished", "content.published.v2", "my-brand-events", "", "content"):
        assert not matches(name)
    assert permissions.pattern([]) == permissions.NOTHING
