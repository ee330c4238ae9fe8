"""Traces: one trace per chain, carried over broker, outbox, retries and replays as W3C trace context.

Nothing is exported, and next to nothing is spent, until `OTEL_EXPORTER_OTLP_ENDPOINT` is set; a trace that somebody
else has begun is still passed on. Names and attributes follow the OpenTelemetry conventions for messaging (1.44). Every
span has the attribute `correlation_id`. The spans of HTTP requests are made in `messaging.http_spans`.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context as OtelContext
from opentelemetry.trace import INVALID_SPAN, Link, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from envelope import EnvelopeHead
from messaging import headers as header
from messaging.codec import Message
from messaging.deliveries import Delivery
from messaging.outbox import OutboxRow

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

CORRELATION_ID: Final = "correlation_id"
FLUSH_SECONDS: Final = 5.0
"""How long the end of a service waits for a receiver of spans that does not answer."""
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_ALSO_FOR: Final = otel_context.create_key("also-for")

Attributes = dict[str, str | int | bool]
TraceHeaders = dict[str, str]

_broker: Final[Attributes] = {}
"""Where the broker of this process is, as every span about messages says."""


# -- on and off ------------------------------------------------------------------------------------------------------


def configure(service: str, endpoint: str | None, broker_url: str) -> None:
    """Sends spans to an OTLP/HTTP endpoint such as `http://jaeger:4318`; without one, tracing stays off.

    `OTEL_BSP_…`, `OTEL_TRACES_SAMPLER` and the other variables of the OpenTelemetry SDK apply.
    """
    if endpoint is None:
        return
    # Imported here: the exporter costs some 15 MB that a service without tracing need not pay.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    trace.set_tracer_provider(provider(BatchSpanProcessor(exporter), service, broker_url))


def provider(processor: "SpanProcessor", service: str, broker_url: str) -> "TracerProvider":
    """What makes the spans of a service and hands them to `processor`."""
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415

    from messaging.span_correlation import CorrelationOnEverySpan  # noqa: PLC0415

    broker = urlsplit(broker_url)
    _broker.update({"server.address": broker.hostname or "localhost", "server.port": broker.port or 5672})
    made = TracerProvider(resource=Resource.create({"service.name": service}))
    made.add_span_processor(CorrelationOnEverySpan())
    made.add_span_processor(processor)
    return made


def flush() -> None:
    """Sends what is still buffered, within `FLUSH_SECONDS`; called once at shutdown."""
    shutdown = getattr(trace.get_tracer_provider(), "shutdown", None)
    if shutdown is not None:
        # The exporter has a patience of its own, longer than a container is given to stop.
        sending = threading.Thread(target=shutdown, name="last spans", daemon=True)
        sending.start()
        sending.join(FLUSH_SECONDS)


def active() -> bool:
    """Whether this process makes spans at all."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def tracer() -> trace.Tracer:
    return trace.get_tracer("messaging")


# -- context ---------------------------------------------------------------------------------------------------------


def current_headers() -> TraceHeaders:
    """The running span as headers for an outgoing message; empty when nothing is traced."""
    if not trace.get_current_span().get_span_context().is_valid:
        return {}
    carrier: TraceHeaders = {}
    _PROPAGATOR.inject(carrier)
    return carrier


def headers_of(span: Span) -> TraceHeaders:
    carrier: TraceHeaders = {}
    _PROPAGATOR.inject(carrier, trace.set_span_in_context(span))
    return carrier


def context_from(headers: Mapping[str, Any]) -> OtelContext | None:
    """The trace that a message's headers continue; None when they name none."""
    traceparent = header.text(headers, header.TRACEPARENT)
    if traceparent is None:
        return None
    carrier = {header.TRACEPARENT: traceparent}
    if tracestate := header.text(headers, header.TRACESTATE):
        carrier[header.TRACESTATE] = tracestate
    return _PROPAGATOR.extract(carrier, OtelContext())


@contextmanager
def activated(span: Span) -> Iterator[None]:
    """Within the block, spans and log lines belong to `span`; the block does not end it."""
    if span is INVALID_SPAN:
        yield
        return
    token = otel_context.attach(trace.set_span_in_context(span))
    try:
        yield
    finally:
        otel_context.detach(token)


@contextmanager
def on_behalf_of(contexts: Sequence[OtelContext]) -> Iterator[None]:
    """Within the block, the work is that of all these: part of the first one's trace, linked to the others."""
    others = [trace.get_current_span(other).get_span_context() for other in contexts[1:]]
    links = tuple(Link(other) for other in others if other.is_valid)
    token = otel_context.attach(otel_context.set_value(_ALSO_FOR, links, contexts[0]))
    try:
        yield
    finally:
        otel_context.detach(token)


def links_to_others() -> Sequence[Link]:
    """Those on whose behalf the work is done too; see `on_behalf_of`."""
    links = otel_context.get_value(_ALSO_FOR)
    return links if isinstance(links, tuple) else ()


# -- chains ----------------------------------------------------------------------------------------------------------


def chain_of(span: Span) -> str | None:
    """The `correlation_id` that a span carries; None for one that is not recorded here."""
    value = (getattr(span, "attributes", None) or {}).get(CORRELATION_ID)
    return value if isinstance(value, str) else None


def name_chain(correlation_id: str | None) -> None:
    """Tells the running span to which chain it has turned out to belong, unless it knows."""
    span = trace.get_current_span()
    if correlation_id and span.is_recording() and chain_of(span) is None:
        span.set_attribute(CORRELATION_ID, correlation_id)


# -- spans of messages -----------------------------------------------------------------------------------------------


def start_process_span(message: Message | EnvelopeHead, queue: str, delivery: Delivery, attempt: int) -> Span:
    """The span of one attempt at a message, child of whatever sent it."""
    exchange, routing_key = delivery.origin()
    destination = _destination(exchange, routing_key, queue)
    return tracer().start_span(
        f"process {destination}",
        context=context_from(delivery.headers) or OtelContext(),
        kind=SpanKind.CONSUMER,
        attributes={
            **_about(message.event_id, message.type, message.correlation_id),
            **_operation("process", "process", destination, routing_key),
            "messaging.message.body.size": len(delivery.body),
            "brand_engine.attempt": attempt,
        },
    )


def start_publish_span(row: OutboxRow) -> Span:
    """The span of one message on its way to the broker, until the broker has confirmed it."""
    destination = _destination(row.exchange, row.routing_key)
    return tracer().start_span(
        f"publish {destination}",
        context=context_from(row.headers) or OtelContext(),
        kind=SpanKind.PRODUCER,
        attributes={
            **_about(row.event_id, row.type, row.correlation_id),
            **_operation("publish", "send", destination, row.routing_key),
            "messaging.message.body.size": len(row.body),
        },
    )


def replayed(row: OutboxRow, original: Mapping[str, Any]) -> TraceHeaders:
    """Trace headers for a message that does the work of an earlier one again: the trace of that one goes on.

    `original` are the headers the earlier message had. The request for the replay is in a trace of its own, and linked.
    """
    parent = context_from(original)
    if parent is None:
        return current_headers()
    request = trace.get_current_span().get_span_context()
    destination = _destination(row.exchange, row.routing_key)
    span = tracer().start_span(
        f"replay {destination}",
        context=parent,
        kind=SpanKind.PRODUCER,
        links=[Link(request)] if request.is_valid else None,
        attributes={
            **_about(row.event_id, row.type, row.correlation_id),
            **_operation("replay", "create", destination, row.routing_key),
        },
    )
    span.end()
    return headers_of(span)


@contextmanager
def batch_span(queue: str, spans: Sequence[Span]) -> Iterator[None]:
    """The span of the transaction in which the messages of these spans are settled.

    One for each chain among them: child of its first message's span, linked to the others'. It is the running span,
    unless there are several: what happens then belongs to no single one.
    """
    chains: dict[str | None, list[Span]] = {}
    for span in spans:
        if span.is_recording():
            chains.setdefault(chain_of(span), []).append(span)
    if not chains:
        yield
        return
    commits = [
        tracer().start_span(
            f"commit {queue}",
            context=trace.set_span_in_context(first, OtelContext()),
            kind=SpanKind.INTERNAL,
            links=[Link(other.get_span_context()) for other in others],
            attributes={"messaging.batch.message_count": len(spans)} if len(spans) > 1 else None,
        )
        for first, *others in chains.values()
    ]
    try:
        with activated(commits[0] if len(commits) == 1 else INVALID_SPAN):
            yield
    except BaseException as error:
        for commit in commits:
            end_span(commit, error)
        raise
    for commit in commits:
        commit.end()


def end_span(span: Span, error: BaseException | None = None) -> None:
    """Ends a span, as failed if there is an error; one that has ended stays as it is."""
    if not span.is_recording():
        return
    if error is not None:
        fail_span(span, type(error).__name__, str(error))
    span.end()


def fail_span(span: Span, error_type: str, detail: str) -> None:
    span.set_attribute("error.type", error_type)
    span.set_status(Status(StatusCode.ERROR, detail))


def _about(event_id: UUID, message_type: str, correlation_id: str | None) -> Attributes:
    # A message that names no chain is one by itself.
    chain = correlation_id or str(event_id)
    return {
        "messaging.message.id": str(event_id),
        "messaging.message.conversation_id": chain,
        CORRELATION_ID: chain,
        "brand_engine.message.type": message_type,
    }


def _operation(name: str, kind: str, destination: str, routing_key: str) -> Attributes:
    attributes: Attributes = {
        "messaging.system": "rabbitmq",
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": destination,
        **_broker,
    }
    if routing_key:
        attributes["messaging.rabbitmq.destination.routing_key"] = routing_key
    return attributes


def _destination(exchange: str, routing_key: str, queue: str = "") -> str:
    """`exchange:routing key:queue` without what is empty, and without a queue that has the routing key's name."""
    parts = (exchange, routing_key, "" if queue == routing_key else queue)
    return ":".join(part for part in parts if part)
