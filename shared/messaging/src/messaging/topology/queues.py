"""Exchanges, queues and bindings: the single description from which all else is generated.

`python -m messaging topology CATALOGUE` declares it on a broker; services only check that their queues exist.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import aio_pika

from envelope import Catalogue

COMMANDS: Final = "commands"
"""Commands, routed by the queue of the service that executes them."""
RETURNS: Final = "returns"
"""Retries and replays, routed by queue name: back to the one queue they came from, past other subscribers."""
DEAD_LETTERS: Final = "dead-letters"
"""Dead letters, routed by the name of their queue."""
NOWHERE: Final = "nowhere"
"""A routing key of `RETURNS` for which no queue is bound: with it, the doctor sees that the broker returns such messages."""

OUTSIDE: Final = "outside"
"""The exchange to which other systems send commands. It is no part of the topology: it exists once one has a user."""
OUTSIDE_QUEUE: Final = "outside-commands"
"""The queue of that exchange."""
OUTSIDE_KEY: Final = "commands"
"""Its routing key."""

DELIVERY_LIMIT: Final = 50
"""Deliveries without outcome before the broker itself gives up on a message. A last resort: the consumer finds a message that crashes it
(`messaging.storage.crashes`) long before."""

DEAD_LETTER_DELIVERY_LIMIT: Final = 1_000_000
"""A limit that is never reached, as a dead letter has no further queue. Without a limit, RabbitMQ 4 drops it after 20 deliveries; for
-1, "unlimited" there, RabbitMQ 3.10 drops it at the first return."""


@dataclass(frozen=True, slots=True)
class Binding:
    exchange: str
    queue: str
    routing_key: str


@dataclass(frozen=True, slots=True)
class Queue:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Topology:
    """All topic exchanges and all durable queues of the system, with the bindings between them."""

    exchanges: tuple[str, ...]
    queues: tuple[Queue, ...]
    bindings: tuple[Binding, ...] = field(default=())


def dead_letter_queue(queue: str) -> str:
    return f"{queue}-dlq"


def work_queues(catalogue: Catalogue) -> tuple[str, ...]:
    """Every queue that a service consumes, without dead-letter queues."""
    return (*map(catalogue.command_queue, catalogue.services), *event_queues(catalogue))


def event_queues(catalogue: Catalogue) -> tuple[str, ...]:
    """The queues that get every event: the router's, and that of the log of events."""
    return tuple(filter(None, (catalogue.events_queue, catalogue.event_log_queue)))


def _work_queue(name: str) -> Queue:
    return Queue(
        name,
        {
            "x-queue-type": "quorum",
            "x-delivery-limit": DELIVERY_LIMIT,
            "x-dead-letter-exchange": DEAD_LETTERS,
            "x-dead-letter-routing-key": name,
            # Without all three of quorum, this strategy and reject-publish, the broker silently falls back to
            # dead lettering without confirms, which can lose messages.
            "x-dead-letter-strategy": "at-least-once",
            "x-overflow": "reject-publish",
        },
    )


def _dead_letter_queue(name: str) -> Queue:
    return Queue(
        dead_letter_queue(name),
        {"x-queue-type": "quorum", "x-delivery-limit": DEAD_LETTER_DELIVERY_LIMIT},
    )


def exchanges(catalogue: Catalogue) -> tuple[str, ...]:
    """Every exchange. The catalogue names the one for events, which routes by type."""
    return (COMMANDS, catalogue.events, RETURNS, DEAD_LETTERS)


def describe(catalogue: Catalogue) -> Topology:
    """The topology of the whole system."""
    work = work_queues(catalogue)
    of_events = event_queues(catalogue)
    # By its former names, too: retries and dead letters may wait for days in an outbox before they leave.
    named = [(name, key) for name in work for key in catalogue.names_of(name)]
    return Topology(
        exchanges=exchanges(catalogue),
        queues=(*map(_work_queue, work), *map(_dead_letter_queue, work)),
        bindings=(
            *(Binding(COMMANDS, name, name) for name in work if name not in of_events),
            # Every event, not only the types known today: one that an older consumer does not know is
            # dead-lettered with its reason instead of coming back to its sender as unroutable.
            *(Binding(catalogue.events, name, "#") for name in of_events),
            *(Binding(RETURNS, name, key) for name, key in named),
            *(Binding(RETURNS, dead_letter_queue(name), dead_letter_queue(key)) for name, key in named),
            *(Binding(DEAD_LETTERS, dead_letter_queue(name), key) for name, key in named),
        ),
    )


async def declare(url: str, catalogue: Catalogue) -> None:
    """Declares the topology on the broker at `url`; existing parts with the same arguments stay.

    Raises:
        aio_pika.exceptions.ChannelPreconditionFailed: a queue exists with other arguments. The arguments of a
            queue never change: drain and delete it first.
    """
    topology = describe(catalogue)
    connection = await aio_pika.connect(url, timeout=15)
    async with connection, connection.channel() as channel:
        for exchange in topology.exchanges:
            await channel.declare_exchange(exchange, aio_pika.ExchangeType.TOPIC, durable=True)
        queues = {
            queue.name: await channel.declare_queue(queue.name, durable=True, arguments=queue.arguments)
            for queue in topology.queues
        }
        for binding in topology.bindings:
            await queues[binding.queue].bind(binding.exchange, binding.routing_key)
