"""Decisions about an article, and what each changes. Pure: no I/O, no clock, no randomness.

Two people may decide at the same time, and a request may come twice. The same decision again changes nothing. A decision about
an outdated state is refused with the reason.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

WRITER: Final = "writer"
"""Author of versions that no person made."""
MAX_COMMENT: Final = 2000


class DraftDecisionKind(StrEnum):
    """The kind of a decision."""

    APPROVED = "approved"
    RETURNED = "returned"
    EDITED = "edited"
    REJECTED = "rejected"
    TAKEN_DOWN = "taken_down"
    SCHEDULED = "scheduled"
    """Approved for a time; this and the next come from the scheduled publication, not from the list of decisions."""
    CALLED_OFF = "called_off"
    """The scheduled publication was cancelled."""

    def __str__(self) -> str:
        return self.value.replace("_", " ")


class DraftState(StrEnum):
    WAITING = "waiting"
    """Waits for a person's decision."""
    SCHEDULED = "scheduled"
    """Approved for a time."""
    RETURNED = "returned"
    """Returned: a model writes it again, then it waits."""
    REJECTED = "rejected"
    APPROVED = "approved"
    """Published or about to be; also an article that needed no review."""
    CORRECTION = "correction"
    """Approved, and a newer version waits for approval."""
    TAKEN_DOWN = "taken_down"
    """Its page was taken down."""


@dataclass(frozen=True, slots=True)
class LatestDraftDecision:
    """The latest decision about an article other than an edit."""

    kind: DraftDecisionKind
    version: int
    comment: str
    by: str
    at: datetime

    def __str__(self) -> str:
        why = f": {self.comment}" if self.comment else ""
        return f"version {self.version} was {self.kind} by {self.by} on {told(self.at)}{why}"


@dataclass(frozen=True, slots=True)
class ScheduledPublication:
    """The version and time of a scheduled publication."""

    version: int
    publish_at: datetime
    made_by: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class ReviewedDraft:
    """The state of an article that decisions depend on."""

    content_id: UUID
    brand_slug: str
    keyword: str
    research_id: UUID
    address: str
    """The last part of its page's address, or the one it would get."""
    title: str
    word_count: int
    stands: int
    """The version in force: the newest of a waiting draft, the approved one of an approved article."""
    newest: int
    newest_by: str
    newest_at: datetime
    held_for: tuple[str, ...]
    decision: DraftDecisionKind | None
    offered: int | None
    """A newer version of an approved article that waits for approval."""
    since: datetime
    """When it began to wait."""
    published_url: str | None
    last: LatestDraftDecision | None
    appointment: ScheduledPublication | None = None

    @property
    def state(self) -> DraftState:
        if self.decision is DraftDecisionKind.REJECTED:
            return DraftState.REJECTED
        if self.decision is DraftDecisionKind.TAKEN_DOWN:
            return DraftState.TAKEN_DOWN
        if self.appointment is not None:
            return DraftState.SCHEDULED
        if self.held_for:
            return DraftState.RETURNED if self.decision is DraftDecisionKind.RETURNED else DraftState.WAITING
        return DraftState.APPROVED if self.offered is None else DraftState.CORRECTION

    @property
    def is_approved(self) -> bool:
        """Whether a version is approved. It may then be corrected or taken down, but not rejected."""
        return not self.held_for


class DraftDecidedError(ValueError):
    """The draft's state has changed since the request was made; the message says how, and what to do."""


class NoSuchVersionError(LookupError):
    """The article has no version of this number; the message names the newest."""


def approve(draft: ReviewedDraft, version: int, *, despite_newer: bool) -> bool:
    """Whether this approval changes anything.

    Raises:
        NoSuchVersionError: there is no such version.
        DraftDecidedError: there is a newer version, or a model writes it again, without `despite_newer`;
            or it was rejected.
    """
    _demand_version(draft, version)
    if draft.state is DraftState.REJECTED:
        raise _decided(draft, "a rejected draft stays rejected: submit its keyword again")
    if draft.is_approved and draft.stands == version:
        return False
    if not despite_newer:
        _demand_newest(draft, version, 'approve that one, or say "despite_newer": true')
        if draft.state is DraftState.RETURNED:
            raise _decided(
                draft, 'it comes back as a new version; to publish this one say "despite_newer": true'
            )
    return True


def schedule(draft: ReviewedDraft, version: int, publish_at: datetime, *, despite_newer: bool) -> bool:
    """Whether scheduling this version for that time changes anything; False if it is already scheduled so, or published.

    Raises:
        NoSuchVersionError, DraftDecidedError: as for `approve`; or its page was taken down.
    """
    if not approve(draft, version, despite_newer=despite_newer):
        return False
    if draft.state is DraftState.TAKEN_DOWN:
        raise _decided(draft, "an approval without a time brings its page back")
    planned = draft.appointment
    return planned is None or (planned.version, planned.publish_at) != (version, publish_at)


def unschedule(draft: ReviewedDraft) -> bool:
    """Whether cancelling the scheduled publication changes anything; False if none was scheduled.

    Raises:
        DraftDecidedError: there is another decision, or it is published.
    """
    if draft.state is DraftState.SCHEDULED:
        return True
    if draft.state not in {DraftState.WAITING, DraftState.CORRECTION}:
        raise _decided(draft, "nothing of it is to be published at a time")
    return False


def send_back(draft: ReviewedDraft, version: int, *, comment: str, by: str) -> bool:
    """Whether returning it changes anything.

    Raises:
        NoSuchVersionError: there is no such version.
        DraftDecidedError: there is a newer version, or it does not wait.
    """
    _demand_version(draft, version)
    if draft.state is DraftState.RETURNED and _is_same(
        draft, DraftDecisionKind.RETURNED, version, comment, by
    ):
        return False
    _demand_newest(draft, version, "look at that one first")
    if draft.is_approved or draft.state not in {DraftState.WAITING, DraftState.SCHEDULED}:
        raise _decided(draft, "only a draft that waits can be sent back")
    return True


def reject(draft: ReviewedDraft, version: int, *, reason: str, by: str) -> bool:
    """Whether rejecting it changes anything. For an approved article, this rejects its newer version.

    Raises:
        NoSuchVersionError: there is no such version.
        DraftDecidedError: there is a newer version, or it was approved, or rejected for another reason.
    """
    _demand_version(draft, version)
    if draft.offered is None and _is_same(draft, DraftDecisionKind.REJECTED, version, reason, by):
        return False
    _demand_newest(draft, version, "look at that one first")
    nothing_waits = draft.is_approved and draft.offered is None
    if nothing_waits or draft.state in {DraftState.REJECTED, DraftState.TAKEN_DOWN}:
        raise _decided(draft, "nothing of it waits for a decision")
    return True


def take_down(draft: ReviewedDraft) -> bool:
    """Whether taking its page down changes anything; False if it is down already.

    Raises:
        DraftDecidedError: it has no page.
    """
    if draft.state is DraftState.TAKEN_DOWN:
        return False
    if not draft.is_approved or draft.published_url is None:
        raise _decided(
            draft, "it has no page that could be taken down; one that is on its way may be there in a moment"
        )
    return True


def edit(draft: ReviewedDraft, version: int) -> None:
    """Checks whether this version may be edited.

    Raises:
        NoSuchVersionError: there is no such version.
        DraftDecidedError: there is a newer version, a model writes it again, or it was rejected.
    """
    _demand_version(draft, version)
    _demand_newest(draft, version, "make your change to that one")
    if draft.state in {DraftState.RETURNED, DraftState.REJECTED, DraftState.TAKEN_DOWN}:
        raise _decided(draft, "it cannot be edited now")


_UNSEEN: Final = "No person has reviewed it."
_SEEN: Final = "A person has reviewed it."
_EDITED: Final = "A person has edited it."


def seen_by_a_person(label: str | None) -> str | None:
    """The note to readers about a text's origin, after a person has approved it."""
    return None if label is None else label.replace(_UNSEEN, _SEEN)


def edited_by_a_person(label: str | None) -> str | None:
    """The same note, after a person has edited the text."""
    if label is None or _EDITED in label:
        return label
    rest = label.replace(_UNSEEN, "").rstrip(" .")
    return f"{rest}. {_EDITED}"


def told(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _demand_version(draft: ReviewedDraft, version: int) -> None:
    if version > draft.newest:
        raise NoSuchVersionError(
            f"there is no version {version} of article {draft.content_id}; the newest is {draft.newest}"
        )


def _demand_newest(draft: ReviewedDraft, version: int, advice: str) -> None:
    if version < draft.newest:
        raise DraftDecidedError(
            f"version {draft.newest} was made by {draft.newest_by} on {told(draft.newest_at)}, after version"
            f" {version}: {advice}"
        )


def _is_same(draft: ReviewedDraft, kind: DraftDecisionKind, version: int, comment: str, by: str) -> bool:
    last = draft.last
    return last is not None and (last.kind, last.version, last.comment, last.by) == (
        kind,
        version,
        comment,
        by,
    )


def _decided(draft: ReviewedDraft, advice: str) -> DraftDecidedError:
    what = str(draft.last) if draft.last else f"the article is {draft.state.value}"
    return DraftDecidedError(f"{what}; {advice}")
