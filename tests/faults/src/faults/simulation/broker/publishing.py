"""The publishing side of the simulated broker: the real publisher writes to it, and gets its confirms from it."""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, Final, Self

from faults.simulation.broker.server import SimulatedBroker
from faults.simulation.course import ConnectedProcess
from faults.simulation.plan import PlannedFault
from messaging.broker.bulk_publish import BulkPublisher, OutgoingMessage

_BUSY: Final = 0.15


class PublishingConnection:
    """Plays the aiormq connection that the publisher gives up, or asks whether it is blocked."""

    __slots__ = (
        "_Connection__connection_unblocked",
        "__weakref__",
        "_channel",
        "channels",
        "connection_tune",
    )

    def __init__(self, channel: "PublishingChannel") -> None:
        self._channel = channel
        self.channels = {channel: channel}
        self.connection_tune = _TuneParameters
        self._Connection__connection_unblocked = asyncio.Event()
        self.tell_blocked()

    def tell_blocked(self) -> None:
        if self._channel.broker.blocked:
            self._Connection__connection_unblocked.clear()
        else:
            self._Connection__connection_unblocked.set()

    def create_task(self, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        return asyncio.create_task(coroutine)

    async def close(self) -> None:
        channel = self._channel
        if channel.process.alive and not channel.is_closed:
            await channel.broker.schedule.loop.pause(channel.broker.schedule.latency())
            channel.cut()


class _TuneParameters:
    frame_max = 0


class PublishingChannel:
    """Plays the aiormq channel under the real `messaging.broker.bulk_publish.BulkPublisher`.

    It is its own channel number and its own queue of writes: the one function that makes bytes of a publication is
    replaced by `collect`, and what was collected leaves when the real code writes.
    """

    __slots__ = (
        "_answers", "_closing", "_collected", "_reading", "_tag", "_telling", "_upstream", "broker", "bulk",
        "connection", "is_closed", "open", "process",
    )  # fmt: skip

    def __init__(self, broker: SimulatedBroker, process: ConnectedProcess) -> None:
        self.broker = broker
        self.process = process
        self.open = True
        self.is_closed = False
        self.connection = PublishingConnection(self)
        channel: Any = self
        self.bulk = BulkPublisher(channel)
        self._closing: list[asyncio.Future[None]] = []
        self._collected: list[OutgoingMessage] = []
        self._upstream: deque[OutgoingMessage] = deque()
        self._reading = False
        self._tag = 0
        self._answers: deque[tuple[int, bool, OutgoingMessage, str | None]] = deque()
        """(tag, accepted, message id, why it came back)"""
        self._telling = False
        broker.publishers.append(self)

    @property
    def number(self) -> Self:
        return self

    @property
    def write_queue(self) -> Self:
        return self

    @property
    def closing(self) -> "asyncio.Future[None]":
        """A new observer for each who asks, as aiormq gives them."""
        future = self.broker.schedule.loop.create_future()
        if self.is_closed:
            future.set_result(None)
        else:
            self._closing.append(future)
        return future

    def collect(self, publication: OutgoingMessage) -> bytes:
        self._collected.append(publication)
        return b""

    def full(self) -> bool:
        """The writer is busy now and then, so that several batches wait to be written at the same time."""
        return self.broker.schedule.random() < _BUSY

    def put_nowait(self, _: object) -> None:
        schedule = self.broker.schedule
        collected, self._collected = self._collected, []
        self._upstream.extend(collected)
        if schedule.trace is not None:
            for publication in collected:
                schedule.note(
                    self.process, "publish", publication.exchange, schedule.name_of(publication.body)
                )
        self.read_on()
        if schedule.random() < schedule.trouble:
            schedule.strike(self.process, "publish", schedule.plan.at_broker)

    def tell_blocked(self) -> None:
        self.connection.tell_blocked()

    def read_on(self) -> None:
        if self._upstream and not self._reading:
            self._reading = True
            schedule = self.broker.schedule
            schedule.later(schedule.latency(), self._read)

    def _read(self) -> None:
        self._reading = False
        while self._upstream and self.open and not self.broker.blocked:
            self._take(self._upstream.popleft())

    def _take(self, publication: OutgoingMessage) -> None:
        schedule = self.broker.schedule
        self._tag += 1
        accepted, returned = True, None
        if schedule.nacks and schedule.random() < 0.1:
            schedule.count(PlannedFault.NACK)
            self.broker.route(publication, only=0.5)
            accepted = False
        elif not self.broker.route(publication) and not schedule.mandatory_ignored:
            returned = "312 NO_ROUTE"
        if schedule.trace is not None:
            outcome = "returned" if returned else "confirmed" if accepted else "refused"
            schedule.note(None, outcome, publication.exchange, schedule.name_of(publication.body))
        self._answers.append((self._tag, accepted, publication, returned))
        if not self._telling:
            self._telling = True
            schedule.loop.call_at(
                schedule.loop.now + schedule.latency(), self._tell, context=self.process.context
            )

    def _tell(self) -> None:
        """Confirms, several in one frame where they are of one kind and in a row, as brokers do."""
        self._telling = False
        answers, self._answers = self._answers, deque()
        if self.is_closed:
            return
        for index, (tag, accepted, publication, returned) in enumerate(answers):
            if returned is not None:
                self.bulk.returned(
                    publication.message_id, publication.exchange, publication.routing_key, returned
                )
            following = answers[index + 1] if index + 1 < len(answers) else None
            if (
                following is not None
                and following[1] == accepted
                and following[3] is None
                and returned is None
            ):
                continue  # the next frame says it too
            self.bulk.confirmed(tag, multiple=True, accepted=accepted)

    # -- the end -----------------------------------------------------------------------------------------------------

    def cut(self, silent: float = 0.0) -> None:
        schedule = self.broker.schedule
        if self.open:
            if not self.broker.blocked:
                for _ in range(int(schedule.random() * (len(self._upstream) + 1))):
                    self.broker.route(self._upstream.popleft())
            self._upstream.clear()
            self.open = False
            self.broker.publishers.remove(self)
        if silent:
            schedule.later(silent, self.close)
        else:
            self.close()

    def close(self) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        for future in self._closing:
            if not future.done():
                future.set_result(None)
        self._closing.clear()
