"""The state machine: turns a decision about an item into changes or a refusal.

Two people may decide at the same time, and a request may come twice. The same decision again changes nothing; a decision about an
outdated state is refused with the events since.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from review.decisions import (
    AS_SCHEDULED,
    AT_ONCE,
    Decision,
    DecisionKind,
    RecordedDecision,
    told,
)
from review.items import Effect, ReviewItem, ScheduledPublication
from review.rules import BENEATH, DraftState

_OF_WHAT_IS_BENEATH: Final = frozenset({DecisionKind.RETURN, DecisionKind.REJECT, DecisionKind.TAKE_DOWN})
"""Decisions about the state beneath a scheduled publication."""
_EFFECTS: Final = {
    DecisionKind.APPROVE: Effect.PUBLISH,
    DecisionKind.SCHEDULE: Effect.SCHEDULE,
    DecisionKind.UNSCHEDULE: Effect.CALL_OFF_SCHEDULE,
    DecisionKind.EDIT: Effect.STORE_VERSION,
    DecisionKind.RETURN: Effect.REQUEST_REWRITE,
    DecisionKind.REJECT: Effect.CLOSE,
    DecisionKind.TAKE_DOWN: Effect.TAKE_DOWN,
    DecisionKind.RETRY: Effect.SEND_AGAIN,
    DecisionKind.REOPEN: Effect.REOPEN,
    DecisionKind.PUBLISH_DUE: Effect.PUBLISH,
    DecisionKind.RESUME: Effect.RESUME,
}


class RefusalReason(StrEnum):
    """The code of a refusal, as the APIs have it."""

    UNKNOWN_VERSION = "unknown_version"
    DECIDED_OTHERWISE = "decided_otherwise"
    PAST_TIME = "past_time"


@dataclass(frozen=True, slots=True)
class DecisionRefusal:
    reason: RefusalReason
    detail: str
    """What happened, and what to do."""


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """The item after a decision; without effects, it is as before."""

    item: ReviewItem
    effects: tuple[Effect, ...] = ()
    """In this order, after the record is stored."""
    record: RecordedDecision | None = None
    """What is stored about the decision."""


def decide(item: ReviewItem, decision: Decision, now: datetime) -> DecisionOutcome | DecisionRefusal:
    """Returns the changes that a decision makes to an item, or a refusal. The caller has locked the item.

    Raises:
        KeyError: such a decision does not exist for this kind of item.
    """
    if decision.kind is DecisionKind.PUBLISH_DUE:
        return _due(item, decision, now)
    if _is_repeated(item, decision):
        return DecisionOutcome(item)
    if (refusal := _refusal(item, decision)) is not None:
        return refusal
    if _changes_nothing(item, decision):
        return DecisionOutcome(item)
    if decision.publish_at is not None and decision.publish_at <= now:
        detail = f"publish_at: lies in the past; leave it out to have it {item.rules.published} now"
        return DecisionRefusal(RefusalReason.PAST_TIME, detail)
    return _outcome(item, decision, now)


def _state(item: ReviewItem, decision: Decision) -> str:
    return item.beneath if decision.kind in _OF_WHAT_IS_BENEATH else item.state


def _is_repeated(item: ReviewItem, decision: Decision) -> bool:
    """Whether this very decision was made before, and still stands."""
    match decision.kind:
        case DecisionKind.APPROVE | DecisionKind.SCHEDULE:
            return item.published is not None and item.published == decision.version
        case DecisionKind.EDIT:
            return decision.stored_as != decision.version and decision.stored_as == item.newest
        case DecisionKind.RETURN | DecisionKind.REJECT if item.last is not None:
            was = (item.last.decision, item.last.version, item.last.comment, item.last.by)
            is_last = was == (decision.kind, decision.version, decision.comment, decision.by)
            return is_last and _state(item, decision) not in item.rules.decisions[decision.kind].leads
    return False


def _refusal(item: ReviewItem, decision: Decision) -> DecisionRefusal | None:
    rule, state = item.rules.decisions[decision.kind], _state(item, decision)
    version = item.newest if decision.version is None else decision.version
    is_allowed = state in rule.leads and (item.has_page or decision.kind is not DecisionKind.TAKE_DOWN)
    if version > item.newest and (is_allowed or item.rules.keeps_versions):
        return DecisionRefusal(
            RefusalReason.UNKNOWN_VERSION,
            f"there is no version {version} of {item.rules.noun} {item.item_id}; the newest is {item.newest}",
        )
    happened = str(item.last or f"the {item.rules.noun} is {item.state.replace('_', ' ')}")
    if not is_allowed:
        detail = f"{happened}; {rule.refusals.get(state, rule.refusal)}"
    elif decision.despite_newer:
        return None
    elif version < item.newest:
        detail = f"{item.newest_note}, after version {version}: {rule.newer}"
    elif state == DraftState.RETURNED and decision.kind in {DecisionKind.APPROVE, DecisionKind.SCHEDULE}:
        detail = f'{happened}; it comes back as a new version; to publish this one say "despite_newer": true'
    else:
        return None
    return DecisionRefusal(RefusalReason.DECIDED_OTHERWISE, detail)


def _changes_nothing(item: ReviewItem, decision: Decision) -> bool:
    """Whether an allowed decision asks for what is so already."""
    planned = item.scheduled
    match decision.kind:
        case DecisionKind.APPROVE:
            # It has its slot, or is about to be sent.
            has_slot = item.rules.has_slots and planned is not None
            if not has_slot or item.last is None or item.last.decision != DecisionKind.APPROVE:
                return False
            return not decision.at_once or item.last.comment == AT_ONCE
        case DecisionKind.SCHEDULE:
            asked = (decision.version, decision.publish_at)
            return planned is not None and (planned.version, planned.publish_at) == asked
        case DecisionKind.EDIT:
            return decision.stored_as == decision.version
        case DecisionKind.UNSCHEDULE | DecisionKind.TAKE_DOWN | DecisionKind.RETRY | DecisionKind.REOPEN:
            state = _state(item, decision)
            return item.rules.decisions[decision.kind].leads[state] == state
    return False


def _outcome(item: ReviewItem, decision: Decision, now: datetime) -> DecisionOutcome:
    """The outcome of an allowed decision that changes something."""
    state = item.rules.decisions[decision.kind].leads[_state(item, decision)]
    state = item.beneath if state == BENEATH else state
    after = replace(item, state=state, beneath=state, scheduled=None)
    version, comment = decision.version or item.newest, decision.comment
    match decision.kind:
        case DecisionKind.APPROVE:
            comment = AT_ONCE if decision.at_once else ""
            published = None if item.rules.has_slots else version
            after = replace(after, published=published, offered=None)
        case DecisionKind.SCHEDULE:
            assert decision.publish_at is not None
            comment = f"to be {item.rules.published} on {told(decision.publish_at)}"
            beneath = DraftState.WAITING if item.state == DraftState.RETURNED else item.beneath
            planned = ScheduledPublication(version, decision.publish_at, decision.by)
            after = replace(after, beneath=beneath, scheduled=planned)
        case DecisionKind.EDIT:
            version += 1
            after = replace(after, newest=version, newest_note=f"version {version} is new")
            if item.rules.keeps_versions:
                after = replace(after, beneath=item.beneath, scheduled=item.scheduled)
            if item.published is not None:
                after = replace(after, beneath=DraftState.CORRECTION, offered=version)
        case DecisionKind.REJECT:
            after = replace(after, offered=None)
        case DecisionKind.TAKE_DOWN:
            version = item.published or version
            after = replace(after, published=None, offered=None)
    record = None
    if decision.kind not in {DecisionKind.RETRY, DecisionKind.REOPEN, DecisionKind.RESUME}:
        record = RecordedDecision(decision.kind, version, comment, decision.by, now)
        if decision.kind is not DecisionKind.EDIT or not item.rules.keeps_versions:
            after = replace(after, last=record)
    return DecisionOutcome(after, _effects(item, after, decision.kind), record)


def _due(item: ReviewItem, decision: Decision, now: datetime) -> DecisionOutcome:
    """Publishes what was approved for now; if another decision came first, only ends the schedule."""
    planned = item.scheduled
    if planned is None:
        return DecisionOutcome(item)
    state = item.rules.decisions[decision.kind].leads.get(item.state)
    is_overtaken = item.last is not None and item.last.decision != DecisionKind.SCHEDULE
    if state is None or is_overtaken or item.published == planned.version:
        after = replace(item, state=item.beneath, scheduled=None)
        return DecisionOutcome(after, (Effect.OVERTAKE_SCHEDULE,))
    offered = item.newest if item.newest > planned.version else None
    if offered is not None:
        state = DraftState.CORRECTION
    record = RecordedDecision(DecisionKind.APPROVE, planned.version, AS_SCHEDULED, planned.by, now)
    after = replace(
        item,
        state=state,
        beneath=state,
        published=planned.version,
        offered=offered,
        scheduled=None,
        last=record,
    )
    return DecisionOutcome(after, _effects(item, after, decision.kind), record)


def _effects(before: ReviewItem, after: ReviewItem, kind: DecisionKind) -> tuple[Effect, ...]:
    # A rejected correction closes nothing: the published version stays.
    drops_correction = kind is DecisionKind.REJECT and before.published is not None
    effects = [Effect.OFFER if drops_correction else _EFFECTS[kind]]
    if kind in {DecisionKind.EDIT, DecisionKind.PUBLISH_DUE} and after.offered is not None:
        effects.append(Effect.OFFER)
    if kind is DecisionKind.SCHEDULE and before.state == DraftState.RETURNED:
        effects.append(Effect.STOP_REWRITE)
    if before.scheduled is not None and after.scheduled is None and kind is not DecisionKind.UNSCHEDULE:
        is_kept = kind is DecisionKind.PUBLISH_DUE
        effects.append(Effect.KEEP_SCHEDULE if is_kept else Effect.OVERTAKE_SCHEDULE)
    return tuple(effects)
