"""What a chain of messages may take: until when, and how much money."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import Field

MAX_COST: Final = 1_000_000_000_000
"""Micro-dollars: a million dollars."""
MICROS: Final = 1_000_000
"""Micro-dollars in a dollar."""
MaxCost = Annotated[int, Field(ge=0, le=MAX_COST)]


@dataclass(frozen=True, slots=True)
class ChainLimits:
    """How long the work of a chain may go on, and what it may cost. None: no such limit."""

    deadline: datetime | None = None
    max_cost: int | None = None
    """Micro-dollars, for all paid calls of the chain together."""

    def __bool__(self) -> bool:
        return self.deadline is not None or self.max_cost is not None


NO_LIMITS: Final = ChainLimits()


def deadline_in_words(deadline: datetime) -> str:
    """`3 December 2026, 14:00 UTC`."""
    try:
        deadline = deadline.astimezone(UTC)
    except OverflowError:  # year 1 or 9999, moved out of range by its zone
        return deadline.isoformat()
    return f"{deadline.day} {deadline:%B %Y, %H:%M} UTC"
