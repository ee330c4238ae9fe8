"""Span attributes that describe the chain: its `correlation_id` and its subject.

Spans inherit them: within a process through `chassis.observing.correlation`, between processes as W3C baggage.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Span

CORRELATION_ID: Final = "correlation_id"
MAX_VALUE: Final = 200
"""Characters of an inherited attribute, as of a `correlation_id` in the envelope."""

_carried: Final = {CORRELATION_ID}


def carry(names: Iterable[str]) -> None:
    """Make spans inherit these attributes too; call it once, before the first span."""
    _carried.update(names)


def carried_by(span: Span) -> dict[str, str]:
    """Return the inheritable attributes of a span; empty for a span that is not recorded here."""
    attributes = getattr(span, "attributes", None) or {}
    return {name: value for name in _carried if isinstance(value := attributes.get(name), str)}


def carried_in(values: Mapping[str, object]) -> dict[str, str]:
    """Return the valid inheritable attributes among values from outside."""
    return {
        name: value
        for name in _carried
        if isinstance(value := values.get(name), str) and 0 < len(value) <= MAX_VALUE
    }


def chain_of(span: Span) -> str | None:
    """Return the `correlation_id` of a span; None for a span that is not recorded here."""
    value = (getattr(span, "attributes", None) or {}).get(CORRELATION_ID)
    return value if isinstance(value, str) else None


def name_chain(correlation_id: str | None, *, also: Mapping[str, str] | None = None) -> None:
    """Set the chain of the running span unless it has one.

    `also` are further attributes to find the chain by.
    """
    span = trace.get_current_span()
    if not span.is_recording():
        return
    if correlation_id and chain_of(span) is None:
        span.set_attribute(CORRELATION_ID, correlation_id)
    span.set_attributes(dict(also or {}))
