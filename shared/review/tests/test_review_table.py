"""What every decision does in every state, for each kind of item: the table of the README."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from review.decisions import Decision, DecisionKind, RecordedDecision
from review.items import ReviewItem, ScheduledPublication
from review.machine import DecisionOutcome, decide
from review.rules import CHANNEL_POST, DRAFT, FEED_POST, DraftState, PostState, ReviewRules

README = Path(__file__).parents[1] / "README.md"
NOW = datetime(2027, 3, 1, 9, tzinfo=UTC)
LATER = NOW + timedelta(days=1)
PLANNED = ScheduledPublication(1, LATER, "ana")
SCHEDULED = RecordedDecision("scheduled", 1, "", "ana", NOW)
WAITING = ReviewItem(
    DRAFT, UUID(int=7), DraftState.WAITING, DraftState.WAITING, 1, "version 1 was made by writer"
)


def in_state(item: ReviewItem, state: str, **more: object) -> ReviewItem:
    return replace(item, state=state, beneath=state, **more)  # type: ignore[arg-type]


APPROVED = in_state(WAITING, DraftState.APPROVED, published=1, has_page=True)
CORRECTION = in_state(APPROVED, DraftState.CORRECTION, offered=2, newest=2)
DRAFTS = {
    "waiting": WAITING,
    "scheduled": replace(WAITING, state=DraftState.SCHEDULED, scheduled=PLANNED, last=SCHEDULED),
    "returned": in_state(WAITING, DraftState.RETURNED),
    "approved": APPROVED,
    "correction": CORRECTION,
    "scheduled correction": replace(
        CORRECTION, state=DraftState.SCHEDULED, scheduled=replace(PLANNED, version=2), last=SCHEDULED
    ),
    "taken_down": in_state(WAITING, DraftState.TAKEN_DOWN, has_page=True),
    "rejected": in_state(WAITING, DraftState.REJECTED),
}


def posts(rules: ReviewRules, *states: PostState) -> dict[str, ReviewItem]:
    """A post in each of these states."""
    out = {PostState.SENDING, PostState.POSTED}
    waiting = replace(WAITING, rules=rules)
    planned = replace(waiting, state=PostState.SCHEDULED, scheduled=PLANNED, last=SCHEDULED)
    ends = {state: in_state(waiting, state, published=1 if state in out else None) for state in states}
    return {"waiting": waiting, "scheduled": planned, **{state.value: item for state, item in ends.items()}}


TABLES = {
    "Drafts": (DRAFT, DRAFTS),
    "Posts in the built-in feed": (FEED_POST, posts(FEED_POST, PostState.POSTED, PostState.REJECTED)),
    "Posts on other platforms": (
        CHANNEL_POST,
        posts(
            CHANNEL_POST,
            PostState.SENDING,
            PostState.POSTED,
            PostState.FAILED,
            PostState.IN_DOUBT,
            PostState.CALLED_OFF,
            PostState.REJECTED,
        ),
    ),
}


def decision_of(kind: DecisionKind, item: ReviewItem) -> Decision:
    """A decision about the newest version, with all that this kind takes."""
    return Decision(
        kind,
        "ben",
        item.newest,
        comment="so",
        publish_at=LATER + timedelta(days=1) if kind is DecisionKind.SCHEDULE else None,
        # Of what is approved already, an older or a newer version: the same one changes nothing.
        despite_newer=True,
    )


def cell(item: ReviewItem, kind: DecisionKind) -> str:
    outcome = decide(item, decision_of(kind, item), NOW)
    if not isinstance(outcome, DecisionOutcome):
        return "refused"
    if not outcome.effects:
        return "unchanged"
    effects = ", ".join(effect.value for effect in outcome.effects)
    return f"**{outcome.item.state}**: {effects}"


def table(rules: ReviewRules, items: dict[str, ReviewItem]) -> str:
    rows = [["state", *(kind.name.lower() for kind in rules.decisions)], ["---"] * (len(rules.decisions) + 1)]
    rows += [[state, *(cell(item, kind) for kind in rules.decisions)] for state, item in items.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@pytest.mark.parametrize("name", TABLES)
def test_the_readme_says_what_each_decision_does_in_each_state(name: str) -> None:
    rules, items = TABLES[name]
    assert f"### {name}\n\n{table(rules, items)}\n" in README.read_text(), table(rules, items)


@pytest.mark.parametrize("name", TABLES)
def test_every_state_of_a_rule_is_in_the_table(name: str) -> None:
    rules, items = TABLES[name]
    shown = {item.state for item in items.values()}
    for rule in rules.decisions.values():
        assert set(rule.leads) <= shown
        assert set(rule.leads.values()) <= shown | {"beneath"}


@pytest.mark.parametrize("name", TABLES)
def test_a_refusal_names_what_happened_and_what_to_do(name: str) -> None:
    rules, items = TABLES[name]
    for item in items.values():
        for kind in rules.decisions:
            decided = decide(item, decision_of(kind, item), NOW)
            if not isinstance(decided, DecisionOutcome):
                happened, advice = decided.detail.split("; ", 1)
                assert happened.startswith(("the ", "version "))
                assert advice == rules.decisions[kind].refusals.get(item.state, rules.decisions[kind].refusal)
