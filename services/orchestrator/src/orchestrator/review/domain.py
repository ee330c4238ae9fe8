"""A draft as the review sees it, and the notes about a text's origin. Pure: no I/O, no clock, no randomness."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from review.decisions import RecordedDecision, told
from review.items import ReviewItem, ScheduledPublication
from review.rules import DRAFT, DraftState


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


class DraftAuthor(StrEnum):
    """Who made the newest version of a draft."""

    DIGEST = "digest"
    """The writer that quotes its sources."""
    MODEL = "model"
    """A language model."""
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class DraftFilter:
    """Which drafts a list has; a field that is None filters nothing."""

    brands: Collection[str] | None = None
    state: DraftState | None = None
    """None: all about which something is open."""
    author: DraftAuthor | None = None
    text: str | None = None
    """Words, or beginnings of words, of the title or keyword."""
    since_before: datetime | None = None
    """It has been waiting since before this time."""


@dataclass(frozen=True, slots=True)
class ReviewedDraft:
    """The state of an article that decisions depend on; `models.DraftView` documents what it shows."""

    content_id: UUID
    brand_slug: str
    keyword: str
    research_id: UUID
    address: str
    """The last part of its page's address, or the one it would get."""
    title: str
    word_count: int
    stands: int
    version: int
    made_by: str
    made_at: datetime
    held_for: tuple[str, ...]
    standing: str | None
    """The state that a decision gave it: approved, returned, rejected or taken down."""
    offered: int | None
    """A newer version of an approved article that waits for approval."""
    since: datetime
    published_url: str | None
    decision: RecordedDecision | None
    scheduled: ScheduledPublication | None = None

    @property
    def state(self) -> DraftState:
        is_over = self._beneath in {DraftState.REJECTED, DraftState.TAKEN_DOWN}
        return self._beneath if self.scheduled is None or is_over else DraftState.SCHEDULED

    @property
    def _beneath(self) -> DraftState:
        """The state without the scheduled publication."""
        if self.standing in {DraftState.REJECTED, DraftState.TAKEN_DOWN}:
            return DraftState(self.standing)
        if self.held_for:
            return DraftState.RETURNED if self.standing == DraftState.RETURNED else DraftState.WAITING
        return DraftState.APPROVED if self.offered is None else DraftState.CORRECTION

    @property
    def is_approved(self) -> bool:
        """Whether a version is approved. It may then be corrected or taken down, but not rejected."""
        return not self.held_for

    @property
    def item(self) -> ReviewItem:
        return ReviewItem(
            DRAFT,
            self.content_id,
            self.state,
            self._beneath,
            newest=self.version,
            newest_note=f"version {self.version} was made by {self.made_by} on {told(self.made_at)}",
            published=self.stands if self.is_approved else None,
            offered=self.offered,
            has_page=self.published_url is not None,
            scheduled=self.scheduled,
            last=self.decision,
        )


_UNSEEN: Final = "No person has reviewed it."
_SEEN: Final = "A person has reviewed it."
_EDITED: Final = "A person has edited it."


def seen_by_a_person(label: str | None) -> str | None:
    """The note to readers about a text's origin, after a person has approved it."""
    return None if label is None else label.replace(_UNSEEN, _SEEN)


def edited_by_a_person(label: str | None, *, kept: int = 0) -> str | None:
    """The same note, after a person has edited the text, which now has `kept` sentences that the checks had cut."""
    if label is None:
        return None
    rest = (label.rpartition(_EDITED)[0] or label).replace(_UNSEEN, "").rstrip(" .")
    note = f"{rest}. {_EDITED}"
    match kept:
        case 0:
            return note
        case 1:
            return f"{note} One sentence that the program had left out stands in the editor's own name."
        case _:
            return f"{note} {kept} sentences that the program had left out stand in the editor's own name."
