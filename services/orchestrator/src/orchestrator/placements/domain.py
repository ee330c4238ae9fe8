"""The state of an article at a further target. Pure: no I/O, no clock, no randomness."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class PlacementState(StrEnum):
    ASKED = "asked"
    """Requested, not answered yet."""
    PUBLISHED = "published"
    FAILED = "failed"
    """The last publication or withdrawal failed."""
    WITHDRAWN = "withdrawn"
    """Withdrawal requested; the target answers only if it fails."""


@dataclass(frozen=True, slots=True)
class Placement:
    target: str
    state: PlacementState
    url: str | None
    reason: str | None
    asked_at: datetime
    answered_at: datetime | None


def further(targets: Sequence[str], home: str) -> tuple[str, ...]:
    """The targets without the article's home."""
    return tuple(target for target in targets if target != home)


def failures(placements: Sequence[Placement]) -> str | None:
    """A sentence that names the targets that failed; None if none did."""
    missing = [f"{each.target}: {each.reason}" for each in placements if each.state is PlacementState.FAILED]
    return f"not published at {'; '.join(missing)}" if missing else None
