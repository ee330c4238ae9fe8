"""Rules of decisions about posts. Pure: no I/O, no clock, no randomness.

A repeated request changes nothing. If two people decide at once, the second one's outdated decision raises an error that says what
happened.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from social.channels import CHANNELS
from social.cutting import clean_line
from social.domain import FeedPost, TextCount
from social.sending.domain import ChannelPost

MAX_COMMENT: Final = 2000
AT_ONCE: Final = "at once"
"""Comment of an approval without a slot."""
MAX_TEXT: Final = 10_000
"""Most characters in a request; channels allow fewer."""


class PostState(StrEnum):
    WAITING = "waiting"
    SCHEDULED = "scheduled"
    """Goes out at a set time."""
    SENDING = "sending"
    """On its way to another platform."""
    POSTED = "posted"
    FAILED = "failed"
    """Sending to another platform failed; a person may retry it."""
    IN_DOUBT = "in_doubt"
    """May be out on another platform; a person has to check (`/v1/receipts`)."""
    CALLED_OFF = "called_off"
    """A person called it off, or its article is gone."""
    REJECTED = "rejected"


class PostDecisionKind(StrEnum):
    """The kind of a decision about a post."""

    APPROVED = "approved"
    SCHEDULED = "scheduled"
    CALLED_OFF = "called_off"
    EDITED = "edited"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class PostDecision:
    kind: PostDecisionKind
    version: int
    comment: str
    by: str
    at: datetime

    def __str__(self) -> str:
        why = f": {self.comment}" if self.comment else ""
        what = self.kind.value.replace("_", " ")
        return f"version {self.version} was {what} by {self.by} on {told(self.at)}{why}"


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
    last: PostDecision | None
    sent: ChannelPost | None = None
    """The row of a post on another platform."""

    @property
    def state(self) -> PostState:
        if self.ended is not None:
            return self.ended
        return PostState.WAITING if self.publish_at is None else PostState.SCHEDULED

    @property
    def is_open(self) -> bool:
        return self.ended is None


class PostConflictError(ValueError):
    """The post has changed since the caller saw it; the message says what happened and what to do."""


class NoSuchVersionError(LookupError):
    """The post has no such version; the message names the newest."""


class UnusableTextError(ValueError):
    """The channel does not allow this text; the message says what to change."""


def approve(
    pending: PendingPost, version: int, publish_at: datetime | None, *, at_once: bool = False
) -> bool:
    """Whether this approval changes anything. The post goes out at `publish_at`, `at_once`, or else in a slot.

    Raises:
        NoSuchVersionError: the version does not exist yet.
        PostConflictError: there is a newer version, or it was rejected.
    """
    if pending.ended in {PostState.POSTED, PostState.SENDING} and version == pending.version:
        return False
    _demand_open(pending)
    _demand_newest(pending, version)
    if (
        publish_at is None
        and pending.publish_at is not None
        and _is_last_kind(pending, PostDecisionKind.APPROVED)
    ):
        # It has its slot, or is about to be sent.
        return at_once and pending.last is not None and pending.last.comment != AT_ONCE
    return publish_at is None or publish_at != pending.publish_at


def unschedule(pending: PendingPost) -> bool:
    """Whether there is a set time to cancel.

    Raises:
        PostConflictError: it was posted or rejected.
    """
    _demand_open(pending)
    return pending.publish_at is not None


def reject(pending: PendingPost, version: int, *, reason: str, by: str) -> bool:
    """Whether this rejection changes anything.

    Raises:
        NoSuchVersionError: the version does not exist yet.
        PostConflictError: there is a newer version, it was posted, or rejected for another reason.
    """
    if pending.ended is PostState.REJECTED and _is_last(
        pending, PostDecisionKind.REJECTED, version, reason, by
    ):
        return False
    _demand_open(pending)
    _demand_newest(pending, version)
    return True


def retry(pending: PendingPost) -> bool:
    """Whether this retry changes anything.

    Raises:
        PostConflictError: it neither failed nor is on its way.
    """
    if pending.state in {PostState.SCHEDULED, PostState.SENDING} and pending.sent is not None:
        return False
    if pending.state is not PostState.FAILED:
        hint = "; look at its receipt: brandctl receipts list" if pending.state is PostState.IN_DOUBT else ""
        raise PostConflictError(f"it is {pending.state.value.replace('_', ' ')}, it has not failed{hint}")
    return True


def edit(pending: PendingPost, version: int, text: str, *, comment: str, by: str) -> bool:
    """Whether this text makes a new version; an edit also cancels a set time.

    Raises:
        NoSuchVersionError: the version does not exist yet.
        PostConflictError: there is a newer version, or it was posted or rejected.
    """
    same = text == pending.post.text
    if same and pending.is_open and _is_last(pending, PostDecisionKind.EDITED, version + 1, comment, by):
        return False
    _demand_open(pending)
    _demand_newest(pending, version)
    return not same


def fit(channel: str, text: str) -> str:
    """The cleaned text, with its lines and paragraphs.

    Raises:
        UnusableTextError: it is blank, or exceeds a limit of the channel.
    """
    lines = [clean_line(line) for line in text.splitlines()]
    fitting = "\n".join(lines).strip()
    while "\n\n\n" in fitting:
        fitting = fitting.replace("\n\n\n", "\n\n")
    if not fitting:
        raise UnusableTextError("text: is blank; reject the post if it should not go out")
    for count in counts(channel, fitting):
        if count.used > count.maximum:
            label = CHANNELS[channel].network.title
            raise UnusableTextError(
                f"text: has {count.used:,} {count.unit}, and {label} takes {count.maximum:,}; shorten it"
            )
    return fitting


def counts(channel: str, text: str) -> tuple[TextCount, ...]:
    """The length of a text by each limit of a channel."""
    limits = CHANNELS[channel].limits if channel in CHANNELS else ()
    return tuple(TextCount(limit.unit, limit.count(text), limit.maximum) for limit in limits)


def told(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _demand_open(pending: PendingPost) -> None:
    if not pending.is_open:
        what = pending.last or f"it is {pending.state.value.replace('_', ' ')}"
        raise PostConflictError(f"{what}; it waits for no decision")


def _demand_newest(pending: PendingPost, version: int) -> None:
    if version > pending.version:
        raise NoSuchVersionError(
            f"there is no version {version} of post {pending.post.post_id}; the newest is {pending.version}"
        )
    if version < pending.version:
        raise PostConflictError(f"{pending.last}, after version {version}: look at that one first")


def _is_last_kind(pending: PendingPost, kind: PostDecisionKind) -> bool:
    return pending.last is not None and pending.last.kind is kind


def _is_last(pending: PendingPost, kind: PostDecisionKind, version: int, comment: str, by: str) -> bool:
    last = pending.last
    return last is not None and (last.kind, last.version, last.comment, last.by) == (
        kind,
        version,
        comment,
        by,
    )
