"""What every span tells of its work: the `correlation_id` of the chain it belongs to, and what the chain is about.

These attributes are carried on from span to span: within a process by `chassis.observing.correlation`, from process to
process as W3C baggage.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Span

CORRELATION_ID: Final = "correlation_id"
MAX_VALUE: Final = 200
"""Characters of an attribute that is carried on, as of a `correlation_id` in the envelope."""

_carried: Final = {CORRELATION_ID}


def carry(names: Iterable[str]) -> None:
    """From now on these attributes are carried on too; once, before there are spans."""
    _carried.update(names)


def carried_by(span: Span) -> dict[str, str]:
    """What a span carries on; empty for one that is not recorded here."""
    attributes = getattr(span, "attributes", None) or {}
    return {name: value for name in _carried if isinstance(value := attributes.get(name), str)}


def carried_in(values: Mapping[str, object]) -> dict[str, str]:
    """What is to be carried on of values that somebody else has sent."""
    return {
        name: value
        for name in _carried
        if isinstance(value := values.get(name), str) and 0 < len(value) <= MAX_VALUE
    }


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
