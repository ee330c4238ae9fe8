"""A receipt, its states and its steps, and what several decisions do to it."""

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
    """A step may be on its way, as long as somebody holds it; after that it is as unknown."""
    UNKNOWN = "unknown"
    """What was sent may have arrived: it is looked up."""
    IN_DOUBT = "in_doubt"
    """A person has to decide."""
    REFUSED = "refused"
    """The other side wants none of it; another attempt is made when somebody asks for one."""
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
    """The user at the other side for whom a step was armed first; None: nobody knew."""
    unanswered: str | None = None
    """A step that was sent without an answer and then sent again: its first request may have had its effect."""


@dataclass(frozen=True, slots=True)
class StepTraits:
    """What decides about a step."""

    name: str
    looks: bool
    repeatable: bool
    settles: timedelta
    """What was sent may show up this late: only what is absent then is absent."""
    lease: timedelta
    """Longer than sending or looking may take."""
    first_look: timedelta = timedelta(seconds=10)
    """After this time the first look-up is made; it may find, and cannot rule out."""
    unseen: bool = False
    """Nobody sees what the step leaves, such as an upload."""


def renew_request(
    receipt: Receipt, *, kind: str, account: str, subject: str, prepared: Mapping[str, Any]
) -> Receipt:
    """With other texts, ids and times: as long as nothing of it has ever happened."""
    return replace(receipt, kind=kind, account=account, subject=subject, prepared=prepared)


def has_settled(receipt: Receipt, settles: timedelta, now: datetime) -> bool:
    """Whether a look-up that begins now sees everything that may ever show up."""
    return receipt.quiet_since is not None and receipt.quiet_since + settles <= now


def mark_in_doubt(receipt: Receipt, detail: str) -> Receipt:
    """Something of the step at hand may be there, and nobody but a person can tell."""
    return replace(
        receipt,
        state=ReceiptState.IN_DOUBT,
        held_until=None,
        not_before=None,
        reason="in_doubt",
        detail=detail,
    )


def mark_confirmed(receipt: Receipt) -> Receipt:
    """With all its steps behind it."""
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
    """With the step behind it."""
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
    """A receipt that takes the place of one that the database has lost: its effect may be there.

    An effect with one step that people see, and that can be looked up, is looked up first. Any other is in doubt: which of several
    steps have had their effect nobody knows, and what made a step repeatable may have been lost with the receipt.
    """
    visible = [step for step in steps if not step.unseen]
    if not visible:
        return receipt
    may_be_there = replace(receipt, state=ReceiptState.UNKNOWN, step=visible[0].name)
    if len(visible) == 1 and visible[0].looks and not visible[0].repeatable:
        return may_be_there
    return mark_in_doubt(may_be_there, "the database has lost what was known of it, and it may be there")
