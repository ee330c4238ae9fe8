"""Which chain a span belongs to: the `correlation_id` that every span carries."""

from collections.abc import Mapping
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Span

CORRELATION_ID: Final = "correlation_id"


def chain_of(span: Span) -> str | None:
    """The `correlation_id` that a span carries; None for one that is not recorded here."""
    value = (getattr(span, "attributes", None) or {}).get(CORRELATION_ID)
    return value if isinstance(value, str) else None


def name_chain(correlation_id: str | None, *, also: Mapping[str, str] | None = None) -> None:
    """Tells the running span to which chain it has turned out to belong, unless it knows.

    `also` are attributes under which the chain is looked for too.
    """
    span = trace.get_current_span()
    if not span.is_recording():
        return
    if correlation_id and chain_of(span) is None:
        span.set_attribute(CORRELATION_ID, correlation_id)
    span.set_attributes(dict(also or {}))
