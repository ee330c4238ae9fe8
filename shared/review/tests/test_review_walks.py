"""Random walks of people, clocks and writers through a review: no forbidden state occurs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from review.decisions import Decision, DecisionKind
from review.items import Effect, ReviewItem, ScheduledPublication
from review.machine import DecisionOutcome, DecisionRefusal, decide
from review.rules import CHANNEL_POST, DRAFT, FEED_POST, DraftState, PostState, ReviewRules

BEGIN = datetime(2027, 3, 1, 9, tzinfo=UTC)
PEOPLE = strategies.sampled_from(["ana", "ben"])
REASONS = strategies.sampled_from(["off our tone", "shorter"])
BACK = strategies.sampled_from([0, 0, 0, 1])
"""By how many versions a person is behind; mostly not at all."""
FINAL = {DraftState.REJECTED, PostState.POSTED, PostState.CALLED_OFF}
SCHEDULE_ENDS = {Effect.KEEP_SCHEDULE, Effect.CALL_OFF_SCHEDULE, Effect.OVERTAKE_SCHEDULE}


class ReviewWalk(RuleBasedStateMachine):
    """Decisions of two people, who may know an older version, and what happens without them."""

    kind: ReviewRules

    def __init__(self) -> None:
        super().__init__()
        self.now = BEGIN
        self.begin()

    def begin(self) -> None:
        self.item = ReviewItem(
            self.kind, UUID(int=7), "waiting", "waiting", 1, "version 1 was made by writer"
        )
        self.approved_by_a_person: set[int] = set()
        self.closings = 0

    def decided(self, decision: Decision) -> None:
        self.now += timedelta(minutes=1)
        before, outcome = self.item, decide(self.item, decision, self.now)
        if isinstance(outcome, DecisionRefusal):
            assert outcome.detail
            return
        if not outcome.effects:
            assert outcome == DecisionOutcome(before)
            return
        self.check(before, decision, outcome)
        self.item = outcome.item
        if self.kind is DRAFT and outcome.item.published is not None:
            self.item = replace(self.item, has_page=True)
        self.check_repetition(decision)

    def check(self, before: ReviewItem, decision: Decision, outcome: DecisionOutcome) -> None:
        after, effects = outcome.item, outcome.effects
        assert before.state not in FINAL, "an end is an end"
        is_stale = decision.version is not None and decision.version < before.newest
        assert not is_stale or decision.despite_newer, "the second of two people is refused"
        if decision.kind in {DecisionKind.APPROVE, DecisionKind.SCHEDULE}:
            assert decision.version is not None
            self.approved_by_a_person.add(decision.version)
        if Effect.PUBLISH in effects:
            assert outcome.record is not None
            version = outcome.record.version
            planned = before.scheduled and before.scheduled.version
            assert version in self.approved_by_a_person
            assert version == (planned if decision.kind is DecisionKind.PUBLISH_DUE else decision.version)
            assert self.kind.has_slots or after.published == version
        else:
            assert after.published in {before.published, None}, "nothing is published by the way"
        if before.scheduled is not None and after.scheduled is None:
            assert len(SCHEDULE_ENDS & set(effects)) == 1, "a schedule ends once"
        else:
            assert not SCHEDULE_ENDS & set(effects)
        self.closings += Effect.CLOSE in effects
        assert self.closings <= 1
        assert (after.state == DraftState.REJECTED) == (Effect.CLOSE in effects)

    def check_repetition(self, decision: Decision) -> None:
        """The same request once more changes nothing."""
        if decision.kind is DecisionKind.EDIT:
            decision = replace(decision, stored_as=self.item.newest)
        elif decision.kind is DecisionKind.APPROVE and self.kind.has_slots:
            # It has got its slot meanwhile.
            planned = ScheduledPublication(self.item.newest, self.now, "ana")
            self.item = replace(self.item, scheduled=planned)
        if decision.kind is not DecisionKind.RESUME:
            again = decide(self.item, decision, self.now)
            assert again == DecisionOutcome(self.item), (decision, again)

    def version(self, back: int) -> int:
        return max(1, self.item.newest - back)

    @rule(
        by=PEOPLE,
        back=BACK,
        despite=strategies.booleans(),
        at_once=strategies.booleans(),
    )
    def approve(self, by: str, back: int, despite: bool, at_once: bool) -> None:
        despite = despite and self.kind.keeps_versions
        at_once = at_once and self.kind.has_slots
        decision = Decision(
            DecisionKind.APPROVE, by, self.version(back), at_once=at_once, despite_newer=despite
        )
        self.decided(decision)

    @rule(
        by=PEOPLE,
        back=BACK,
        despite=strategies.booleans(),
        hours=strategies.integers(-1, 3),
    )
    def schedule(self, by: str, back: int, despite: bool, hours: int) -> None:
        despite = despite and self.kind.keeps_versions
        at = self.now + timedelta(hours=hours)
        self.decided(
            Decision(DecisionKind.SCHEDULE, by, self.version(back), publish_at=at, despite_newer=despite)
        )

    @rule(by=PEOPLE)
    def unschedule(self, by: str) -> None:
        self.decided(Decision(DecisionKind.UNSCHEDULE, by))

    @rule(by=PEOPLE, back=BACK)
    def edit(self, by: str, back: int) -> None:
        self.decided(Decision(DecisionKind.EDIT, by, self.version(back), "a typo"))

    @rule(by=PEOPLE, back=BACK, reason=REASONS)
    def reject(self, by: str, back: int, reason: str) -> None:
        self.decided(Decision(DecisionKind.REJECT, by, self.version(back), reason))

    @precondition(lambda self: self.item.state in FINAL)
    @rule()
    def begin_another(self) -> None:
        self.begin()

    @invariant()
    def the_parts_of_an_item_agree(self) -> None:
        item = self.item
        assert item.beneath != DraftState.SCHEDULED or self.kind.has_slots
        if item.state == DraftState.SCHEDULED:
            assert item.scheduled is not None
        else:
            assert (item.scheduled, item.beneath) == (None, item.state)
        if item.offered is not None:
            assert item.beneath == DraftState.CORRECTION
            assert item.published is not None
            assert item.published < item.offered <= item.newest


class DraftWalk(ReviewWalk):
    kind = DRAFT

    @rule(by=PEOPLE, back=BACK, reason=REASONS)
    def send_back(self, by: str, back: int, reason: str) -> None:
        self.decided(Decision(DecisionKind.RETURN, by, self.version(back), reason))

    @rule(by=PEOPLE, reason=REASONS)
    def take_down(self, by: str, reason: str) -> None:
        self.decided(Decision(DecisionKind.TAKE_DOWN, by, comment=reason))

    @rule()
    def publish_due(self) -> None:
        self.decided(Decision(DecisionKind.PUBLISH_DUE))

    @rule()
    def resume(self) -> None:
        self.decided(Decision(DecisionKind.RESUME, comment="nothing came"))

    @precondition(lambda self: self.item.state == DraftState.RETURNED)
    @rule()
    def write_again(self) -> None:
        """The writer stores its rewrite, which waits."""
        waiting = DraftState.WAITING
        self.item = replace(self.item, state=waiting, beneath=waiting, newest=self.item.newest + 1)


class FeedPostWalk(ReviewWalk):
    kind = FEED_POST

    @rule()
    def publish_due(self) -> None:
        self.decided(Decision(DecisionKind.PUBLISH_DUE))


class ChannelPostWalk(ReviewWalk):
    kind = CHANNEL_POST

    @rule()
    def retry(self) -> None:
        self.decided(Decision(DecisionKind.RETRY))

    @precondition(lambda self: self.item.state in {PostState.SCHEDULED, PostState.SENDING})
    @rule(
        state=strategies.sampled_from(
            [PostState.SENDING, PostState.POSTED, PostState.FAILED, PostState.IN_DOUBT]
        )
    )
    def send(self, state: PostState) -> None:
        """What sending comes to."""
        is_out = state in {PostState.SENDING, PostState.POSTED}
        published = self.item.newest if is_out else None
        self.item = replace(self.item, state=state, beneath=state, published=published, scheduled=None)


TestDraftWalk = DraftWalk.TestCase
TestFeedPostWalk = FeedPostWalk.TestCase
TestChannelPostWalk = ChannelPostWalk.TestCase
TestDraftWalk.settings = TestFeedPostWalk.settings = TestChannelPostWalk.settings = settings(
    derandomize=True, deadline=None, max_examples=60, stateful_step_count=40
)
