"""Decides the next move for a receipt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar, Final, TypeAlias

from receipts.domain.receipt import Receipt, ReceiptState, StepTraits, mark_confirmed, mark_in_doubt

_OF_USER: Final = "user:"
"""Prefix of identities that name a user at the other side; others name a connection and change with each reconnection."""
_IDENTITY_PAUSE: Final = timedelta(seconds=10)
"""The pause before the gateway is queried again for an account's identity."""


@dataclass(frozen=True, slots=True)
class Send:
    recorded_as: ClassVar[str] = "send"
    step: str


@dataclass(frozen=True, slots=True)
class Close:
    """Make the gateway refuse older requests, and wait for one that it is still sending."""

    recorded_as: ClassVar[str] = "close"
    step: str


@dataclass(frozen=True, slots=True)
class LookUp:
    recorded_as: ClassVar[str] = "look"
    step: str


@dataclass(frozen=True, slots=True)
class Wait:
    after: timedelta
    why: str


@dataclass(frozen=True, slots=True)
class Identify:
    """Query the account's identity, then choose the next move with it."""


@dataclass(frozen=True, slots=True)
class Finish:
    pass


@dataclass(frozen=True, slots=True)
class AskPerson:
    pass


Move: TypeAlias = Send | Close | LookUp | Wait | Identify | Finish | AskPerson


def next_move(  # noqa: PLR0911  (one for each move)
    receipt: Receipt, steps: Sequence[StepTraits], now: datetime, identities: Sequence[str] | None = ()
) -> tuple[Receipt, Move]:
    """The next move for an effect, and the receipt to store before the move.

    Args:
        receipt: as stored.
        steps: of the effect, in order.
        now: by the database's clock.
        identities: of the account's user, the best first; empty: unknown; None: not queried yet.
    """
    if receipt.state is ReceiptState.CONFIRMED:
        return receipt, Finish()
    if receipt.state is ReceiptState.IN_DOUBT:
        return receipt, AskPerson()
    if (wait := _wait(receipt, now)) is not None:
        return receipt, wait
    if identities is None:
        return receipt, Identify()
    receipt = replace(receipt, steps=tuple(step.name for step in steps))
    following = _following(receipt, steps)
    if following is None:
        return mark_confirmed(receipt), Finish()
    receipt, hindrance = _check_identity(receipt, steps, following, identities)
    if hindrance is not None:
        return receipt, hindrance
    if receipt.state in {ReceiptState.ARMED, ReceiptState.UNKNOWN}:
        return _looked_up(receipt, steps, now)
    step = _following(receipt, steps) or following
    armed = _armed(receipt, step, now)
    return replace(armed, identity=armed.identity or next(iter(identities), None)), Send(step.name)


def _following(receipt: Receipt, steps: Sequence[StepTraits]) -> StepTraits | None:
    return next((step for step in steps if step.name not in receipt.done), None)


def _check_identity(
    receipt: Receipt, steps: Sequence[StepTraits], following: StepTraits, identities: Sequence[str]
) -> tuple[Receipt, Wait | AskPerson | None]:
    """The receipt for the user that the account is connected as now, and the move that replaces sending, if any."""
    is_same = _is_same_user(receipt.identity, identities)
    if is_same is None:
        return receipt, Wait(
            _IDENTITY_PAUSE, "the gateway does not know yet as whom its account is connected"
        )
    if _may_be_seen(receipt, steps):
        if is_same:
            return receipt, None
        detail = (
            f"the account {receipt.account} is connected as another user than the one for whom this was begun;"
            " look at what that user has posted"
        )
        return mark_in_doubt(replace(receipt, step=receipt.step or following.name), detail), AskPerson()
    # After a person has had it repeated, nobody knows for whom the steps before were.
    is_unknown = receipt.identity is None and bool(identities) and bool(receipt.done)
    return (_restarted(receipt) if is_unknown or not is_same else receipt), None


def _is_same_user(begun_as: str | None, identities: Sequence[str]) -> bool | None:
    """Whether an account is connected as the user of `begun_as`, as far as known; None: not known yet."""
    if begun_as is None or not identities or begun_as in identities:
        return True
    if begun_as.startswith(_OF_USER) and not any(each.startswith(_OF_USER) for each in identities):
        return None
    return False


def _may_be_seen(receipt: Receipt, steps: Sequence[StepTraits]) -> bool:
    """Whether people may see an effect of the receipt."""
    unseen = {step.name for step in steps if step.unseen}
    tried = {*receipt.done, receipt.unanswered}
    if receipt.state in {ReceiptState.ARMED, ReceiptState.UNKNOWN}:
        tried.add(receipt.step)
    return bool(tried - unseen - {None})


def _restarted(receipt: Receipt) -> Receipt:
    """The receipt restarted for another user: the earlier user's steps are useless to this one, and people do not see them."""
    return replace(
        receipt,
        state=ReceiptState.READY,
        done=(),
        remote={},
        step=None,
        sent_fence=0,
        quiet_since=None,
        looks=0,
        identity=None,
        unanswered=None,
    )


def _wait(receipt: Receipt, now: datetime) -> Wait | None:
    if receipt.held_until is not None and receipt.held_until > now:
        return Wait(receipt.held_until - now, "somebody is at it")
    if receipt.not_before is not None and receipt.not_before > now:
        return Wait(receipt.not_before - now, receipt.detail or "it is not its time yet")
    return None


def _looked_up(receipt: Receipt, steps: Sequence[StepTraits], now: datetime) -> tuple[Receipt, Move]:
    """The move for a request with an unknown outcome."""
    step = next((step for step in steps if step.name == receipt.step), None)
    if step is None:
        return mark_in_doubt(receipt, f"this version knows no step {receipt.step} any more"), AskPerson()
    if step.repeatable:
        return _armed(receipt, step, now), Send(step.name)
    if receipt.quiet_since is None:
        return _held(receipt, step, now), Close(step.name)
    if not step.looks:
        return mark_in_doubt(
            receipt, receipt.detail or "whoever sent it was gone before it was answered"
        ), AskPerson()
    if now < (first := receipt.quiet_since + min(step.first_look, step.settles)):
        return receipt, Wait(first - now, "what was sent may still show up")
    return _held(receipt, step, now), LookUp(step.name)


def _armed(receipt: Receipt, step: StepTraits, now: datetime) -> Receipt:
    fence = receipt.fence + 1
    unanswered = receipt.unanswered if receipt.unanswered == step.name else None
    if receipt.state in {ReceiptState.ARMED, ReceiptState.UNKNOWN} and not step.unseen:
        unanswered = step.name
    return replace(
        receipt,
        state=ReceiptState.ARMED,
        step=step.name,
        fence=fence,
        sent_fence=fence,
        held_until=now + step.lease,
        not_before=None,
        quiet_since=None,
        looks=0,
        reason="",
        detail="",
        unanswered=unanswered,
    )


def _held(receipt: Receipt, step: StepTraits, now: datetime) -> Receipt:
    return replace(
        receipt,
        state=ReceiptState.UNKNOWN,
        fence=receipt.fence + 1,
        held_until=now + step.lease,
        not_before=None,
    )
