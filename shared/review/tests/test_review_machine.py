"""One person's decision, two people's, and the same one twice."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from review.decisions import AS_SCHEDULED, Decision, DecisionKind, RecordedDecision
from review.items import Effect, ReviewItem, ScheduledPublication
from review.machine import DecisionOutcome, DecisionRefusal, RefusalReason, decide
from review.rules import CHANNEL_POST, DRAFT, FEED_POST, DraftState, PostState

NOW = datetime(2027, 3, 1, 9, tzinfo=UTC)
LATER = NOW + timedelta(days=1)
DRAFT_2 = ReviewItem(
    DRAFT, UUID(int=7), "waiting", "waiting", 2, "version 2 was made by writer on 2027-02-28 08:00 UTC"
)
POST = replace(DRAFT_2, rules=CHANNEL_POST, newest=1)
APPROVE = Decision(DecisionKind.APPROVE, "ana", 2)


def accepted(item: ReviewItem, decision: Decision) -> DecisionOutcome:
    outcome = decide(item, decision, NOW)
    assert isinstance(outcome, DecisionOutcome), outcome
    return outcome


def refused(item: ReviewItem, decision: Decision) -> DecisionRefusal:
    refusal = decide(item, decision, NOW)
    assert isinstance(refusal, DecisionRefusal), refusal
    return refusal


def test_an_older_version_is_approved_only_by_one_who_knows_the_newer_one() -> None:
    older = replace(APPROVE, version=1)
    refusal = refused(DRAFT_2, older)
    assert refusal.reason is RefusalReason.DECIDED_OTHERWISE
    assert refusal.detail == (
        "version 2 was made by writer on 2027-02-28 08:00 UTC, after version 1:"
        ' approve that one, or say "despite_newer": true'
    )
    outcome = accepted(DRAFT_2, replace(older, despite_newer=True))
    assert (outcome.item.published, outcome.effects) == (1, (Effect.PUBLISH,))


def test_what_a_model_writes_again_is_approved_only_despite_that() -> None:
    returned = accepted(DRAFT_2, Decision(DecisionKind.RETURN, "ana", 2, "shorter")).item
    assert refused(returned, APPROVE).detail.startswith(
        "version 2 was returned by ana on 2027-03-01 09:00 UTC: shorter;"
    )
    outcome = accepted(
        returned, replace(APPROVE, kind=DecisionKind.SCHEDULE, publish_at=LATER, despite_newer=True)
    )
    assert outcome.effects == (Effect.SCHEDULE, Effect.STOP_REWRITE)
    assert (outcome.item.state, outcome.item.beneath) == (DraftState.SCHEDULED, DraftState.WAITING)


def test_the_second_of_two_people_learns_of_the_first() -> None:
    rejected = accepted(DRAFT_2, Decision(DecisionKind.REJECT, "ana", 2, "off our tone")).item
    for late in (
        APPROVE,
        Decision(DecisionKind.RETURN, "ben", 2, "shorter"),
        Decision(DecisionKind.EDIT, "ben", 2),
    ):
        assert refused(rejected, late).detail.startswith(
            "version 2 was rejected by ana on 2027-03-01 09:00 UTC: off our tone; "
        )
    # The same for another reason, and by another person, are decisions of their own.
    for by, reason in (("ana", "another reason"), ("ben", "off our tone")):
        other = Decision(DecisionKind.REJECT, by, 2, reason)
        assert refused(rejected, other).reason is RefusalReason.DECIDED_OTHERWISE
    assert accepted(rejected, Decision(DecisionKind.REJECT, "ana", 2, "off our tone")).effects == ()


def test_a_version_that_does_not_exist_is_unknown_where_versions_are_kept_or_something_waits() -> None:
    for item in (DRAFT_2, replace(DRAFT_2, state="rejected", beneath="rejected"), POST):
        assert refused(item, replace(APPROVE, version=9)).reason is RefusalReason.UNKNOWN_VERSION
    closed = replace(POST, state="rejected", beneath="rejected")
    assert refused(closed, replace(APPROVE, version=9)).reason is RefusalReason.DECIDED_OTHERWISE


@pytest.mark.parametrize(("item", "word"), [(DRAFT_2, "published"), (POST, "posted")])
def test_nothing_is_scheduled_for_the_past(item: ReviewItem, word: str) -> None:
    past = Decision(DecisionKind.SCHEDULE, "ana", item.newest, publish_at=NOW)
    assert refused(item, past) == DecisionRefusal(
        RefusalReason.PAST_TIME, f"publish_at: lies in the past; leave it out to have it {word} now"
    )


def test_a_correction_comes_and_goes_while_its_page_stays() -> None:
    published = accepted(DRAFT_2, APPROVE).item
    edited = accepted(published, Decision(DecisionKind.EDIT, "ben", 2, "a typo"))
    assert edited.effects == (Effect.STORE_VERSION, Effect.OFFER)
    assert (edited.item.state, edited.item.published, edited.item.offered) == ("correction", 2, 3)
    dropped = accepted(edited.item, Decision(DecisionKind.REJECT, "ana", 3, "no typo"))
    assert (dropped.effects, dropped.item.state, dropped.item.published) == ((Effect.OFFER,), "approved", 2)
    assert accepted(dropped.item, Decision(DecisionKind.REJECT, "ana", 3, "no typo")).effects == ()


def test_a_draft_keeps_its_appointment_when_it_is_edited_and_a_post_loses_it() -> None:
    schedule = Decision(DecisionKind.SCHEDULE, "ana", 2, publish_at=LATER)
    draft = accepted(accepted(DRAFT_2, schedule).item, Decision(DecisionKind.EDIT, "ben", 2))
    assert (draft.item.scheduled, draft.effects) == (
        ScheduledPublication(2, LATER, "ana"),
        (Effect.STORE_VERSION,),
    )
    due = accepted(draft.item, Decision(DecisionKind.PUBLISH_DUE))
    assert due.effects == (Effect.PUBLISH, Effect.OFFER, Effect.KEEP_SCHEDULE)
    assert (due.item.state, due.item.published, due.item.offered) == ("correction", 2, 3)
    assert due.record == RecordedDecision("approved", 2, AS_SCHEDULED, "ana", NOW)

    planned = accepted(POST, replace(schedule, version=1)).item
    post = accepted(planned, Decision(DecisionKind.EDIT, "ben", 1))
    assert post.effects == (Effect.STORE_VERSION, Effect.OVERTAKE_SCHEDULE)
    assert (post.item.state, post.item.scheduled, post.item.newest) == (PostState.WAITING, None, 2)


def test_what_was_decided_before_its_time_is_not_published_by_it() -> None:
    planned = accepted(DRAFT_2, Decision(DecisionKind.SCHEDULE, "ana", 2, publish_at=LATER)).item
    # An older release decides, and knows no scheduled publications.
    returned = RecordedDecision("returned", 2, "shorter", "ben", NOW)
    for overtaken in (replace(planned, last=returned), replace(planned, published=2)):
        assert accepted(overtaken, Decision(DecisionKind.PUBLISH_DUE)).effects == (Effect.OVERTAKE_SCHEDULE,)


def test_a_post_with_a_slot_moves_only_when_it_is_to_go_out_at_once() -> None:
    approved = accepted(POST, Decision(DecisionKind.APPROVE, "ana", 1))
    assert approved.item.state == PostState.SCHEDULED
    in_slot = replace(approved.item, scheduled=ScheduledPublication(1, LATER, "ana"))
    assert accepted(in_slot, Decision(DecisionKind.APPROVE, "ben", 1)).effects == ()
    at_once = Decision(DecisionKind.APPROVE, "ben", 1, at_once=True)
    moved = accepted(in_slot, at_once)
    assert moved.effects[0] is Effect.PUBLISH
    assert accepted(replace(moved.item, scheduled=in_slot.scheduled), at_once).effects == ()


def test_an_edit_that_changes_nothing_or_comes_twice_stores_nothing() -> None:
    for item in (DRAFT_2, replace(POST, newest=2)):
        edit = Decision(DecisionKind.EDIT, "ana", 2, "shorter")
        assert accepted(item, replace(edit, stored_as=2)).effects == ()
        after = accepted(item, edit).item
        assert accepted(after, replace(edit, stored_as=3)).effects == ()
        assert refused(after, edit).reason is RefusalReason.DECIDED_OTHERWISE


def test_only_a_page_can_be_taken_down_and_an_approval_brings_it_back() -> None:
    take_down = Decision(DecisionKind.TAKE_DOWN, "ana", comment="a claim")
    on_its_way = accepted(DRAFT_2, APPROVE).item
    assert "has no page" in refused(on_its_way, take_down).detail
    down = accepted(replace(on_its_way, has_page=True), take_down)
    assert (down.item.state, down.effects) == (DraftState.TAKEN_DOWN, (Effect.TAKE_DOWN,))
    assert accepted(down.item, take_down).effects == ()
    assert accepted(down.item, APPROVE).item.published == 2


def test_a_stalled_rewrite_lets_the_draft_wait_again_and_is_no_decision_of_a_person() -> None:
    returned = accepted(DRAFT_2, Decision(DecisionKind.RETURN, "ana", 2, "shorter")).item
    outcome = accepted(returned, Decision(DecisionKind.RESUME, comment="nothing came"))
    assert (outcome.item.state, outcome.effects, outcome.record) == ("waiting", (Effect.RESUME,), None)
    assert refused(DRAFT_2, Decision(DecisionKind.RESUME)).reason is RefusalReason.DECIDED_OTHERWISE


def test_a_failed_post_is_sent_again_once_and_one_in_doubt_is_looked_up_first() -> None:
    failed = replace(POST, state="failed", beneath="failed")
    sent = accepted(failed, Decision(DecisionKind.RETRY))
    assert (sent.effects, sent.record) == ((Effect.SEND_AGAIN,), None)
    assert accepted(sent.item, Decision(DecisionKind.RETRY)).effects == ()
    doubtful = replace(POST, state="in_doubt", beneath="in_doubt")
    assert "look at its receipt" in refused(doubtful, Decision(DecisionKind.RETRY)).detail
    assert "has not failed" in refused(replace(POST, rules=FEED_POST), Decision(DecisionKind.RETRY)).detail


def test_a_decision_that_a_kind_of_item_does_not_know_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        decide(POST, Decision(DecisionKind.RETURN, "ana", 1, "shorter"), NOW)
