"""Input and effects of decisions about items."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from review.decisions import RecordedDecision
from review.rules import ReviewRules


@dataclass(frozen=True, slots=True)
class ScheduledPublication:
    """The version and time of a scheduled publication, and who scheduled it."""

    version: int
    publish_at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A draft or a post, as far as decisions depend on it."""

    rules: ReviewRules
    item_id: UUID
    state: str
    """A `DraftState` or a `PostState`."""
    beneath: str
    """The state without the scheduled publication, if there is one; else the same."""
    newest: int
    """Number of the newest version."""
    newest_note: str
    """Who made it and when, for refusals of decisions about an older one."""
    published: int | None = None
    """The version that is published, or on its way."""
    offered: int | None = None
    """A version newer than the published one, which waits for approval."""
    has_page: bool = False
    """Whether there is a page that could be taken down."""
    scheduled: ScheduledPublication | None = None
    last: RecordedDecision | None = None
    """The latest decision; for items that keep their versions, other than an edit."""


class Effect(StrEnum):
    """An act of the service after a decision; the decision, its record and the changed item have the details."""

    PUBLISH = "publish"
    """Publishes the version of the record, in a slot if it has some and the decision does not say `at_once`."""
    SCHEDULE = "schedule"
    """Stores the item's scheduled publication, in place of any other."""
    KEEP_SCHEDULE = "kept"
    """Ends the scheduled publication, which is published now."""
    CALL_OFF_SCHEDULE = "called_off"
    """Ends it, as a person cancelled it."""
    OVERTAKE_SCHEDULE = "overtaken"
    """Ends it, as another decision replaces it."""
    STORE_VERSION = "store_version"
    """Stores the edited content as the version of the record."""
    OFFER = "offer"
    """Stores the item's offered version, or that none is offered any more."""
    REQUEST_REWRITE = "request_rewrite"
    """Sends the comment to the writer, who makes the next version."""
    STOP_REWRITE = "stop_rewrite"
    """Drops a rewrite that comes late."""
    RESUME = "resume"
    """Lets the item wait again, with the comment as a reason."""
    CLOSE = "close"
    """Ends the item for good, and reports that it is rejected."""
    TAKE_DOWN = "take_down"
    SEND_AGAIN = "send_again"
    REOPEN = "reopen"
    """Lets a rejected item wait for a decision again."""
