"""Traces: one trace per chain, carried over broker, outbox, retries and replays as W3C trace context.

Nothing is exported, and next to nothing is spent, until `OTEL_EXPORTER_OTLP_ENDPOINT` is set. Names and attributes
follow the OpenTelemetry conventions for messaging (1.44).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context as OtelContext
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from messaging import headers as header
from messaging.codec import Message

_PROPAGATOR: Final = TraceContextTextMapPropagator()

TraceHeaders = dict[str, str]


def configure(service: str, endpoint: str | None) -> None:
    """Sends spans to an OTLP/HTTP endpoint such as `http://jaeger:4318`; without one, tracing stays off."""
    if endpoint is None:
        return
    # Imported here: the exporter costs some 15 MB that a service without tracing need not pay.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces"))
    )
    trace.set_tracer_provider(provider)


def flush() -> None:
    """Sends what is still buffered; called once at shutdown."""
    shutdown = getattr(trace.get_tracer_provider(), "shutdown", None)
    if shutdown is not None:
        shutdown()


def _tracer() -> trace.Tracer:
    return trace.get_tracer("messaging")


def active() -> bool:
    """Whether this process makes spans at all."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


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
    return _PROPAGATOR.extract(carrier)


def message_attributes(message: Message, destination: str) -> dict[str, str]:
    attributes = {
        "messaging.system": "rabbitmq",
        "messaging.destination.name": destination,
        "messaging.message.id": str(message.event_id),
        "messaging.message.type": message.type,
    }
    if message.correlation_id is not None:
        attributes["messaging.message.conversation_id"] = message.correlation_id
        attributes["correlation_id"] = message.correlation_id
    return attributes


def start_process_span(message: Message, queue: str, headers: Mapping[str, Any], attempt: int) -> Span:
    """The span of one attempt at a message, child of whatever sent it."""
    return _tracer().start_span(
        f"process {queue}",
        context=context_from(headers),
        kind=SpanKind.CONSUMER,
        attributes={
            **message_attributes(message, queue),
            "messaging.operation.name": "process",
            "messaging.operation.type": "process",
            "messaging.attempt": attempt,
        },
    )


def fail_span(span: Span, error_type: str, detail: str) -> None:
    span.set_attribute("error.type", error_type)
    span.set_status(Status(StatusCode.ERROR, detail))


@contextmanager
def batch_span(queue: str, spans: Sequence[Span]) -> Iterator[None]:
    """The span of a transaction over several messages, linked to the span of each."""
    if not any(span.is_recording() for span in spans):
        yield
        return
    with _tracer().start_as_current_span(
        f"commit {queue}",
        kind=SpanKind.INTERNAL,
        links=[Link(span.get_span_context()) for span in spans],
        attributes={"messaging.batch.message_count": len(spans)},
    ):
        yield


@contextmanager
def publish_span(
    exchange: str, routing_key: str, attributes: Mapping[str, str], headers: Mapping[str, Any]
) -> Iterator[TraceHeaders]:
    """The span of one message leaving; yields the headers that its consumer continues from."""
    parent = context_from(headers)
    if parent is None:
        yield {}
        return
    span = _tracer().start_span(
        f"publish {exchange}",
        context=parent,
        kind=SpanKind.PRODUCER,
        attributes={
            **attributes,
            "messaging.system": "rabbitmq",
            "messaging.destination.name": f"{exchange}:{routing_key}",
            "messaging.rabbitmq.destination.routing_key": routing_key,
            "messaging.operation.name": "publish",
            "messaging.operation.type": "send",
        },
    )
    try:
        yield headers_of(span)
    finally:
        span.end()
