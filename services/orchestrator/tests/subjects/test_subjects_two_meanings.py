"""Pairs that the rules are known to fold wrongly, as no rule on words can tell them: a person can."""

from typing import Any

import pytest

from orchestrator.subjects.deciding import split_subject

Desk = Any
"""See conftest.py."""
BRAND = "daily-grind"


async def test_a_word_with_two_meanings_is_one_subject_until_somebody_says_otherwise(desk: Desk) -> None:
    first = await desk.hand_in("date")
    await desk.publish(first, "date")

    folded = await desk.hand_in("dates")

    assert await desk.states(folded) == ["completed"]
    assert await desk.asked() == ["date"]


@pytest.mark.parametrize("says", ["distinct", "split"])
async def test_each_meaning_has_an_article_once_somebody_says_that_they_are_two(
    desk: Desk, says: str
) -> None:
    first = await desk.hand_in("date")
    await desk.publish(first, "date")
    if says == "split":
        async with desk.database.transaction() as tx:
            assert await split_subject(tx.connection, BRAND, "dates", by="somebody")

    second = await desk.hand_in("dates", distinct=says == "distinct")
    await desk.publish(second, "dates")
    third = await desk.hand_in("dates", distinct=says == "distinct")

    assert await desk.states(third) == ["completed"]
    assert await desk.asked() == ["date", "dates"]
