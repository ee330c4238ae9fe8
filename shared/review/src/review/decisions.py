"""Decisions about drafts and posts: as they are made, and as they are recorded."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

AT_ONCE: Final = "at once"
"""Comment of an approval that takes no slot."""
AS_SCHEDULED: Final = "as scheduled"
"""Comment of the approval that a due time brings."""
MAX_COMMENT: Final = 2000


class DecisionKind(StrEnum):
    """The kind of a decision; its value is the kind of its record."""

    APPROVE = "approved"
    SCHEDULE = "scheduled"
    """Approve for a time."""
    UNSCHEDULE = "called_off"
    """Cancel the scheduled publication."""
    EDIT = "edited"
    RETURN = "returned"
    """Send back to the writer, with a comment."""
    REJECT = "rejected"
    TAKE_DOWN = "taken_down"
    """Take the page of a published version down."""
    RETRY = "retried"
    """Send a post again that could not be sent; is not recorded."""
    REOPEN = "reopened"
    """Let a rejected post wait again; is not recorded."""
    PUBLISH_DUE = "due"
    """The scheduled time has come; is recorded as an approval by the person who scheduled it."""
    RESUME = "resumed"
    """No writer rewrote a returned version in time; is not recorded."""


@dataclass(frozen=True, slots=True)
class Decision:
    kind: DecisionKind
    by: str = ""
    """Name of the person."""
    version: int | None = None
    """The version that it is about; None: the newest."""
    comment: str = ""
    publish_at: datetime | None = None
    """For SCHEDULE."""
    at_once: bool = False
    """For APPROVE: without a slot."""
    despite_newer: bool = False
    """For APPROVE and SCHEDULE: even if a newer version exists or is being written."""
    stored_as: int | None = None
    """For EDIT: the version that has this very content, which is `version` if the edit changes nothing, or the next one if it
    came before."""


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision as it is stored and shown."""

    decision: str
    version: int
    comment: str
    by: str
    at: datetime

    def __str__(self) -> str:
        why = f": {self.comment}" if self.comment else ""
        what = self.decision.replace("_", " ")
        return f"version {self.version} was {what} by {self.by} on {told(self.at)}{why}"


def told(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
