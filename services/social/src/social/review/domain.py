"""A post as the review sees it. Pure: no I/O, no clock, no randomness."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from review.decisions import RecordedDecision
from review.items import ReviewItem, ScheduledPublication
from review.rules import CHANNEL_POST, FEED_POST, PostState
from social.domain import FeedPost
from social.sending.domain import ChannelPost


class PostDecisionKind(StrEnum):
    """The kind of a decision about a post."""

    APPROVED = "approved"
    SCHEDULED = "scheduled"
    CALLED_OFF = "called_off"
    EDITED = "edited"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class PendingPost:
    """A post under review, or a decided one."""

    post: FeedPost
    number: int
    display_name: str
    """The brand's name in its feed."""
    asked_as: tuple[str, ...]
    """Names of the channel in the command; usually one."""
    correlation_id: str | None
    version: int
    ended: PostState | None
    """Its final state, or SENDING; None while it waits for a decision or its time."""
    publish_at: datetime | None
    since: datetime
    last: RecordedDecision | None
    sent: ChannelPost | None = None
    """The row of a post on another platform."""

    @property
    def state(self) -> PostState:
        return PostState(self.item.state)

    @property
    def item(self) -> ReviewItem:
        beneath = self.ended or PostState.WAITING
        scheduled = None
        if self.ended is None and self.publish_at is not None:
            by = "" if self.last is None else self.last.by
            scheduled = ScheduledPublication(self.version, self.publish_at, by)
        return ReviewItem(
            FEED_POST if self.sent is None else CHANNEL_POST,
            self.post.post_id,
            beneath if scheduled is None else PostState.SCHEDULED,
            beneath,
            newest=self.version,
            newest_note=str(self.last),
            published=self.version if beneath in {PostState.POSTED, PostState.SENDING} else None,
            scheduled=scheduled,
            last=self.last,
        )
