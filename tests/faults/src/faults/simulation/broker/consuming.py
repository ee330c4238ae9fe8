"""The consuming side of the simulated broker: deliveries on their way, and what the real code writes to settle them."""

from collections import deque
from typing import Any, Final, Self

from aiormq.abc import ChannelFrame

from faults.simulation.broker.server import QueuedMessage, SimulatedBroker
from faults.simulation.course import ConnectedProcess
from faults.simulation.plan import RedeliveryCounts
from messaging.broker.deliveries import Delivery
from messaging.broker.frame_writing import SETTLEMENT
from messaging.headers import BROKER_ACQUISITIONS, BROKER_RETURNS

_BUSY: Final = 0.15
_SETTLEMENTS: Final = {80: "ack", 90: "reject", 120: "requeue"}
"""Methods of AMQP's class basic."""


class ConsumingChannel:
    """Plays the aiormq channel that deliveries come on."""

    number = 1

    __slots__ = (
        "_broker", "_downstream", "_flushing", "_receive", "_sending", "_upstream", "arrives_until", "consuming",
        "is_closed", "open", "prefetch", "process", "tag", "unacked",
    )  # fmt: skip

    def __init__(
        self, broker: SimulatedBroker, process: ConnectedProcess, prefetch: int, receive: Any
    ) -> None:
        self._broker = broker
        self._receive = receive
        self.process = process
        self.prefetch = prefetch
        self.open = True
        self.is_closed = False
        self.consuming = False
        self.unacked: dict[int, QueuedMessage] = {}
        self.tag = 0
        self.arrives_until = 0.0
        self._downstream: deque[Delivery] = deque()
        self._flushing = False
        self._upstream: deque[tuple[str, int, bool]] = deque()
        self._sending = False
        broker.consumers.append(self)

    # -- to the client -----------------------------------------------------------------------------------------------

    def deliver(self, message: QueuedMessage) -> None:
        broker, schedule = self._broker, self._broker.schedule
        self.tag += 1
        self.unacked[self.tag] = message
        broker.unacked += 1
        message.deliveries += 1
        # Headers are the reader's own, as they are when they come off a wire.
        headers = dict(message.headers)
        if schedule.plan.counts is RedeliveryCounts.FAILURES:
            headers[BROKER_ACQUISITIONS] = message.deliveries
        if message.returns and schedule.plan.counts is not RedeliveryCounts.NOTHING:
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
        """Takes settlements, all of one kind, as `messaging.broker.frame_writing` makes them."""
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
