"""Events of a step, and the receipt that follows from each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, TypeAlias, assert_never

from receipts.domain.receipt import Receipt, ReceiptState, finish_step, mark_in_doubt

MAX_LOOKS: Final = 8
"""Failed look-ups in a row before a person must decide."""
_LONGEST_PAUSE: Final = timedelta(minutes=10)
_LONGEST_WAIT: Final = timedelta(days=1)
"""Longer requested waits are cut to this."""


@dataclass(frozen=True, slots=True)
class StepAccepted:
    """The other side has accepted the request."""

    recorded_as: ClassVar[str] = "answered"
    step: str
    fence: int
    remote: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StepNotSent:
    """The request was not sent, for a temporary reason."""

    recorded_as: ClassVar[str] = "held back"
    step: str
    fence: int
    reason: str
    detail: str
    after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class StepRefused:
    """The request had no effect, and a repetition would be refused again."""

    recorded_as: ClassVar[str] = "turned down"
    step: str
    fence: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class StepDoubtful:
    """A request, this or an earlier one, may have had its effect, and no look-up can tell."""

    recorded_as: ClassVar[str] = "questioned"
    step: str
    fence: int
    detail: str


@dataclass(frozen=True, slots=True)
class OutcomeUnknown:
    """It is unknown whether the request arrived."""

    recorded_as: ClassVar[str] = "lost"
    step: str
    fence: int
    detail: str


@dataclass(frozen=True, slots=True)
class EarlierSendsClosed:
    """Earlier requests can no longer arrive."""

    recorded_as: ClassVar[str] = "closed"
    step: str
    fence: int


@dataclass(frozen=True, slots=True)
class EffectSeen:
    recorded_as: ClassVar[str] = "seen there"
    step: str
    fence: int
    remote: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EffectNotSeen:
    """The look-up has not found the effect. `has_settled`: it can no longer appear. `is_certain`: False if a repetition would only be harmless."""

    recorded_as: ClassVar[str] = "seen absent"
    step: str
    fence: int
    has_settled: bool = True
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class LookUpUnclear:
    """The look-up was inconclusive; `has_settled`: a later one would be too."""

    recorded_as: ClassVar[str] = "unsure"
    step: str
    fence: int
    detail: str
    has_settled: bool = True


@dataclass(frozen=True, slots=True)
class LookUpFailed:
    """Looking up or closing failed; it `counts` unless the cause is ours."""

    recorded_as: ClassVar[str] = "not looked"
    step: str
    fence: int
    detail: str
    after: timedelta | None = None
    counts: bool = True


@dataclass(frozen=True, slots=True)
class FenceOvertaken:
    """The gateway knows a higher fence."""

    recorded_as: ClassVar[str] = "overtaken"
    step: str
    fence: int
    detail: str
    known: int | None = None


ReceiptEvent: TypeAlias = (
    StepAccepted
    | StepNotSent
    | StepRefused
    | StepDoubtful
    | OutcomeUnknown
    | EarlierSendsClosed
    | EffectSeen
    | EffectNotSeen
    | LookUpUnclear
    | LookUpFailed
    | FenceOvertaken
)


def decide(
    receipt: Receipt,
    event: ReceiptEvent,
    now: datetime,
    *,
    settles: timedelta = timedelta(seconds=10),
    first_look: timedelta = timedelta(seconds=10),
) -> Receipt | None:
    """The receipt after the event; None if the event is too late to matter."""
    if event.step != receipt.step or receipt.state is ReceiptState.CONFIRMED:
        return None
    match event:
        case StepAccepted() | StepNotSent() | StepRefused() | StepDoubtful():
            return _after_send(receipt, event, now) if event.fence == receipt.sent_fence else None
        case OutcomeUnknown() | FenceOvertaken():
            if event.fence != receipt.fence or receipt.state not in {
                ReceiptState.ARMED,
                ReceiptState.UNKNOWN,
            }:
                return None
            known = event.known or 0 if isinstance(event, FenceOvertaken) else 0
            # The gateway knows more than the database only if the database has forgotten: then somebody may have sent it.
            return replace(
                receipt,
                state=ReceiptState.UNKNOWN,
                fence=max(receipt.fence, known),
                held_until=None,
                quiet_since=None,
                detail=event.detail,
            )
        case EarlierSendsClosed() | EffectSeen() | EffectNotSeen() | LookUpUnclear() | LookUpFailed():
            if event.fence != receipt.fence or receipt.state is not ReceiptState.UNKNOWN:
                return None
            return _after_look(receipt, event, now, settles, first_look)
        case _:
            assert_never(event)


def _after_send(
    receipt: Receipt, event: StepAccepted | StepNotSent | StepRefused | StepDoubtful, now: datetime
) -> Receipt | None:
    if isinstance(event, StepAccepted):
        return finish_step(receipt, event.remote)
    if receipt.state not in {ReceiptState.ARMED, ReceiptState.UNKNOWN}:
        # A person has been asked, and is to be left to answer.
        return None
    if isinstance(event, StepDoubtful):
        return mark_in_doubt(receipt, event.detail)
    if isinstance(event, StepRefused) and receipt.unanswered == receipt.step:
        return mark_in_doubt(
            receipt,
            f"an attempt before was not answered, and may be there; now it is refused: {event.detail}",
        )
    nothing = replace(
        receipt, sent_fence=0, held_until=None, quiet_since=None, reason=event.reason, detail=event.detail
    )
    if isinstance(event, StepRefused):
        return replace(nothing, state=ReceiptState.REFUSED, not_before=None)
    not_before = None if event.after is None else now + min(event.after, _LONGEST_WAIT)
    return replace(nothing, state=ReceiptState.READY, not_before=not_before)


def _after_look(  # noqa: PLR0911  (one for each event)
    receipt: Receipt,
    event: EarlierSendsClosed | EffectSeen | EffectNotSeen | LookUpUnclear | LookUpFailed,
    now: datetime,
    settles: timedelta,
    first_look: timedelta,
) -> Receipt:
    match event:
        case EarlierSendsClosed():
            return replace(receipt, held_until=None, quiet_since=now)
        case EffectSeen():
            return finish_step(receipt, event.remote)
        case EffectNotSeen() | LookUpUnclear() if not event.has_settled and receipt.quiet_since is not None:
            # A server may do what it was asked for after it has given its answer up.
            return replace(receipt, held_until=None, not_before=receipt.quiet_since + settles, looks=0)
        case EffectNotSeen():
            # Its own answer, should it come yet, would know better: `sent_fence` stays.
            unanswered = None if event.is_certain else receipt.step
            return replace(
                receipt,
                state=ReceiptState.READY,
                held_until=None,
                quiet_since=None,
                looks=0,
                unanswered=unanswered,
            )
        case LookUpUnclear():
            return mark_in_doubt(receipt, event.detail)
        case LookUpFailed():
            looks = receipt.looks + event.counts
            if looks >= MAX_LOOKS:
                return mark_in_doubt(receipt, f"it could not be looked up: {event.detail}")
            pause = min(first_look * 2 ** min(looks, 10), _LONGEST_PAUSE)
            if event.after is not None:
                pause = min(event.after, _LONGEST_WAIT)
            return replace(receipt, held_until=None, not_before=now + pause, looks=looks)
        case _:
            assert_never(event)
