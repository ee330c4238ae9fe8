"""Which decision leads from which state to which, for each kind of item.

A state that a decision leads to itself either stays as it is, or gets the decision's effects: see `machine.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from review.decisions import DecisionKind


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


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """One decision about one kind of item."""

    leads: Mapping[str, str]
    """State to state; every other state refuses the decision."""
    refusal: str = ""
    """What to say and advise in the other states."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """The same for single states."""
    newer: str = "look at that one first"
    """What to advise if a newer version exists."""


@dataclass(frozen=True, slots=True)
class ReviewRules:
    """All decisions about one kind of item; a decision without a rule does not exist for it."""

    noun: str
    published: str
    """The participle of its publication."""
    decisions: Mapping[DecisionKind, DecisionRule]
    keeps_versions: bool = False
    """Older versions stay, so that one may be approved or scheduled while a newer one exists."""
    has_slots: bool = False
    """An approval without a time may wait for a slot, as a scheduled item."""


BENEATH: Final = "beneath"
"""In place of a state: the one that lies beneath the scheduled publication."""
_D, _P = DraftState, PostState
_FINAL: Final = "a rejected draft stays rejected: submit its keyword again"
_OLDER: Final = 'approve that one, or say "despite_newer": true'
_SCHEDULABLE: Final = (_D.WAITING, _D.SCHEDULED, _D.RETURNED, _D.APPROVED, _D.CORRECTION)

DRAFT: Final = ReviewRules(
    noun="article",
    published="published",
    keeps_versions=True,
    decisions={
        DecisionKind.APPROVE: DecisionRule(
            dict.fromkeys((*_SCHEDULABLE, _D.TAKEN_DOWN), _D.APPROVED), _FINAL, newer=_OLDER
        ),
        DecisionKind.SCHEDULE: DecisionRule(
            dict.fromkeys(_SCHEDULABLE, _D.SCHEDULED),
            _FINAL,
            {_D.TAKEN_DOWN: "an approval without a time brings its page back"},
            newer=_OLDER,
        ),
        DecisionKind.UNSCHEDULE: DecisionRule(
            {_D.SCHEDULED: BENEATH, _D.WAITING: _D.WAITING, _D.CORRECTION: _D.CORRECTION},
            "nothing of it is to be published at a time",
        ),
        DecisionKind.EDIT: DecisionRule(
            {
                _D.WAITING: _D.WAITING,
                _D.SCHEDULED: _D.SCHEDULED,
                _D.APPROVED: _D.CORRECTION,
                _D.CORRECTION: _D.CORRECTION,
            },
            "it cannot be edited now",
            newer="make your change to that one",
        ),
        DecisionKind.RETURN: DecisionRule(
            {_D.WAITING: _D.RETURNED}, "only a draft that waits can be sent back"
        ),
        DecisionKind.REJECT: DecisionRule(
            {_D.WAITING: _D.REJECTED, _D.RETURNED: _D.REJECTED, _D.CORRECTION: _D.APPROVED},
            "nothing of it waits for a decision",
        ),
        DecisionKind.TAKE_DOWN: DecisionRule(
            {_D.APPROVED: _D.TAKEN_DOWN, _D.CORRECTION: _D.TAKEN_DOWN, _D.TAKEN_DOWN: _D.TAKEN_DOWN},
            "it has no page that could be taken down; one that is on its way may be there in a moment",
        ),
        DecisionKind.PUBLISH_DUE: DecisionRule({_D.SCHEDULED: _D.APPROVED}),
        DecisionKind.RESUME: DecisionRule({_D.RETURNED: _D.WAITING}, "no model writes it again"),
    },
)


def _post(approved: PostState, more: Mapping[DecisionKind, DecisionRule], *, has_slots: bool) -> ReviewRules:
    """The rules of a post that gets this state when it is approved without a time."""
    leads = {
        DecisionKind.APPROVE: approved,
        DecisionKind.SCHEDULE: _P.SCHEDULED,
        DecisionKind.UNSCHEDULE: _P.WAITING,
        DecisionKind.EDIT: _P.WAITING,
        DecisionKind.REJECT: _P.REJECTED,
    }
    both_open = (_P.WAITING, _P.SCHEDULED)
    open_rules = {
        kind: DecisionRule(dict.fromkeys(both_open, to), "it waits for no decision")
        for kind, to in leads.items()
    }
    reopening = DecisionRule({_P.REJECTED: _P.WAITING, _P.WAITING: _P.WAITING}, "it is not rejected")
    rules = {**open_rules, DecisionKind.REOPEN: reopening, **more}
    return ReviewRules("post", "posted", rules, has_slots=has_slots)


FEED_POST: Final = _post(
    _P.POSTED,
    {
        DecisionKind.PUBLISH_DUE: DecisionRule({_P.SCHEDULED: _P.POSTED}),
        DecisionKind.RETRY: DecisionRule({}, "it has not failed"),
    },
    has_slots=False,
)
CHANNEL_POST: Final = _post(
    _P.SCHEDULED,
    {
        DecisionKind.RETRY: DecisionRule(
            {_P.FAILED: _P.SENDING, _P.SENDING: _P.SENDING, _P.SCHEDULED: _P.SCHEDULED},
            "it has not failed",
            {_P.IN_DOUBT: "it has not failed; look at its receipt: brandctl receipts list"},
        )
    },
    has_slots=True,
)
