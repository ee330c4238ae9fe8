"""Traces of chains, propagated between processes as W3C trace context and baggage.

Without `OTEL_EXPORTER_OTLP_ENDPOINT` there are no spans and almost no cost; traces from outside are still propagated. Every
span has the attribute `correlation_id` (`chassis.observing.chains`). `chassis.http.spans` makes the spans of HTTP requests.
"""

import os
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context as OtelContext
from opentelemetry.trace import INVALID_SPAN, Link, Span, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from chassis import redaction, secret_files
from chassis.observing import chains

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"
BAGGAGE: Final = "baggage"
FLUSH_SECONDS: Final = 5.0
"""How long the shutdown waits for a receiver of spans that does not answer."""
MAX_STACK: Final = 4_000
"""Characters of a stack trace in a span, from its end, which has the error and the nearest frames."""
MAX_DETAIL: Final = 1_000
_PROPAGATOR: Final = TraceContextTextMapPropagator()
_BAGGAGE: Final = W3CBaggagePropagator()
_ALSO_FOR: Final = otel_context.create_key("also-for")

Attributes = dict[str, str | int | bool]
TraceHeaders = dict[str, str]


# -- on and off ------------------------------------------------------------------------------------------------------


def configure(service: str, endpoint: str | None, *, version: str | None = None) -> None:
    """Send spans to an OTLP/HTTP endpoint such as `http://jaeger:4318`; without one, tracing stays off.

    `OTEL_BSP_…`, `OTEL_TRACES_SAMPLER`, `OTEL_RESOURCE_ATTRIBUTES` and the other variables of the OpenTelemetry SDK apply.
    Headers, such as a collector's key, may also come from the file in `OTEL_EXPORTER_OTLP_HEADERS_FILE` or
    `OTEL_EXPORTER_OTLP_TRACES_HEADERS_FILE`.

    Raises:
        SecretFileError: such a file is unreadable.
    """
    if endpoint is None:
        return
    # Imported here: the exporter costs some 15 MB that a service without tracing need not pay.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", headers=_headers(os.environ))
    trace.set_tracer_provider(provider(BatchSpanProcessor(exporter), service, version))


def _headers(environment: Mapping[str, str]) -> dict[str, str] | None:
    """Return the headers for spans, else those for all signals, as the SDK does; None without any."""
    from opentelemetry.util.re import parse_env_headers  # noqa: PLC0415

    for variable in ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"):
        if headers := secret_files.read(environment, variable):
            return dict(parse_env_headers(headers, liberal=True))
    return None


def provider(processor: "SpanProcessor", service: str, version: str | None = None) -> "TracerProvider":
    """Build the tracer provider of a service; `processor` receives its spans."""
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415

    from chassis.observing.correlation import CorrelationOnEverySpan  # noqa: PLC0415

    about = {"service.name": service} | ({"service.version": version} if version else {})
    made = TracerProvider(resource=Resource.create(about))
    made.add_span_processor(CorrelationOnEverySpan())
    made.add_span_processor(processor)
    return made


def flush() -> None:
    """Send buffered spans within `FLUSH_SECONDS`; call it once at shutdown."""
    shutdown = getattr(trace.get_tracer_provider(), "shutdown", None)
    if shutdown is not None:
        # The exporter's own timeout exceeds the time that a container has to stop.
        sending = threading.Thread(target=shutdown, name="last spans", daemon=True)
        sending.start()
        sending.join(FLUSH_SECONDS)


def active() -> bool:
    """Return whether this process makes spans."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def tracer() -> trace.Tracer:
    return trace.get_tracer("chassis")


# -- context ---------------------------------------------------------------------------------------------------------


def current_headers() -> TraceHeaders:
    """Return the running span as headers for an outgoing message; empty without tracing."""
    return headers_of(trace.get_current_span())


def headers_of(span: Span) -> TraceHeaders:
    """Return the headers that continue `span` in another process: trace context and baggage."""
    if not span.get_span_context().is_valid:
        return {}
    carrier: TraceHeaders = {}
    _PROPAGATOR.inject(carrier, trace.set_span_in_context(span))
    return carrier | baggage_of(chains.carried_by(span))


def kept_of(headers: Mapping[str, Any]) -> TraceHeaders:
    """Return those headers of a message or request that continue its trace."""
    return {name: text for name in (TRACEPARENT, TRACESTATE, BAGGAGE) if (text := _text(headers.get(name)))}


def baggage_of(carried: Mapping[str, str]) -> TraceHeaders:
    """Return the baggage header with these attributes; empty without any."""
    context, carrier = OtelContext(), TraceHeaders()
    for name, value in sorted(carried.items()):
        context = baggage.set_baggage(name, value, context)
    _BAGGAGE.inject(carrier, context)
    return carrier


def carried_in(headers: Mapping[str, Any]) -> dict[str, str]:
    """Return the inheritable attributes in the baggage of a message or request."""
    text = _text(headers.get(BAGGAGE))
    if not text:
        return {}
    return chains.carried_in(baggage.get_all(_BAGGAGE.extract({BAGGAGE: text}, OtelContext())))


def context_from(headers: Mapping[str, Any]) -> OtelContext | None:
    """Return the trace context in the headers of a message or request, or None."""
    carrier = {name: text for name in (TRACEPARENT, TRACESTATE) if (text := _text(headers.get(name)))}
    if TRACEPARENT not in carrier:
        return None
    return _PROPAGATOR.extract(carrier, OtelContext())


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return value if isinstance(value, str) else None


@contextmanager
def activated(span: Span) -> Iterator[None]:
    """Make `span` the current one for the block; the block does not end it."""
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
    """Attribute the work of the block to all contexts: it is part of the first one's trace and linked to the others."""
    others = [trace.get_current_span(other).get_span_context() for other in contexts[1:]]
    links = tuple(Link(other) for other in others if other.is_valid)
    token = otel_context.attach(otel_context.set_value(_ALSO_FOR, links, contexts[0]))
    try:
        yield
    finally:
        otel_context.detach(token)


def links_to_others() -> Sequence[Link]:
    """Return links to the other contexts of `on_behalf_of`."""
    links = otel_context.get_value(_ALSO_FOR)
    return links if isinstance(links, tuple) else ()


# -- ends of spans -----------------------------------------------------------------------------------------------------


def end_span(span: Span, error: BaseException | None = None) -> None:
    """End a span, as failed if there is an error; an ended span stays as it is."""
    if not span.is_recording():
        return
    if error is not None:
        stack = "".join(traceback.format_exception(error)) if span.is_recording() else ""
        fail_span(span, type(error).__name__, str(error), stack)
    span.end()


def fail_span(span: Span, error_type: str, detail: str, stack: str = "") -> None:
    """Mark a span as failed; add an `exception` event if there is a detail or stack."""
    if not span.is_recording():
        return
    detail = redaction.text(detail[: 8 * MAX_DETAIL])[:MAX_DETAIL]
    span.set_attribute("error.type", error_type)
    span.set_status(Status(StatusCode.ERROR, detail))
    if detail or stack:
        told = {
            "exception.type": error_type,
            "exception.message": detail,
            "exception.stacktrace": redaction.text(stack[-8 * MAX_STACK :])[-MAX_STACK:],
        }
        span.add_event("exception", {name: text for name, text in told.items() if text})
