"""`correlation_id` on every span, those of libraries included. Apart, because the SDK is loaded only where it is used."""

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor

from chassis.observing.chains import CORRELATION_ID, chain_of


class CorrelationOnEverySpan(SpanProcessor):
    """A span that does not say to which chain it belongs gets that of its parent, or else of the running span."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if chain_of(span) is not None:
            return
        chain = chain_of(trace.get_current_span(parent_context)) or chain_of(trace.get_current_span())
        if chain is not None:
            span.set_attribute(CORRELATION_ID, chain)
