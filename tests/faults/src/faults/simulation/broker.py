"""A broker in memory: one work queue with consumers, acknowledgements and redelivery, and exchanges with confirms.

Frames travel in order on each connection, take time, and are lost from some point on when the connection breaks. What
is bound besides the work queue is only written down: the checks look there for what must have arrived.
"""

from bisect import insort
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Self

from aiormq.abc import ChannelFrame

from envelope.brand import EVENTS
from faults.simulation.plan import QUEUE, Counts
from faults.simulation.publishing import PublishingChannel
from messaging.broker.bulk_publish import Publication
from messaging.broker.deliveries import Delivery
from messaging.broker.writing import SETTLEMENT
from messaging.headers import BROKER_RETURNS
from messaging.topology import COMMANDS, DEAD_LETTERS, DELIVERY_LIMIT, RETURNS

if TYPE_CHECKING:
    from faults.simulation.process import Process
    from faults.simulation.schedule import Schedule

EVENT_QUEUES: Final = ("brand-events", "brand-events-archive")
"""Bound to every event: one that is not in both was lost."""
_BUSY: Final = 0.15
_SETTLEMENTS: Final = {80: "ack", 90: "reject", 120: "requeue"}
"""Methods of AMQP's class basic."""


class Message:
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

    def __lt__(self, other: "Message") -> bool:
        return self.number < other.number


class Broker:
    """The one broker of a schedule."""

    def __init__(self, schedule: "Schedule") -> None:
        self.schedule = schedule
        self.down = False
        self.blocked = False
        self.unbound = ""
        """An exchange whose bindings are gone."""
        self.ready: list[Message] = []
        self.consumers: list[ConsumingChannel] = []
        self.publishers: list[PublishingChannel] = []
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

    def route(self, publication: Publication, *, only: float = 1.0) -> bool:
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
        self.ready.append(Message(self._numbers, body, type_, headers))
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

    def take_back(self, messages: list[Message], *, failed: bool) -> None:
        """Back to where they were, or to the dead letters once they were delivered too often.

        `failed` tells a lost consumer from one that gives them back; which is not a return to every version.
        """
        for message in messages:
            self.unacked -= 1
            message.returns += failed or self.schedule.plan.counts is Counts.RETURNS
            if message.returns > DELIVERY_LIMIT:
                self.dead.append((message.body, "delivery_limit"))
            else:
                insort(self.ready, message)
        self.pump()

    # -- outages -----------------------------------------------------------------------------------------------------

    def cut(self, process: "Process | None" = None, *, silent: float = 0.0) -> None:
        """Breaks the connections of one process, or all; with `silent`, clients find out that much later."""
        channels: list[ConsumingChannel | PublishingChannel] = [*self.consumers, *self.publishers]
        for channel in channels:
            if process is None or channel.process is process:
                channel.cut(silent)

    def block(self) -> None:
        self.blocked = True
        for channel in self.publishers:
            channel.connection.tell_blocked()

    def unblock(self) -> None:
        self.blocked = False
        for channel in list(self.publishers):
            channel.connection.tell_blocked()
            channel.read_on()


class ConsumingChannel:
    """Plays the aiormq channel that deliveries come on."""

    number = 1

    __slots__ = (
        "_broker", "_downstream", "_flushing", "_receive", "_sending", "_upstream", "arrives_until", "consuming",
        "is_closed", "open", "prefetch", "process", "tag", "unacked",
    )  # fmt: skip

    def __init__(self, broker: Broker, process: "Process", prefetch: int, receive: Any) -> None:
        self._broker = broker
        self._receive = receive
        self.process = process
        self.prefetch = prefetch
        self.open = True
        self.is_closed = False
        self.consuming = False
        self.unacked: dict[int, Message] = {}
        self.tag = 0
        self.arrives_until = 0.0
        self._downstream: deque[Delivery] = deque()
        self._flushing = False
        self._upstream: deque[tuple[str, int, bool]] = deque()
        self._sending = False
        broker.consumers.append(self)

    # -- to the client -----------------------------------------------------------------------------------------------

    def deliver(self, message: Message) -> None:
        broker, schedule = self._broker, self._broker.schedule
        self.tag += 1
        self.unacked[self.tag] = message
        broker.unacked += 1
        message.deliveries += 1
        # Headers are the reader's own, as they are when they come off a wire.
        headers = dict(message.headers)
        if message.deliveries > 1 and schedule.plan.counts is not Counts.NOTHING:
            headers[BROKER_RETURNS] = message.returns
        delivery = Delivery(
            channel=self,
            tag=self.tag,
            body=message.body,
            type=message.type,
            headers=headers,
            redelivered=message.deliveries > 1,
        )
        self._downstream.append(delivery)
        if not self._flushing:
            self._flushing = True
            self.arrives_until = schedule.loop.now + schedule.latency()
            schedule.loop.call_at(self.arrives_until, self._arrive, context=self.process.context)

    def _arrive(self) -> None:
        self._flushing = False
        while self._downstream:
            delivery = self._downstream.popleft()
            if not self.is_closed:
                schedule = self._broker.schedule
                if schedule.trace is not None:
                    schedule.note(self.process, "delivered", schedule.name_of(delivery.body), delivery.tag)
                self._receive(delivery)

    # -- from the client ---------------------------------------------------------------------------------------------

    @property
    def write_queue(self) -> Self:
        return self

    @property
    def connection(self) -> Self:
        return self

    @property
    def channels(self) -> dict[int, Self]:
        return {self.number: self}

    def full(self) -> bool:
        """The writer is busy now and then, so that others run between a settlement's beginning and its writing."""
        return self._broker.schedule.random() < _BUSY

    def put_nowait(self, frame: ChannelFrame) -> None:
        """Takes settlements, all of one kind, as `messaging.broker.writing` makes them."""
        schedule = self._broker.schedule
        if not self.process.alive:
            return
        what = ""
        for _, _, _, _, method, tag, flags, _ in SETTLEMENT.iter_unpack(frame.payload):
            what = _SETTLEMENTS[method]
            if schedule.trace is not None:
                schedule.note(self.process, what, tag, "and all before" if flags & 1 else "")
            self._upstream.append((what, tag, bool(flags & 1)))
        if not self._sending:
            self._sending = True
            schedule.later(schedule.latency(), self._read)
        if schedule.random() < schedule.trouble:
            schedule.strike(self.process, what, schedule.plan.at_broker)

    def _read(self) -> None:
        self._sending = False
        while self._upstream and self.open:
            self._obey(*self._upstream.popleft())
        self._upstream.clear()
        self._broker.pump()

    def _obey(self, what: str, tag: int, multiple: bool) -> None:
        tags = (
            [each for each in self.unacked if each <= tag]
            if multiple
            else [tag]
            if tag in self.unacked
            else []
        )
        if not tags or (multiple and tag not in self.unacked and tag > self.tag):
            self._broker.schedule.checks.violated(
                "protocol", f"{what} of delivery tag {tag}, which is not open"
            )
            self.cut()
            return
        messages = [self.unacked.pop(each) for each in tags]
        if what == "requeue":
            self._broker.take_back(messages, failed=False)
            return
        self._broker.unacked -= len(messages)
        if what == "reject":
            self._broker.dead.extend((message.body, "rejected") for message in messages)

    # -- the end -----------------------------------------------------------------------------------------------------

    def cut(self, silent: float = 0.0) -> None:
        """The connection breaks; some of what is on its way to the broker may still arrive."""
        schedule = self._broker.schedule
        if self.open:
            for _ in range(int(schedule.random() * (len(self._upstream) + 1))):
                if self.open:
                    self._obey(*self._upstream.popleft())
        if self.open:
            self.open = False
            self.consuming = False
            self._upstream.clear()
            self._broker.consumers.remove(self)
            messages, self.unacked = list(self.unacked.values()), {}
            self._broker.take_back(messages, failed=True)
        if silent:
            schedule.later(silent, self.close)
        else:
            self.close()

    def close(self) -> None:
        """The client sees that it is gone."""
        if not self.is_closed:
            self.is_closed = True
            self.process.channel_lost(self)
