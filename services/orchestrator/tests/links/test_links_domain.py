"""What answers say of a link."""

from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.links.domain import LinkStatus, ProbeAnswer, ProbeOutcome, answered, together, update_status

NOW = datetime(2026, 3, 1, tzinfo=UTC)
THERE, GONE = ProbeAnswer(ProbeOutcome.THERE), ProbeAnswer(ProbeOutcome.GONE, "its site answered 404")
UNSURE = ProbeAnswer(ProbeOutcome.UNSURE, "it did not answer in time")


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, "there"), (301, "there"), (404, "gone"), (410, "gone"), (403, "unsure"), (500, "unsure")],
)
def test_only_who_says_so_himself_is_gone(status: int, outcome: str) -> None:
    assert answered("its site", status).outcome == outcome


def test_rounds_are_counted_and_the_same_answer_twice_in_a_round_is_one() -> None:
    first = update_status(None, GONE, NOW)
    again = update_status(first, GONE, NOW + timedelta(hours=1))
    next_week = update_status(again, GONE, NOW + timedelta(days=7))
    back = update_status(next_week, THERE, NOW + timedelta(days=14))

    assert first == again == LinkStatus(ProbeOutcome.GONE, GONE.detail, NOW, 1, NOW)
    assert (next_week.rounds, next_week.since) == (2, NOW)
    assert (back.outcome, back.rounds, back.since) == (ProbeOutcome.THERE, 1, NOW + timedelta(days=14))


@pytest.mark.parametrize(
    ("inside", "outside", "found"),
    [
        (THERE, UNSURE, THERE),  # such as an address that is not public
        (THERE, GONE, GONE),
        (GONE, THERE, GONE),
        (UNSURE, None, UNSURE),
        (None, UNSURE, UNSURE),
        (THERE, None, THERE),
    ],
)
def test_a_page_is_there_if_nobody_says_otherwise(
    inside: ProbeAnswer | None, outside: ProbeAnswer | None, found: ProbeAnswer
) -> None:
    assert together(inside, outside) == found
