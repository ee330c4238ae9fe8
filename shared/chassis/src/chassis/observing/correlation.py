"""`correlation_id` and what a chain is about on every span, those of libraries included.

Apart, because the SDK is loaded only where it is used.
"""

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor

from chassis.observing.chains import CORRELATION_ID, carried_by, chain_of


class CorrelationOnEverySpan(SpanProcessor):
    """A span that does not say to which chain it belongs is told by its parent, or else by the running span."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if chain_of(span) is not None:
            return
        for above in (trace.get_current_span(parent_context), trace.get_current_span()):
            if CORRELATION_ID in (carried := carried_by(above)):
                span.set_attributes(carried)
                return
