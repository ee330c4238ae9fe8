"""The state machine of a receipt against a world that loses, delays and repeats everything: never two of one step."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from receipts.domain import decisions, events, moves
from receipts.domain.moves import Close, LookUp, Send, Wait
from receipts.domain.receipt import Receipt, ReceiptState, StepTraits, has_settled

SETTLES = timedelta(seconds=60)
FIRST_LOOK = timedelta(seconds=10)
LEASE = timedelta(seconds=20)
MADE = Receipt(UUID(int=1), "plain", "plain", "acme", "an item", {}, ("first", "second"))


class Handler:
    """Whoever has taken the receipt up: he may be paused at any point, and go on much later."""

    def __init__(self, move: Send | Close | LookUp, fence: int, until: datetime) -> None:
        self.move = move
        self.fence = fence
        self.until = until
        self.has_asked = False
        self.has_settled = False
        self.event: events.ReceiptEvent | None = None
        """What he has to tell, and has not told yet."""


class Effects(RuleBasedStateMachine):
    """The other side shows what has arrived `SETTLES` later at the latest; the gateway knows the highest fence it was told."""

    handlers: Bundle[Handler] = Bundle("handlers")

    @initialize(looks=st.booleans(), repeatable=st.booleans())
    def begin(self, looks: bool, repeatable: bool) -> None:
        self.steps = [
            StepTraits(
                "first",
                looks=looks,
                repeatable=repeatable,
                settles=SETTLES,
                lease=LEASE,
                first_look=FIRST_LOOK,
            ),
            StepTraits(
                "second", looks=True, repeatable=False, settles=SETTLES, lease=LEASE, first_look=FIRST_LOOK
            ),
        ]
        self.now = datetime(2027, 3, 1, tzinfo=UTC)
        self.receipt = MADE
        self.gate = 0
        self.arrived: dict[str, list[datetime]] = {"first": [], "second": []}

    @rule(seconds=st.sampled_from([1, 11, 70, 700]))
    def time_passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(target=handlers)
    def somebody_takes_it_up(self) -> Any:
        self.receipt, move = moves.next_move(self.receipt, self.steps, self.now)
        if isinstance(move, Wait):
            assert move.after > timedelta()
        if isinstance(move, Send | Close | LookUp):
            handler = Handler(move, self.receipt.fence, self.now + LEASE)
            handler.has_settled = has_settled(self.receipt, SETTLES, self.now)
            return handler
        return multiple()

    @rule(handler=handlers, outcome=st.sampled_from(["arrives", "is lost", "gone", "refused"]))
    def he_goes_on(self, handler: Handler, outcome: str) -> None:
        """By one step: he asks, or hears what came of it; or is gone for good."""
        if handler.event is not None:
            if outcome != "gone":
                self._hear(handler.event)
            handler.event = None
        elif not handler.has_asked:
            handler.has_asked = True
            handler.event = self._asked(handler, outcome)

    def _asked(self, handler: Handler, outcome: str) -> events.ReceiptEvent:  # noqa: PLR0911  (one for each answer)
        step, fence = handler.move.step, handler.fence
        if fence < self.gate:
            return events.FenceOvertaken(step, fence, "somebody else has taken it up", self.gate)
        if isinstance(handler.move, Send) and self.now >= handler.until:
            return events.StepNotSent(step, fence, "late", "it was too late")
        self.gate = fence
        match handler.move:
            case Send():
                if outcome == "gone":
                    return events.StepNotSent(step, fence, "unreachable", "no connection")
                if outcome == "refused":
                    return events.StepRefused(step, fence, "refused", "it wants none of it")
                self.arrived[step].append(self.now)
                lost = events.OutcomeUnknown(step, fence, "no answer")
                return events.StepAccepted(step, fence, {step: str(fence)}) if outcome == "arrives" else lost
            case Close():
                return events.EarlierSendsClosed(step, fence)
            case LookUp():
                if outcome == "gone":
                    return events.LookUpFailed(step, fence, "no connection")
                if any(moment + SETTLES <= self.now for moment in self.arrived[step]):
                    return events.EffectSeen(step, fence, {step: "seen"})
                return events.EffectNotSeen(step, fence, handler.has_settled)

    @precondition(lambda self: self.receipt.state is ReceiptState.IN_DOUBT)
    @rule()
    def a_person_decides(self) -> None:
        """By what is there: that nothing more comes after he has looked, the closed gate sees to."""
        step = self.receipt.step
        assert step is not None
        if self.arrived[step]:
            self.receipt = decisions.confirm(self.receipt, {step: "seen"})
        else:
            self.receipt = decisions.repeat(self.receipt)

    def _hear(self, event: events.ReceiptEvent) -> None:
        before = self.receipt
        after = events.decide(before, event, self.now, settles=SETTLES, first_look=FIRST_LOOK)
        if after is not None:
            assert after.fence >= before.fence
            assert set(before.done) <= set(after.done)
            self.receipt = after

    @invariant()
    def there_are_never_two(self) -> None:
        for step in getattr(self, "steps", ()):
            assert len(self.arrived[step.name]) <= 1 or step.repeatable, step

    @invariant()
    def what_is_confirmed_is_there(self) -> None:
        for step in getattr(self, "receipt", MADE).done:
            assert self.arrived[step]

    @invariant()
    def what_is_refused_is_not_there(self) -> None:
        receipt = getattr(self, "receipt", MADE)
        if receipt.state is ReceiptState.REFUSED:
            assert not self.arrived[receipt.step]


TestEffects = Effects.TestCase
TestEffects.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)


def test_a_restored_database_does_not_send_what_the_gateway_has_seen() -> None:
    """The receipt is as it was before anything was sent; the gateway knows of a later fence: somebody may have sent it."""
    now = datetime(2027, 3, 1, tzinfo=UTC)
    steps = [
        StepTraits("first", looks=True, repeatable=False, settles=SETTLES, lease=LEASE, first_look=FIRST_LOOK)
    ]
    receipt, move = moves.next_move(replace(MADE, steps=("first",)), steps, now)
    assert move == Send("first")
    after = events.decide(receipt, events.FenceOvertaken("first", receipt.fence, "seen", known=7), now)
    assert after is not None
    _, move = moves.next_move(after, steps, now)
    assert move == Close("first")


def test_what_was_seen_before_another_send_says_nothing_about_that() -> None:
    """The first to look was paused; another has looked since, and sent, and lost the answer."""
    now = datetime(2027, 3, 1, tzinfo=UTC)
    unknown = replace(MADE, step="first", state=ReceiptState.UNKNOWN, fence=6, sent_fence=5, quiet_since=now)
    assert events.decide(unknown, events.EffectNotSeen("first", 3), now) is None
    assert events.decide(unknown, events.EffectNotSeen("first", 6), now) is not None
