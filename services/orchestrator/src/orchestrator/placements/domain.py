"""What is known of an article at a target that is not its home. Pure: no I/O, no clock, no randomness."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class PlacementState(StrEnum):
    ASKED = "asked"
    """Asked for, and not answered yet."""
    PUBLISHED = "published"
    FAILED = "failed"
    """As it was asked for last, be it to be published or to be withdrawn."""
    WITHDRAWN = "withdrawn"
    """Asked to be taken away there; only a failure is answered."""


@dataclass(frozen=True, slots=True)
class Placement:
    target: str
    state: PlacementState
    url: str | None
    reason: str | None
    asked_at: datetime
    answered_at: datetime | None


def further(targets: Sequence[str], home: str) -> tuple[str, ...]:
    """Those beside the article's home."""
    return tuple(target for target in targets if target != home)


def failures(placements: Sequence[Placement]) -> str | None:
    """In words, at which targets an article is not as it should be."""
    missing = [f"{each.target}: {each.reason}" for each in placements if each.state is PlacementState.FAILED]
    return f"not published at {'; '.join(missing)}" if missing else None
