"""What may become of a receipt: pure decisions, with times from the database's clock.

    ready --arm--> armed --answered--> ready (the next step) … confirmed
                   armed --not sent--> ready        armed --refused--> refused, or in_doubt after a lost answer
                   armed --no answer, or its lease is over--> unknown
    unknown --close, wait, look--> found: as answered | absent: ready | unclear, or nothing to look with: in_doubt
    any of them --the account is connected as another user--> in_doubt, if anything of it may be there
    in_doubt --a person confirms--> as answered       in_doubt --a person has it repeated--> ready

Whoever takes a receipt up gets a higher fence than everybody before, and holds it until its lease is over. An answer that comes
late is believed as long as nothing else has been sent since: it knows better than any look-up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, TypeAlias, assert_never
from uuid import UUID

MAX_LOOKS: Final = 8
"""Look-ups in a row that could not be made, before a person is asked."""
_LONGEST_PAUSE: Final = timedelta(minutes=10)
_LONGEST_WAIT: Final = timedelta(days=1)
"""Whoever asks for more is obeyed no further."""
_OF_USER: Final = "user:"
"""Before identities that name a user at the other side; others name a connection, and change whenever somebody reconnects."""
_IDENTITY_PAUSE: Final = timedelta(seconds=10)
"""Until the gateway is asked again who an account is."""


class State(StrEnum):
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
    state: State = State.READY
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
class Traits:
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


def asked_anew(
    receipt: Receipt, *, kind: str, account: str, subject: str, prepared: Mapping[str, Any]
) -> Receipt:
    """With other texts, ids and times: as long as nothing of it has ever happened."""
    return replace(receipt, kind=kind, account=account, subject=subject, prepared=prepared)


def suspected(receipt: Receipt, steps: Sequence[Traits]) -> Receipt:
    """A receipt that takes the place of one that the database has lost: its effect may be there.

    An effect with one step that people see, and that can be looked up, is looked up first. Any other is in doubt: which of several
    steps have had their effect nobody knows, and what made a step repeatable may have been lost with the receipt.
    """
    visible = [step for step in steps if not step.unseen]
    if not visible:
        return receipt
    may_be_there = replace(receipt, state=State.UNKNOWN, step=visible[0].name)
    if len(visible) == 1 and visible[0].looks and not visible[0].repeatable:
        return may_be_there
    return doubted(may_be_there, "the database has lost what was known of it, and it may be there")


# -- what is to be done next -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    step: str


@dataclass(frozen=True, slots=True)
class Close:
    """Have the gateway refuse what is older, and wait for what it is still sending."""

    step: str


@dataclass(frozen=True, slots=True)
class Look:
    step: str


@dataclass(frozen=True, slots=True)
class Wait:
    after: timedelta
    why: str


@dataclass(frozen=True, slots=True)
class Identify:
    """Find out as whom the account is connected, and take the receipt up with that."""


@dataclass(frozen=True, slots=True)
class Over:
    pass


@dataclass(frozen=True, slots=True)
class Doubt:
    pass


Move: TypeAlias = Send | Close | Look | Wait | Identify | Over | Doubt


def take_up(  # noqa: PLR0911  (one for each move)
    receipt: Receipt, steps: Sequence[Traits], now: datetime, identities: Sequence[str] | None = ()
) -> tuple[Receipt, Move]:
    """What whoever asks for the effect is to do now, and the receipt as it has to be written before he does.

    Args:
        receipt: as it stands.
        steps: those of the effect, in order.
        now: by the database's clock.
        identities: as whom the account is connected, the most telling first; empty: nobody knows; None: nobody has asked yet.
    """
    if receipt.state is State.CONFIRMED:
        return receipt, Over()
    if receipt.state is State.IN_DOUBT:
        return receipt, Doubt()
    if (wait := _wait(receipt, now)) is not None:
        return receipt, wait
    if identities is None:
        return receipt, Identify()
    receipt = replace(receipt, steps=tuple(step.name for step in steps))
    following = _following(receipt, steps)
    if following is None:
        return _confirmed(receipt), Over()
    receipt, hindrance = _as_connected(receipt, steps, following, identities)
    if hindrance is not None:
        return receipt, hindrance
    if receipt.state in {State.ARMED, State.UNKNOWN}:
        return _looked_up(receipt, steps, now)
    step = _following(receipt, steps) or following
    armed = _armed(receipt, step, now)
    return replace(armed, identity=armed.identity or next(iter(identities), None)), Send(step.name)


def _following(receipt: Receipt, steps: Sequence[Traits]) -> Traits | None:
    return next((step for step in steps if step.name not in receipt.done), None)


def _as_connected(
    receipt: Receipt, steps: Sequence[Traits], following: Traits, identities: Sequence[str]
) -> tuple[Receipt, Wait | Doubt | None]:
    """The receipt as it goes on with the user as whom its account is connected now, and what keeps it from going on."""
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
        return doubted(replace(receipt, step=receipt.step or following.name), detail), Doubt()
    # After a person has had it repeated, nobody knows for whom the steps before were.
    is_unknown = receipt.identity is None and bool(identities) and bool(receipt.done)
    return (_begun_anew(receipt) if is_unknown or not is_same else receipt), None


def _is_same_user(begun_as: str | None, identities: Sequence[str]) -> bool | None:
    """Whether an account is connected as the user for whom something was begun, as far as anybody knows; None: not known yet."""
    if begun_as is None or not identities or begun_as in identities:
        return True
    if begun_as.startswith(_OF_USER) and not any(each.startswith(_OF_USER) for each in identities):
        return None
    return False


def _may_be_seen(receipt: Receipt, steps: Sequence[Traits]) -> bool:
    """Whether something of it may be there that people see."""
    unseen = {step.name for step in steps if step.unseen}
    tried = {*receipt.done, receipt.unanswered}
    if receipt.state in {State.ARMED, State.UNKNOWN}:
        tried.add(receipt.step)
    return bool(tried - unseen - {None})


def _begun_anew(receipt: Receipt) -> Receipt:
    """For another user: what was left for the one before is of no use to this one, and nobody sees it."""
    return replace(
        receipt,
        state=State.READY,
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


def _looked_up(receipt: Receipt, steps: Sequence[Traits], now: datetime) -> tuple[Receipt, Move]:
    """For what was sent, and nobody has said what became of it."""
    step = next((step for step in steps if step.name == receipt.step), None)
    if step is None:
        return doubted(receipt, f"this version knows no step {receipt.step} any more"), Doubt()
    if step.repeatable:
        return _armed(receipt, step, now), Send(step.name)
    if receipt.quiet_since is None:
        return _held(receipt, step, now), Close(step.name)
    if not step.looks:
        return doubted(receipt, receipt.detail or "whoever sent it was gone before it was answered"), Doubt()
    if now < (first := receipt.quiet_since + min(step.first_look, step.settles)):
        return receipt, Wait(first - now, "what was sent may still show up")
    return _held(receipt, step, now), Look(step.name)


def has_settled(receipt: Receipt, settles: timedelta, now: datetime) -> bool:
    """Whether a look-up that begins now sees everything that may ever show up."""
    return receipt.quiet_since is not None and receipt.quiet_since + settles <= now


def _armed(receipt: Receipt, step: Traits, now: datetime) -> Receipt:
    fence = receipt.fence + 1
    unanswered = receipt.unanswered if receipt.unanswered == step.name else None
    if receipt.state in {State.ARMED, State.UNKNOWN} and not step.unseen:
        unanswered = step.name
    return replace(
        receipt,
        state=State.ARMED,
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


def _held(receipt: Receipt, step: Traits, now: datetime) -> Receipt:
    return replace(
        receipt,
        state=State.UNKNOWN,
        fence=receipt.fence + 1,
        held_until=now + step.lease,
        not_before=None,
    )


def doubted(receipt: Receipt, detail: str) -> Receipt:
    """Something of the step at hand may be there, and nobody but a person can tell."""
    return replace(
        receipt, state=State.IN_DOUBT, held_until=None, not_before=None, reason="in_doubt", detail=detail
    )


def _confirmed(receipt: Receipt) -> Receipt:
    return replace(
        receipt,
        state=State.CONFIRMED,
        step=None,
        held_until=None,
        not_before=None,
        quiet_since=None,
        looks=0,
        reason="",
        detail="",
    )


# -- what has happened -------------------------------------------------------------------------------------------------


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
        return _stepped(receipt, event.remote)
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
            return _stepped(receipt, event.remote)
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


def _stepped(receipt: Receipt, remote: Mapping[str, Any]) -> Receipt:
    """With the step behind it."""
    assert receipt.step is not None
    done = (*receipt.done, receipt.step)
    further = replace(
        receipt,
        state=State.READY,
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
    return further if set(receipt.steps) - set(done) else _confirmed(further)


# -- what a person decides ---------------------------------------------------------------------------------------------


class DecidedOtherwiseError(Exception):
    """It is not in doubt (any more); says what it is."""


def confirm(receipt: Receipt, remote: Mapping[str, Any]) -> Receipt:
    """The step in doubt has had its effect, says a person who has seen it.

    Raises:
        DecidedOtherwiseError: it is not in doubt.
    """
    _in_doubt(receipt)
    return _stepped(receipt, remote)


def repeat(receipt: Receipt) -> Receipt:
    """The step in doubt has had none, says a person who has looked: it is sent again.

    Raises:
        DecidedOtherwiseError: it is not in doubt.
    """
    _in_doubt(receipt)
    return replace(receipt, state=State.READY, reason="", detail="", identity=None, unanswered=None)


def give_up(receipt: Receipt, steps: Sequence[Traits]) -> Receipt | None:
    """Nobody tries any more. In doubt if something of the step at hand may be there that people see; else None."""
    step = next((step for step in steps if step.name == receipt.step), None)
    if step is None or step.unseen:
        return None
    is_open = receipt.state in {State.ARMED, State.UNKNOWN}
    if is_open or (receipt.state is State.READY and receipt.unanswered == step.name):
        return doubted(receipt, f"it was tried as often as may be, and never answered: {receipt.detail}")
    return None


def _in_doubt(receipt: Receipt) -> None:
    if receipt.state is not State.IN_DOUBT:
        raise DecidedOtherwiseError(f"{receipt.subject} is not in doubt: it is {receipt.state.value}")
