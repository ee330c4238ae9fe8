"""Transactions that commit effects and outgoing messages together."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import Any, Protocol
from uuid import UUID

from opentelemetry import trace as otel_trace

from chassis.database.pool import Connection, Connections, UnitOfWork
from chassis.http.idempotency import IdempotentRequest, StoredAnswer
from chassis.observing import chains, traces
from chassis.observing.traces import TraceHeaders
from envelope import (
    NO_LIMITS,
    Catalogue,
    ChainLimits,
    DomainMessage,
    Message,
    MessageKind,
    MessageType,
    Payload,
    new_event_id,
)
from messaging import fail_points
from messaging import headers as header
from messaging.broker.queue_depths import QueueDepth
from messaging.doctor import Doctor
from messaging.flow.failures import Failure, failure_of
from messaging.flow.relay import Relay
from messaging.observing import spans
from messaging.storage import answers
from messaging.storage.outbox import HeaderValues, OutboxRow, row_for
from messaging.topology import COMMANDS, RETURNS

_NO_TRACES: Mapping[UUID, TraceHeaders] = {}


class Transaction:
    """An open database transaction; its messages are sent if, and only if, it commits."""

    def __init__(
        self,
        connection: Connection,
        service: str,
        catalogue: Catalogue,
        trace_headers: Mapping[UUID, TraceHeaders] = _NO_TRACES,
    ) -> None:
        self.connection = connection
        self._service = service
        self._catalogue = catalogue
        self._trace_headers_of = trace_headers
        self.outgoing: list[OutboxRow] = []
        """Rows that are written to the outbox just before the commit."""
        self.failures: dict[UUID, Failure] = {}
        """Failures of single messages of the batch, by `event_id`."""

    def send(
        self,
        payload: Payload,
        *,
        caused_by: Message | None = None,
        correlation_id: str | None = None,
        event_id: UUID | None = None,
        delay: timedelta = timedelta(),
        trace: TraceHeaders | None = None,
        own_trace: bool = False,
        limits: ChainLimits | None = None,
    ) -> UUID:
        """Sends a message after the commit, `delay` later if given; returns its `event_id`.

        The catalogue gives its route. `correlation_id` is that of `caused_by`, or the given one, or, for the first message of a chain, its own
        `event_id`. The message continues the given stored `trace`, or that of `caused_by`, or the current one. With `own_trace` it starts a new
        trace with a link to that one, for example as one of thousands that would make a trace unreadable.
        The message carries the given `limits`, or those of `caused_by`.

        Raises:
            LookupError: the payload is not in the catalogue.
            MessageTooLargeError: pass a reference instead of the content.
        """
        event_id = event_id or _event_id_at(delay)
        correlation_id = correlation_id or (caused_by.correlation_id if caused_by else None) or str(event_id)
        entry = self._catalogue.type_of(payload)
        if limits is None:
            limits = caused_by.limits if caused_by else NO_LIMITS
        message: Message = DomainMessage(
            event_id=event_id,
            type=entry.name,
            source=self._service,
            timestamp=datetime.now(UTC),
            correlation_id=correlation_id,
            causation_id=caused_by.event_id if caused_by else None,
            deadline=limits.deadline,
            max_cost=limits.max_cost,
            payload=payload,
        )
        exchange, routing_key = self._route_of(entry)
        before = self._trace_headers(caused_by, correlation_id) if trace is None else trace
        trace_headers = (
            spans.start_linked_trace(message, exchange, routing_key, linked_to=before)
            if own_trace
            else spans.with_subject(before, payload)
        )
        headers: HeaderValues = (
            {**trace_headers, header.FOR_OTHERS: 1} if entry.for_others else {**trace_headers}
        )
        self.outgoing.append(row_for(message, exchange, routing_key, headers=headers, delay=delay))
        return event_id

    def trace_of(self, message: Message) -> TraceHeaders:
        """Trace headers to store for later messages that a message of the current batch causes; empty without a trace."""
        return self._trace_headers_of.get(message.event_id, {})

    def trace_sent_with(self, event_id: UUID) -> TraceHeaders:
        """Trace headers of a message sent in this transaction; empty without a trace.

        Raises:
            LookupError: this transaction sent no message with that id.
        """
        for row in reversed(self.outgoing):
            if row.event_id == event_id:
                return traces.kept_of(row.headers)
        raise LookupError(f"this transaction has sent no message {event_id}")

    def trace_under_way(self, correlation_id: str) -> TraceHeaders:
        """Trace headers of the running span, if it belongs to this chain or to none yet; empty otherwise."""
        chains.name_chain(correlation_id)
        own = chains.chain_of(otel_trace.get_current_span()) in {None, correlation_id}
        return traces.current_headers() if own else {}

    def begin_trace(self, name: str, correlation_id: str) -> TraceHeaders:
        """Starts a trace with a span of that name, for a chain without a request or message; returns its headers, empty without tracing."""
        return spans.start_chain_trace(name, correlation_id)

    def send_raw(
        self,
        *,
        queue: str,
        body: bytes,
        event_id: UUID,
        type: str,  # noqa: A002  (the field's name on the wire)
        correlation_id: str | None,
        headers: HeaderValues,
        continues: Mapping[str, Any],
    ) -> None:
        """Sends bytes that are an envelope already to one queue; for replays.

        `continues` are the headers of the original message, whose trace the replay continues.
        """
        row = OutboxRow(RETURNS, queue, event_id, type, correlation_id, body)
        self.outgoing.append(replace(row, headers={**spans.start_replay_trace(row, continues), **headers}))

    def fail(self, message: Message, error: Exception) -> None:
        """Ends one message of a batch as if its handler had raised `error`; the others are not affected.

        Write no effects for that message.
        """
        self.failures[message.event_id] = failure_of(error)

    def _route_of(self, entry: MessageType) -> tuple[str, str]:
        """Exchange and routing key."""
        if entry.kind is MessageKind.COMMAND:
            return COMMANDS, entry.queue
        return self._catalogue.events, entry.name

    def _trace_headers(self, caused_by: Message | None, correlation_id: str) -> TraceHeaders:
        if caused_by is not None and (trace := self._trace_headers_of.get(caused_by.event_id)):
            return trace
        chains.name_chain(correlation_id)
        return traces.current_headers()


def _event_id_at(delay: timedelta) -> UUID:
    event_id = new_event_id()
    if not delay:
        return event_id
    # Inbox partitions live by the time inside the key. A message for later carries the time it is for, or the row
    # that makes it unique would be dropped soon after it arrives.
    milliseconds = (event_id.int >> 80) + int(delay.total_seconds() * 1000)
    return UUID(int=milliseconds << 80 | event_id.int & (1 << 80) - 1)


@dataclass(slots=True)
class _Attempt:
    """See `chassis.http.idempotency.Attempt`."""

    asked: IdempotentRequest
    whole: UnitOfWork
    under_way: bool
    kept: tuple[bytes, StoredAnswer] | None

    async def keep(self, answer: StoredAnswer) -> bool:
        return await answers.keep(self.whole.connection, self.asked, answer)

    def undo(self) -> None:
        self.whole.undone = True


class ServiceProcess(Protocol):
    """The process that works with a database."""

    @property
    def consumed(self) -> Mapping[str, bool]:
        """Queue → whether it is being consumed now."""
        ...

    @property
    def breakers(self) -> Mapping[str, str | None]:
        """Dependency of handlers → why it is away; None if it answers, as far as known."""
        ...

    async def problems(self) -> dict[str, str]:
        """What keeps the process from working, by part."""
        ...

    async def read_depths(self, queues: Collection[str]) -> Mapping[str, QueueDepth]:
        """Reads the depth of each queue; leaves out queues that are missing, or all of them in an outage."""
        ...


class Database:
    """The service's database, as handlers, routes and background tasks use it."""

    process: ServiceProcess | None = None
    """Set by the service; None in a program that only uses the database."""

    def __init__(self, connections: Connections, relay: Relay, service: str, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.service = service
        self._connections = connections
        self._relay = relay

    @property
    def broker_url(self) -> str:
        """The address of the service's broker, with the password."""
        return self._relay.publisher.url

    @property
    def records_sent(self) -> bool:
        """Whether this process records which messages it sends."""
        return self._relay.records_sent

    @cached_property
    def doctor(self) -> Doctor:
        """Probes this database and the service's broker."""
        return Doctor(self._connections, self._relay.publisher, self.service, self.catalogue)

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """A connection for reading, or for a statement that needs no transaction.

        Raises:
            DatabaseUnavailableError: the database is unavailable.
        """
        return self._connections.connection()

    def whole(self) -> AbstractAsyncContextManager[UnitOfWork]:
        """One transaction for all that is done in a block: see `Connections.whole`."""
        return self._connections.whole()

    def joined(self) -> UnitOfWork | None:
        """The whole that is open around the caller."""
        return self._connections.joined()

    @asynccontextmanager
    async def transaction(
        self, trace_headers: Mapping[UUID, TraceHeaders] = _NO_TRACES
    ) -> AsyncIterator[Transaction]:
        """Opens a transaction that commits at the end of the block, then publishes its messages.

        Raises:
            DatabaseUnavailableError: the database is unavailable; after an outage during the commit, its outcome is unknown.
        """
        async with self.connection() as connection, connection.transaction():
            tx = Transaction(connection, self.service, self.catalogue, trace_headers)
            yield tx
            held = await self._relay.write(connection, tx.outgoing) if tx.outgoing else False
        if (whole := self.joined()) is not None and tx.outgoing:
            whole.correlation_id = whole.correlation_id or tx.outgoing[0].correlation_id
        self.once_committed(partial(self._submit, tx.outgoing, held=held))

    def _submit(self, outgoing: list[OutboxRow], *, held: bool) -> None:
        if fail_points.ARMED:
            fail_points.reach("transaction.committed")
        if outgoing:
            self._relay.submit(outgoing, held=held)

    @asynccontextmanager
    async def attempt(self, asked: IdempotentRequest) -> AsyncIterator[_Attempt]:
        """Opens one transaction for a request's effects and its answer: see `chassis.http.idempotency`.

        Raises:
            DatabaseUnavailableError: the database is unavailable; after an outage during the commit, its outcome is unknown.
        """
        async with self.whole() as whole:
            if fail_points.ARMED:
                whole.afterwards.append(partial(fail_points.reach, "answer.committed"))
            under_way = not await answers.claim(whole.connection, asked)
            kept = await answers.find(whole.connection, asked)
            yield _Attempt(asked, whole, under_way, kept)

    def once_committed(self, call: Callable[[], None]) -> None:
        """Calls `call` after the commit: at once, unless a unit of work is open around the caller."""
        if (whole := self.joined()) is not None:
            whole.afterwards.append(call)
        else:
            call()

    def publish_due(self) -> None:
        """Has this process look for due rows of the outbox at once, after the commit; others look every ten seconds."""
        self.once_committed(self._relay.wake)

    def count_cancelled(self, queues: Sequence[str]) -> None:
        """Counts retries of these queues as cancelled, after the commit."""
        self.once_committed(partial(self._relay.counts.cancelled.update, queues))

    async def answers(self) -> bool:
        return await self._connections.answers()

    async def wait_until_available(self) -> None:
        await self._connections.wait_until_available()


def attempt_headers(attempt: int, replay_of: UUID | None, trace: TraceHeaders) -> HeaderValues:
    """The headers of a message that returns to its queue."""
    headers: HeaderValues = {header.ATTEMPT: attempt, **trace}
    if replay_of is not None:
        headers[header.REPLAY_OF] = str(replay_of)
    return headers
