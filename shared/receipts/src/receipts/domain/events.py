"""What has happened to a step, and what becomes of its receipt."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, assert_never

from receipts.domain.receipt import Receipt, State, doubted, finish_step

MAX_LOOKS: Final = 8
"""Look-ups in a row that could not be made, before a person is asked."""
_LONGEST_PAUSE: Final = timedelta(minutes=10)
_LONGEST_WAIT: Final = timedelta(days=1)
"""Whoever asks for more is obeyed no further."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The other side has taken it."""

    step: str
    fence: int
    remote: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Nothing was sent, for a reason that passes."""

    step: str
    fence: int
    reason: str
    detail: str
    after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class TurnedDown:
    """Nothing has happened, and the same again would be refused again."""

    step: str
    fence: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Questioned:
    """What was sent, now or before, may be there, and no look-up can tell."""

    step: str
    fence: int
    detail: str


@dataclass(frozen=True, slots=True)
class Lost:
    """Nobody knows whether it arrived."""

    step: str
    fence: int
    detail: str


@dataclass(frozen=True, slots=True)
class Closed:
    """Nothing older can arrive any more."""

    step: str
    fence: int


@dataclass(frozen=True, slots=True)
class SeenThere:
    step: str
    fence: int
    remote: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SeenAbsent:
    """It is not there; `has_settled`: nor can it show up any more. `is_certain`: it is not merely harmless to send it again."""

    step: str
    fence: int
    has_settled: bool = True
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class Unsure:
    """Looking does not tell; `has_settled`: nor will it later."""

    step: str
    fence: int
    detail: str
    has_settled: bool = True


@dataclass(frozen=True, slots=True)
class NotLooked:
    """Looking, or closing, was not possible now; `counts` unless it is no fault of the other side."""

    step: str
    fence: int
    detail: str
    after: timedelta | None = None
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Overtaken:
    """The gateway knows a higher fence."""

    step: str
    fence: int
    detail: str
    known: int | None = None


Event: TypeAlias = (
    Answered
    | HeldBack
    | TurnedDown
    | Questioned
    | Lost
    | Closed
    | SeenThere
    | SeenAbsent
    | Unsure
    | NotLooked
    | Overtaken
)


def decide(
    receipt: Receipt,
    event: Event,
    now: datetime,
    *,
    settles: timedelta = timedelta(seconds=10),
    first_look: timedelta = timedelta(seconds=10),
) -> Receipt | None:
    """The receipt after the event; None if the event comes too late to matter."""
    if event.step != receipt.step or receipt.state is State.CONFIRMED:
        return None
    match event:
        case Answered() | HeldBack() | TurnedDown() | Questioned():
            return _after_send(receipt, event, now) if event.fence == receipt.sent_fence else None
        case Lost() | Overtaken():
            if event.fence != receipt.fence or receipt.state not in {State.ARMED, State.UNKNOWN}:
                return None
            known = event.known or 0 if isinstance(event, Overtaken) else 0
            # The gateway knows more than the database only if the database has forgotten: then somebody may have sent it.
            return replace(
                receipt,
                state=State.UNKNOWN,
                fence=max(receipt.fence, known),
                held_until=None,
                quiet_since=None,
                detail=event.detail,
            )
        case Closed() | SeenThere() | SeenAbsent() | Unsure() | NotLooked():
            if event.fence != receipt.fence or receipt.state is not State.UNKNOWN:
                return None
            return _after_look(receipt, event, now, settles, first_look)
        case _:
            assert_never(event)


def _after_send(
    receipt: Receipt, event: Answered | HeldBack | TurnedDown | Questioned, now: datetime
) -> Receipt | None:
    if isinstance(event, Answered):
        return finish_step(receipt, event.remote)
    if receipt.state not in {State.ARMED, State.UNKNOWN}:
        # A person has been asked, and is to be left to answer.
        return None
    if isinstance(event, Questioned):
        return doubted(receipt, event.detail)
    if isinstance(event, TurnedDown) and receipt.unanswered == receipt.step:
        return doubted(
            receipt,
            f"an attempt before was not answered, and may be there; now it is refused: {event.detail}",
        )
    nothing = replace(
        receipt, sent_fence=0, held_until=None, quiet_since=None, reason=event.reason, detail=event.detail
    )
    if isinstance(event, TurnedDown):
        return replace(nothing, state=State.REFUSED, not_before=None)
    not_before = None if event.after is None else now + min(event.after, _LONGEST_WAIT)
    return replace(nothing, state=State.READY, not_before=not_before)


def _after_look(  # noqa: PLR0911  (one for each event)
    receipt: Receipt,
    event: Closed | SeenThere | SeenAbsent | Unsure | NotLooked,
    now: datetime,
    settles: timedelta,
    first_look: timedelta,
) -> Receipt:
    match event:
        case Closed():
            return replace(receipt, held_until=None, quiet_since=now)
        case SeenThere():
            return finish_step(receipt, event.remote)
        case SeenAbsent() | Unsure() if not event.has_settled and receipt.quiet_since is not None:
            # A server may do what it was asked for after it has given its answer up.
            return replace(receipt, held_until=None, not_before=receipt.quiet_since + settles, looks=0)
        case SeenAbsent():
            # Its own answer, should it come yet, would know better: `sent_fence` stays.
            unanswered = None if event.is_certain else receipt.step
            return replace(
                receipt,
                state=State.READY,
                held_until=None,
                quiet_since=None,
                looks=0,
                unanswered=unanswered,
            )
        case Unsure():
            return doubted(receipt, event.detail)
        case NotLooked():
            looks = receipt.looks + event.counts
            if looks >= MAX_LOOKS:
                return doubted(receipt, f"it could not be looked up: {event.detail}")
            pause = min(first_look * 2 ** min(looks, 10), _LONGEST_PAUSE)
            if event.after is not None:
                pause = min(event.after, _LONGEST_WAIT)
            return replace(receipt, held_until=None, not_before=now + pause, looks=looks)
        case _:
            assert_never(event)
