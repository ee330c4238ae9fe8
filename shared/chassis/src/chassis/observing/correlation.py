"""Copies the chain's attributes to every span, those of libraries included.

A module of its own, because it imports the SDK, which is loaded only if tracing is on.
"""

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor

from chassis.observing.chains import CORRELATION_ID, carried_by, chain_of


class CorrelationOnEverySpan(SpanProcessor):
    """Gives each span without a chain the attributes of its parent, or else of the running span."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if chain_of(span) is not None:
            return
        for above in (trace.get_current_span(parent_context), trace.get_current_span()):
            if CORRELATION_ID in (carried := carried_by(above)):
                span.set_attributes(carried)
                return
