"""Spans of messages: their processing, and their way from outbox to broker.

Broker, outbox, retries and replays carry a trace on. Names and attributes follow the OpenTelemetry conventions for messaging (1.44);
others start with the name of the system. The subject of a message, as defined by the catalogue, is on its spans and on all later
spans of the trace.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from opentelemetry import trace
from opentelemetry.context import Context as OtelContext
from opentelemetry.trace import INVALID_SPAN, Link, Span, SpanKind

from chassis.observing import chains, traces
from chassis.observing.chains import CORRELATION_ID
from chassis.observing.traces import Attributes, TraceHeaders
from envelope import Catalogue, EnvelopeHead, Message, Payload
from messaging.storage.outbox import OutboxRow


@dataclass(slots=True)
class _ProcessAttributes:
    """Attributes of all message spans of this process."""

    system: str = "messaging"
    subject: Mapping[str, str] = field(default_factory=dict)
    """Field of payloads → attribute."""
    broker: Attributes = field(default_factory=dict)


_process: Final = _ProcessAttributes()


def describe_process(catalogue: Catalogue, broker_url: str) -> None:
    """Sets the system's name and the broker's address for spans; call it once, before the first span."""
    broker = urlsplit(broker_url)
    _process.system = catalogue.system
    _process.subject = {name: f"{catalogue.system}.{name}" for name in catalogue.subject}
    chains.carry(_process.subject.values())
    _process.broker = {
        "server.address": broker.hostname or "localhost",
        "server.port": broker.port or 5672,
    }


def start_process_span(
    message: Message | EnvelopeHead,
    queue: str,
    *,
    origin: tuple[str, str],
    headers: Mapping[str, Any],
    size: int,
    attempt: int,
) -> Span:
    """Starts the span of one attempt at a message, as a child of the sender's span.

    `origin` is the exchange and routing key of the publish, `size` the body's bytes, `attempt` counts from 1.
    """
    exchange, routing_key = origin
    destination = _destination(exchange, routing_key, queue)
    return traces.tracer().start_span(
        f"process {destination}",
        context=traces.context_from(headers) or OtelContext(),
        kind=SpanKind.CONSUMER,
        attributes={
            **traces.carried_in(headers),
            **_subject(message.payload),
            **_about(message.event_id, message.type, message.correlation_id),
            **_operation("process", "process", destination, routing_key),
            "messaging.message.body.size": size,
            f"{_process.system}.attempt": attempt,
        },
    )


def start_publish_span(row: OutboxRow) -> Span:
    """Starts the span of one publish; it ends with the broker's confirm."""
    destination = _destination(row.exchange, row.routing_key)
    return traces.tracer().start_span(
        f"publish {destination}",
        context=traces.context_from(row.headers) or OtelContext(),
        kind=SpanKind.PRODUCER,
        attributes={
            **traces.carried_in(row.headers),
            **_about(row.event_id, row.type, row.correlation_id),
            **_operation("publish", "send", destination, row.routing_key),
            "messaging.message.body.size": len(row.body),
        },
    )


def with_subject(trace_headers: TraceHeaders, payload: Payload) -> TraceHeaders:
    """Adds the payload's subject to trace headers; empty headers stay empty."""
    if not trace_headers:
        return trace_headers
    known = traces.carried_in(trace_headers)
    told = known | _subject(payload)
    return trace_headers if told == known else trace_headers | traces.baggage_of(told)


def start_linked_trace(
    message: Message, exchange: str, routing_key: str, *, linked_to: TraceHeaders
) -> TraceHeaders:
    """Starts a trace of its own for a message, linked to another trace if given; returns its headers."""
    if not traces.active():
        return with_subject(linked_to, message.payload)
    sender = trace.get_current_span(traces.context_from(linked_to) or OtelContext()).get_span_context()
    destination = _destination(exchange, routing_key)
    span = traces.tracer().start_span(
        f"create {destination}",
        context=OtelContext(),
        kind=SpanKind.PRODUCER,
        links=[Link(sender)] if sender.is_valid else None,
        attributes={
            **_subject(message.payload),
            **_about(message.event_id, message.type, message.correlation_id),
            **_operation("create", "create", destination, routing_key),
        },
    )
    span.end()
    return traces.headers_of(span)


def start_chain_trace(name: str, correlation_id: str) -> TraceHeaders:
    """Starts a trace for a chain without a request or message; returns its headers, empty without tracing."""
    if not traces.active():
        return {}
    span = traces.tracer().start_span(
        name, context=OtelContext(), kind=SpanKind.INTERNAL, attributes={CORRELATION_ID: correlation_id}
    )
    span.end()
    return traces.headers_of(span)


def start_replay_trace(row: OutboxRow, original: Mapping[str, Any]) -> TraceHeaders:
    """Continues the trace of an earlier message for its replay; returns the headers.

    `original` are the headers of the earlier message. The span links to the trace of the request for the replay.
    """
    parent = traces.context_from(original)
    if parent is None:
        return traces.current_headers()
    request = trace.get_current_span().get_span_context()
    destination = _destination(row.exchange, row.routing_key)
    span = traces.tracer().start_span(
        f"replay {destination}",
        context=parent,
        kind=SpanKind.PRODUCER,
        links=[Link(request)] if request.is_valid else None,
        attributes={
            **traces.carried_in(original),
            **_about(row.event_id, row.type, row.correlation_id),
            **_operation("replay", "create", destination, row.routing_key),
        },
    )
    span.end()
    return traces.headers_of(span)


@contextmanager
def batch_span(queue: str, spans: Sequence[Span]) -> Iterator[None]:
    """Opens the span of the transaction that settles the messages of these spans.

    It opens one span per trace: a child of its first message's span, linked to the others. A single span is the current one; of several
    none is, as the work belongs to no single trace.
    """
    by_trace: dict[int, list[Span]] = {}
    for span in spans:
        if span.is_recording():
            by_trace.setdefault(span.get_span_context().trace_id, []).append(span)
    if not by_trace:
        yield
        return
    commits = [
        traces.tracer().start_span(
            f"commit {queue}",
            context=trace.set_span_in_context(first, OtelContext()),
            kind=SpanKind.INTERNAL,
            links=[Link(other.get_span_context()) for other in others],
            attributes={
                **_in_common(first, others),
                **({"messaging.batch.message_count": len(spans)} if len(spans) > 1 else {}),
            },
        )
        for first, *others in by_trace.values()
    ]
    try:
        with traces.activated(commits[0] if len(commits) == 1 else INVALID_SPAN):
            yield
    except BaseException as error:
        for commit in commits:
            traces.end_span(commit, error)
        raise
    for commit in commits:
        commit.end()


def _subject(payload: Payload | Mapping[str, Any]) -> dict[str, str]:
    values = payload if isinstance(payload, Mapping) else payload.__dict__
    told = {
        attribute: str(value)
        for name, attribute in _process.subject.items()
        if (value := values.get(name)) is not None
    }
    return chains.carried_in(told)


def _in_common(first: Span, others: Sequence[Span]) -> dict[str, str]:
    """The subject attributes that all spans share."""
    common = set(chains.carried_by(first).items())
    for other in others:
        common &= chains.carried_by(other).items()
    return dict(common)


def _about(event_id: UUID, message_type: str, correlation_id: str | None) -> Attributes:
    # A message that names no chain is one by itself.
    chain = correlation_id or str(event_id)
    return {
        "messaging.message.id": str(event_id),
        "messaging.message.conversation_id": chain,
        CORRELATION_ID: chain,
        f"{_process.system}.message.type": message_type,
    }


def _operation(name: str, kind: str, destination: str, routing_key: str) -> Attributes:
    attributes: Attributes = {
        "messaging.system": "rabbitmq",
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": destination,
        **_process.broker,
    }
    if routing_key:
        attributes["messaging.rabbitmq.destination.routing_key"] = routing_key
    return attributes


def _destination(exchange: str, routing_key: str, queue: str = "") -> str:
    """`exchange:routing key:queue` without empty parts, and without a queue that equals the routing key."""
    parts = (exchange, routing_key, "" if queue == routing_key else queue)
    return ":".join(part for part in parts if part)
