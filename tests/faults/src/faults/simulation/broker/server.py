"""A broker in memory: one work queue with consumers, acknowledgements and redelivery, and exchanges with confirms.

Frames travel in order on each connection, take time, and are lost from some point on when the connection breaks. What
is bound besides the work queue is only written down: the checks look there for what must have arrived.
"""

from bisect import insort
from typing import Any, Final, Protocol

from envelope.brand import EVENTS, EVENTS_QUEUE
from faults.simulation.course import ConnectedProcess, ScheduleCourse
from faults.simulation.plan import QUEUE, RedeliveryCounts
from messaging.broker.bulk_publish import OutgoingMessage
from messaging.topology import COMMANDS, DEAD_LETTERS, DELIVERY_LIMIT, RETURNS

EVENT_QUEUES: Final = (EVENTS_QUEUE, "brand-events-archive")
"""Bound to every event: one that is not in both was lost."""


class QueuedMessage:
    """A copy of a message in the work queue."""

    __slots__ = ("body", "deliveries", "headers", "number", "returns", "type")

    def __init__(self, number: int, body: bytes, type_: str | None, headers: dict[str, Any]) -> None:
        self.number = number
        self.body = body
        self.type = type_
        self.headers = headers
        self.deliveries = 0
        self.returns = 0
        """As the broker counts them."""

    def __lt__(self, other: "QueuedMessage") -> bool:
        return self.number < other.number


class ConsumerConnection(Protocol):
    """The connection of a consumer, as the broker sees it."""

    process: ConnectedProcess
    prefetch: int
    consuming: bool
    unacked: dict[int, QueuedMessage]

    def deliver(self, message: QueuedMessage) -> None: ...

    def cut(self, silent: float = 0.0) -> None: ...


class PublisherConnection(Protocol):
    """The connection of a publisher, as the broker sees it."""

    process: ConnectedProcess

    def tell_blocked(self) -> None: ...

    def read_on(self) -> None: ...

    def cut(self, silent: float = 0.0) -> None: ...


class SimulatedBroker:
    """The one broker of a schedule."""

    def __init__(self, schedule: ScheduleCourse) -> None:
        self.schedule = schedule
        self.down = False
        self.blocked = False
        self.unbound = ""
        """An exchange whose bindings are gone."""
        self.ready: list[QueuedMessage] = []
        self.consumers: list[ConsumerConnection] = []
        self.publishers: list[PublisherConnection] = []
        self.bound: dict[str, list[tuple[str, bytes, dict[str, Any]]]] = {name: [] for name in EVENT_QUEUES}
        self.others: list[tuple[str, bytes, dict[str, Any]]] = []
        """Commands to other services."""
        self.dead: list[tuple[bytes, str]] = []
        """Body and reason."""
        self.returned: list[tuple[bytes, int]] = []
        """Body and attempt of what came back for another one."""
        self.unacked = 0
        self._numbers = 0

    # -- routing -----------------------------------------------------------------------------------------------------

    def route(self, publication: OutgoingMessage, *, only: float = 1.0) -> bool:
        """Into every bound queue, each with the chance `only`; whether there is a bound queue at all."""
        schedule = self.schedule
        if self.unbound == publication.exchange:
            return False
        exchange, body = publication.exchange, publication.body
        headers = publication.headers
        if exchange == EVENTS:
            for name in EVENT_QUEUES:
                if only >= 1.0 or schedule.random() < only:
                    self.bound[name].append((publication.routing_key, body, headers))
        elif only < 1.0 and schedule.random() > only:
            pass
        elif exchange == DEAD_LETTERS:
            self.dead.append((body, str(headers.get("failure-reason"))))
        elif publication.routing_key == QUEUE:
            if exchange == RETURNS:
                attempt = int(headers["attempt"])
                self.returned.append((body, attempt))
                schedule.checks.came_back(body, attempt)
            self.enqueue(body, publication.type, headers)
        elif exchange == COMMANDS:
            self.others.append((publication.routing_key, body, headers))
        else:
            return False
        return True

    def enqueue(self, body: bytes, type_: str | None, headers: dict[str, Any]) -> None:
        self._numbers += 1
        self.ready.append(QueuedMessage(self._numbers, body, type_, headers))
        self.pump()

    def pump(self) -> None:
        """Delivers what is ready to consumers that have room."""
        schedule = self.schedule
        while self.ready:
            takers = [each for each in self.consumers if each.consuming and len(each.unacked) < each.prefetch]
            if not takers or self.down:
                return
            taker = takers[0] if len(takers) == 1 else takers[int(schedule.random() * len(takers))]
            index = 0
            if schedule.plan.reorder and schedule.random() < schedule.plan.reorder:
                index = int(schedule.random() * len(self.ready))
            taker.deliver(self.ready.pop(index))

    def take_back(self, messages: list[QueuedMessage], *, failed: bool) -> None:
        """Back to where they were, or to the dead letters once they were delivered too often.

        `failed` tells a lost consumer from one that gives them back; which is not a return to every version.
        """
        for message in messages:
            self.unacked -= 1
            message.returns += failed or self.schedule.plan.counts is RedeliveryCounts.RETURNS
            if message.returns > DELIVERY_LIMIT:
                self.dead.append((message.body, "delivery_limit"))
            else:
                insort(self.ready, message)
        self.pump()

    # -- outages -----------------------------------------------------------------------------------------------------

    def cut(self, process: ConnectedProcess | None = None, *, silent: float = 0.0) -> None:
        """Breaks the connections of one process, or all; with `silent`, clients find out that much later."""
        channels: list[ConsumerConnection | PublisherConnection] = [*self.consumers, *self.publishers]
        for channel in channels:
            if process is None or channel.process is process:
                channel.cut(silent)

    def block(self) -> None:
        self.blocked = True
        for channel in self.publishers:
            channel.tell_blocked()

    def unblock(self) -> None:
        self.blocked = False
        for channel in list(self.publishers):
            channel.tell_blocked()
            channel.read_on()
