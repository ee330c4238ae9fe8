"""The state machine of a receipt against a world that loses, delays and repeats everything: never two of one step."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from receipts import domain
from receipts.domain import Close, Look, Receipt, Send, State, Traits, Wait

SETTLES = timedelta(seconds=10)
LEASE = timedelta(seconds=20)
MADE = Receipt(UUID(int=1), "plain", "plain", "acme", "an item", {}, ("first", "second"))


class Handler:
    """Whoever has taken the receipt up: he may be paused at any point, and go on much later."""

    def __init__(self, move: Send | Close | Look, fence: int, until: datetime) -> None:
        self.move = move
        self.fence = fence
        self.until = until
        self.sent: bool | None = None
        """None: he has not come to it; else whether it has arrived."""


class Effects(RuleBasedStateMachine):
    """The other side shows what has arrived `SETTLES` later at the latest; the gateway knows the highest fence it was told."""

    @initialize(looks=st.booleans(), repeatable=st.booleans())
    def begin(self, looks: bool, repeatable: bool) -> None:
        self.steps = [
            Traits("first", looks=looks, repeatable=repeatable, settles=SETTLES, lease=LEASE),
            Traits("second", looks=True, repeatable=False, settles=SETTLES, lease=LEASE),
        ]
        self.now = datetime(2027, 3, 1, tzinfo=UTC)
        self.receipt = MADE
        self.handlers: list[Handler] = []
        self.gate = 0
        self.arrived: dict[str, list[datetime]] = {"first": [], "second": []}
        self.told_doubt = False

    @rule(seconds=st.sampled_from([0.1, 1, 11, 21, 700]))
    def time_passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @rule()
    def somebody_takes_it_up(self) -> None:
        self.receipt, move = domain.take_up(self.receipt, self.steps, self.now)
        if isinstance(move, Wait):
            assert move.after > timedelta()
        if isinstance(move, Send | Close | Look):
            self.handlers.append(Handler(move, self.receipt.fence, self.now + LEASE))

    def _of(self, kind: type, data: st.DataObject) -> Handler | None:
        found = [each for each in self.handlers if isinstance(each.move, kind)]
        return data.draw(st.sampled_from(found)) if found else None

    @rule(data=st.data(), arrives=st.booleans())
    def he_sends(self, data: st.DataObject, arrives: bool) -> None:
        """Nothing leaves the gateway with a lower fence than it knows, or once the time of the step is over."""
        handler = self._of(Send, data)
        if handler is None or handler.sent is not None:
            return
        if handler.fence < self.gate or self.now >= handler.until:
            self._hear(domain.HeldBack(handler.move.step, handler.fence, "late", "it was too late"))
            self.handlers.remove(handler)
            return
        self.gate = handler.fence
        handler.sent = arrives
        if arrives:
            self.arrived[handler.move.step].append(self.now)

    @rule(data=st.data(), outcome=st.sampled_from(["told", "lost", "gone"]))
    def he_hears_of_it(self, data: st.DataObject, outcome: str) -> None:
        handler = self._of(Send, data)
        if handler is None or handler.sent is None:
            return
        self.handlers.remove(handler)
        step, fence = handler.move.step, handler.fence
        if outcome == "lost":
            self._hear(domain.Lost(step, fence, "no answer"))
        elif outcome == "told" and handler.sent:
            self._hear(domain.Answered(step, fence, {step: str(fence)}))
        elif outcome == "told":
            self._hear(domain.HeldBack(step, fence, "unreachable", "no connection"))

    @rule(data=st.data())
    def he_closes(self, data: st.DataObject) -> None:
        handler = self._of(Close, data)
        if handler is None:
            return
        self.handlers.remove(handler)
        step, fence = handler.move.step, handler.fence
        if fence < self.gate:
            self._hear(domain.Overtaken(step, fence, "somebody else has taken it up", self.gate))
            return
        self.gate = fence
        self._hear(domain.Closed(step, fence))

    @rule(data=st.data(), possible=st.booleans())
    def he_looks(self, data: st.DataObject, possible: bool) -> None:
        handler = self._of(Look, data)
        if handler is None:
            return
        self.handlers.remove(handler)
        step, fence = handler.move.step, handler.fence
        if fence < self.gate:
            self._hear(domain.Overtaken(step, fence, "somebody else has taken it up", self.gate))
        elif not possible:
            self._hear(domain.NotLooked(step, fence, "no connection"))
        elif any(moment + SETTLES <= self.now for moment in self.arrived[step]):
            self._hear(domain.SeenThere(step, fence, {step: "seen"}))
        else:
            self._hear(domain.SeenAbsent(step, fence))

    @precondition(lambda self: self.receipt.state is State.IN_DOUBT)
    @rule()
    def a_person_decides(self) -> None:
        """By what is there: that nothing more comes after he has looked, the closed gate sees to."""
        step = self.receipt.step
        assert step is not None
        if self.arrived[step]:
            self.receipt = domain.confirm(self.receipt, {step: "seen"})
        else:
            self.receipt = domain.repeat(self.receipt)

    def _hear(self, event: domain.Event) -> None:
        before = self.receipt
        after = domain.decide(before, event, self.now, settles=SETTLES)
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


TestEffects = Effects.TestCase
TestEffects.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_a_restored_database_does_not_send_what_the_gateway_has_seen() -> None:
    """The receipt is as it was before anything was sent; the gateway knows of a later fence: somebody may have sent it."""
    now = datetime(2027, 3, 1, tzinfo=UTC)
    steps = [Traits("first", looks=True, repeatable=False, settles=SETTLES, lease=LEASE)]
    receipt, move = domain.take_up(replace(MADE, steps=("first",)), steps, now)
    assert move == Send("first")
    after = domain.decide(receipt, domain.Overtaken("first", receipt.fence, "seen", known=7), now)
    assert after is not None
    _, move = domain.take_up(after, steps, now)
    assert move == Close("first")
