"""Turns deliveries into incoming messages, each with its handler or its failure."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from opentelemetry.trace import INVALID_SPAN, Span

from envelope import Message, new_event_id
from messaging import headers as header
from messaging.broker.deliveries import Delivery
from messaging.flow.codec import DeliveryReader, InvalidMessage, NotAnEnvelope, describe_unreadable
from messaging.flow.failures import Failure
from messaging.flow.handlers import GroupedRecord, Handler, Record
from messaging.observing import spans
from messaging.storage.origins import DeadLetterOrigin
from messaging.storage.outbox import OutboxRow
from messaging.topology import RETURNS


@dataclass(slots=True, eq=False)
class IncomingMessage:
    """One message in this process, from delivery to outcome."""

    delivery: Delivery
    event_id: UUID
    type: str
    correlation_id: str | None
    caused_by: UUID | None = None
    message: Message | None = None
    """None if the body is no message that this queue handles: then `failure` says why, or the event is for other systems."""
    handler: Handler | None = None
    attempt: int = 1
    waits: int = 0
    """How often it has waited for a dependency since its last attempt."""
    first_failed_at: datetime | None = None
    replay_of: UUID | None = None
    failure: Failure | None = None
    """Why this attempt failed, once it has."""
    handler_ran: tuple[float, float] | None = None
    """When the single handler began and ended, by `perf_counter`."""
    record: Record | GroupedRecord[Any] | None = None
    """The single handler's result, still to be written."""
    marked: bool = False
    """Whether it runs under a crash marker."""
    origin: DeadLetterOrigin | None = None
    """For a replay by another service: the dead letter of this service that it repeats."""
    is_refused_replay: bool = False
    """Whether it is a replay that matches no dead letter of this service."""
    has_identity: bool = True
    """Whether its body is an envelope, so that `event_id` is its own."""
    span: Span = INVALID_SPAN

    def row(self) -> OutboxRow:
        """The unchanged message as an outbox row."""
        return OutboxRow("", "", self.event_id, self.type, self.correlation_id, self.delivery.body)

    def delay_ms(self, now: datetime) -> int | None:
        """Milliseconds since the message was made; None if unknown."""
        return None if self.message is None else round((now - self.message.timestamp).total_seconds() * 1000)


def read(
    delivery: Delivery, reader: DeliveryReader, table: dict[str, Handler], queue: str, *, traced: bool
) -> IncomingMessage | NotAnEnvelope:
    """Reads a delivery as an incoming message; `NotAnEnvelope` if the broker should dead-letter it."""
    headers = delivery.headers
    try:
        decoded = reader(delivery)
    except Exception as error:  # noqa: BLE001  (a stranger's bytes must not end the service)
        return NotAnEnvelope(f"cannot be read: {error!r}")
    if isinstance(decoded, NotAnEnvelope):
        return decoded if _may_be_rejected(delivery) else _without_envelope(delivery, decoded)
    head = decoded.head if isinstance(decoded, InvalidMessage) else decoded
    incoming = IncomingMessage(delivery, head.event_id, head.type, head.correlation_id, head.causation_id)
    if headers:  # a first attempt has none
        incoming.attempt = header.integer(headers, header.ATTEMPT, default=1)
        incoming.waits = header.integer(headers, header.WAITS, default=0)
        incoming.first_failed_at = header.moment(headers, header.FAILURE_FIRST_AT)
        # On other routes, a sender could make this consumer report a dead letter as handled.
        if delivery.came_by(RETURNS):
            incoming.replay_of = header.identity(headers, header.REPLAY_OF)
    if traced or header.TRACEPARENT in headers:
        incoming.span = spans.start_process_span(
            head,
            queue,
            origin=delivery.origin(),
            headers=headers,
            size=len(delivery.body),
            attempt=incoming.attempt,
        )
    if isinstance(decoded, InvalidMessage):
        # An integration event of a newer version needs no work here and no repair.
        unheard = decoded.failure.reason is header.Reason.UNKNOWN_TYPE and header.FOR_OTHERS in headers
        incoming.failure = None if unheard else decoded.failure
        return incoming
    incoming.message = decoded
    incoming.handler = table[decoded.type]
    return incoming


def _may_be_rejected(delivery: Delivery) -> bool:
    """Whether the broker itself can dead-letter the delivery.

    RabbitMQ 3.10 takes any `x-death` for its own. A forged one ends its dead-letter worker, and after a few such messages it can declare
    no quorum queue any more.
    """
    return delivery.readable and header.BROKER_DEATHS not in delivery.headers


def _without_envelope(delivery: Delivery, decoded: NotAnEnvelope) -> IncomingMessage:
    """An incoming message that has failed and has a new id, so that it is dead-lettered with new headers."""
    incoming = IncomingMessage(delivery, new_event_id(), "unknown", None)
    incoming.has_identity = False
    incoming.failure = Failure(decoded.reason, "NotAnEnvelope", describe_unreadable(decoded))
    return incoming


def utc_now() -> datetime:
    return datetime.now(UTC)
