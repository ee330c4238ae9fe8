"""An event as it is kept, and what a reader wants of them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    position: int
    """Its place in the log: events that were stored later have higher ones."""
    event_id: UUID
    type: str
    source: str
    """The service that sent it."""
    brand: str | None
    """Slug; None: it concerns no single brand."""
    correlation_id: str | None
    causation_id: UUID | None
    happened_at: datetime
    payload: str
    """JSON."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What a reader wants; None means any."""

    brands: frozenset[str] | None = None
    """Only events of these brands; those of no single brand are left out then."""
    types: frozenset[str] | None = None
    correlation_id: str | None = None

    def matches(self, event: LoggedEvent) -> bool:
        return (
            (self.brands is None or event.brand in self.brands)
            and (self.types is None or event.type in self.types)
            and (self.correlation_id is None or event.correlation_id == self.correlation_id)
        )


@dataclass(frozen=True, slots=True)
class LogPage:
    events: list[LoggedEvent]
    position: int
    """Up to here everything was looked at; reading goes on after it."""
    is_more: bool
    """Whether events may follow that were not looked at; a page may be empty and yet others follow."""


def visible_filter(
    visible: Collection[str] | None,
    *,
    brand: str | None = None,
    types: Collection[str] | None = None,
    correlation_id: str | None = None,
) -> EventFilter:
    """The filter of a caller who may see the brands `visible` (None: all), for the brand that it names."""
    brands = visible
    if brand is not None:
        brands = [brand] if visible is None or brand in visible else []
    return EventFilter(
        None if brands is None else frozenset(brands),
        None if types is None else frozenset(types),
        correlation_id,
    )
