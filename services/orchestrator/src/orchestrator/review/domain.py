"""What a person may decide about an article, and what each decision changes. Pure: no I/O, no clock, no randomness.

Two people may decide at the same time, and a request may come twice: the same decision again changes nothing, and whoever
decides about something that is not so any more hears what happened.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

WRITER: Final = "writer"
"""Who makes versions that no person makes."""
MAX_COMMENT: Final = 2000


class DraftDecisionKind(StrEnum):
    """What was decided."""

    APPROVED = "approved"
    RETURNED = "returned"
    EDITED = "edited"
    REJECTED = "rejected"
    TAKEN_DOWN = "taken_down"
    SCHEDULED = "scheduled"
    """To be published at a time; like the next, told from the article's appointments and not among the decisions."""
    CALLED_OFF = "called_off"
    """Not to be published then."""

    def __str__(self) -> str:
        return self.value.replace("_", " ")


class DraftState(StrEnum):
    WAITING = "waiting"
    """Stored, and not published before a person says so."""
    SCHEDULED = "scheduled"
    """Approved for a time: a version of it is published then."""
    RETURNED = "returned"
    """Sent back: it is being written again, and waits once it is."""
    REJECTED = "rejected"
    APPROVED = "approved"
    """On its way to its page, or there; also what never had to wait."""
    CORRECTION = "correction"
    """Approved, and a newer version waits to be approved, too."""
    TAKEN_DOWN = "taken_down"
    """It was published, and its page is not to be seen any more."""


@dataclass(frozen=True, slots=True)
class LatestDraftDecision:
    """The latest decision about an article, edits left aside."""

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
    """When which version of an article is to be published."""

    version: int
    publish_at: datetime
    made_by: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class ReviewedDraft:
    """An article as far as decisions about it depend on it."""

    content_id: UUID
    brand_slug: str
    keyword: str
    research_id: UUID
    address: str
    """The last part of its page's, or what it would be."""
    title: str
    word_count: int
    stands: int
    """The version that is in force: of a draft that waits the newest, of an approved article the approved one."""
    newest: int
    newest_by: str
    newest_at: datetime
    held_for: tuple[str, ...]
    decision: DraftDecisionKind | None
    offered: int | None
    """Of an approved article, a newer version that waits."""
    since: datetime
    """Since when it waits, or waited."""
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
        """Whether a version of it is let out: to be corrected, taken down, but not to be rejected any more."""
        return not self.held_for


class DraftDecidedError(ValueError):
    """It is not as whoever decides believes; the message says what happened and what to do."""


class NoSuchVersionError(LookupError):
    """The article has no version of that number; the message says which is the newest."""


def approve(draft: ReviewedDraft, version: int, *, despite_newer: bool) -> bool:
    """Whether this approval changes anything.

    Raises:
        NoSuchVersionError: nobody can have seen that version.
        DraftDecidedError: there is a newer version, or it is being written again, and `despite_newer` was not said;
            or it was rejected.
    """
    _demand_version(draft, version)
    if draft.state is DraftState.REJECTED:
        raise _decided(draft, "what was rejected stays so: hand in its keyword again")
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
    """Whether having this version published at that time changes anything: not if it is so already, nor if it is out.

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
    """Whether calling off what is to be published at a time changes anything: not if nothing is, and nothing was.

    Raises:
        DraftDecidedError: it was decided about otherwise, published perhaps.
    """
    if draft.state is DraftState.SCHEDULED:
        return True
    if draft.state not in {DraftState.WAITING, DraftState.CORRECTION}:
        raise _decided(draft, "nothing of it is to be published at a time")
    return False


def send_back(draft: ReviewedDraft, version: int, *, comment: str, by: str) -> bool:
    """Whether sending it back changes anything.

    Raises:
        NoSuchVersionError: nobody can have seen that version.
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
    """Whether rejecting it changes anything. Of an approved article, the newer version is rejected that waits.

    Raises:
        NoSuchVersionError: nobody can have seen that version.
        DraftDecidedError: there is a newer version, it was approved, or somebody rejected it for another reason.
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
    """Whether taking its page down changes anything: not if it is down already.

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
    """Says whether a new version may be made from this one.

    Raises:
        NoSuchVersionError: nobody can have seen that version.
        DraftDecidedError: there is a newer version, it is being written again, or it was rejected.
    """
    _demand_version(draft, version)
    _demand_newest(draft, version, "make your change to that one")
    if draft.state in {DraftState.RETURNED, DraftState.REJECTED, DraftState.TAKEN_DOWN}:
        raise _decided(draft, "it cannot be edited now")


_UNSEEN: Final = "No person has reviewed it."
_SEEN: Final = "A person has reviewed it."
_EDITED: Final = "A person has edited it."


def seen_by_a_person(label: str | None) -> str | None:
    """What readers are told of how a text came about, once a person has approved it."""
    return None if label is None else label.replace(_UNSEEN, _SEEN)


def edited_by_a_person(label: str | None) -> str | None:
    """The same of a text that a person has changed."""
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
