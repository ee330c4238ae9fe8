"""A receipt, its states and steps, and changes that several decisions share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID


class ReceiptState(StrEnum):
    READY = "ready"
    """The next step may be sent."""
    ARMED = "armed"
    """A step may be on its way while a worker holds the lease; afterwards it is like unknown."""
    UNKNOWN = "unknown"
    """A request may have arrived: the effect is looked up."""
    IN_DOUBT = "in_doubt"
    """A person must decide."""
    REFUSED = "refused"
    """The other side refuses it; a new request for the effect starts another attempt."""
    CONFIRMED = "confirmed"
    """All steps have had their effect."""


@dataclass(frozen=True, slots=True)
class Receipt:
    receipt_id: UUID
    kind: str
    account: str
    brand_slug: str
    subject: str
    prepared: Mapping[str, Any]
    steps: tuple[str, ...]
    done: tuple[str, ...] = ()
    step: str | None = None
    remote: Mapping[str, Any] = field(default_factory=dict)
    state: ReceiptState = ReceiptState.READY
    fence: int = 0
    sent_fence: int = 0
    held_until: datetime | None = None
    not_before: datetime | None = None
    quiet_since: datetime | None = None
    looks: int = 0
    reason: str = ""
    detail: str = ""
    identity: str | None = None
    """The user at the other side for whom a step was armed first; None if unknown."""
    unanswered: str | None = None
    """A step that was sent again after a lost answer: its first request may have had its effect."""


@dataclass(frozen=True, slots=True)
class StepTraits:
    """The properties of a step that decisions need."""

    name: str
    looks: bool
    repeatable: bool
    settles: timedelta
    """An effect may appear this late: a look-up before cannot prove its absence."""
    lease: timedelta
    """Longer than sending or looking up may take."""
    first_look: timedelta = timedelta(seconds=10)
    """The wait before the first look-up, which may find the effect but cannot rule it out."""
    unseen: bool = False
    """Whether people do not see the result, such as an upload."""


def renew_request(
    receipt: Receipt, *, kind: str, account: str, subject: str, prepared: Mapping[str, Any]
) -> Receipt:
    """The receipt with other texts, ids and times, as long as it had no effect."""
    return replace(receipt, kind=kind, account=account, subject=subject, prepared=prepared)


def has_settled(receipt: Receipt, settles: timedelta, now: datetime) -> bool:
    """Whether a look-up that starts now sees every effect that can still appear."""
    return receipt.quiet_since is not None and receipt.quiet_since + settles <= now


def mark_in_doubt(receipt: Receipt, detail: str) -> Receipt:
    """Puts the receipt in doubt: its current step may have had its effect, and only a person can tell."""
    return replace(
        receipt,
        state=ReceiptState.IN_DOUBT,
        held_until=None,
        not_before=None,
        reason="in_doubt",
        detail=detail,
    )


def mark_confirmed(receipt: Receipt) -> Receipt:
    """The receipt with all steps complete."""
    return replace(
        receipt,
        state=ReceiptState.CONFIRMED,
        step=None,
        held_until=None,
        not_before=None,
        quiet_since=None,
        looks=0,
        reason="",
        detail="",
    )


def finish_step(receipt: Receipt, remote: Mapping[str, Any]) -> Receipt:
    """The receipt with its current step complete."""
    assert receipt.step is not None
    done = (*receipt.done, receipt.step)
    further = replace(
        receipt,
        state=ReceiptState.READY,
        done=done,
        remote={**receipt.remote, **remote},
        step=None,
        # Whoever is still looking is not to be heard any more.
        fence=receipt.fence + 1,
        sent_fence=0,
        held_until=None,
        not_before=None,
        quiet_since=None,
        looks=0,
        reason="",
        detail="",
        unanswered=None,
    )
    return further if set(receipt.steps) - set(done) else mark_confirmed(further)


def mark_suspected(receipt: Receipt, steps: Sequence[StepTraits]) -> Receipt:
    """A new receipt in place of a lost one. The effect may have happened.

    An effect with a single visible step and a look-up is looked up first. Any other is in doubt: it is unknown which of several steps took
    effect, and the key that made a step repeatable may be lost with the receipt.
    """
    visible = [step for step in steps if not step.unseen]
    if not visible:
        return receipt
    may_be_there = replace(receipt, state=ReceiptState.UNKNOWN, step=visible[0].name)
    if len(visible) == 1 and visible[0].looks and not visible[0].repeatable:
        return may_be_there
    return mark_in_doubt(may_be_there, "the database has lost what was known of it, and it may be there")
