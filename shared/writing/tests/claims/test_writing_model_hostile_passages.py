"""Passages made to be slow: a check does no more than so much work on them."""

import random
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest

from writing.model.claims import checking, comparison, extracts, names, numbers, pieces, qualifiers, rules
from writing.model.claims.checking import ClaimVerdict, check
from writing.model.claims.comparison import Evidence
from writing.model.drafting import MAX_PASSAGE

MOST_LINES = 1_200_000
"""Lines of code that a check may run, of the rules and of what compares."""
CITED = 6


def passage(sentences: Sequence[str], heading: str = "Cold brew") -> str:
    return " ".join(sentences)[:MAX_PASSAGE]


def mixed(words: str, size: int, seed: int) -> str:
    """Sentences of these words in ever new orders, so that no two are the same."""
    dice, known = random.Random(seed), words.split()
    enough = 1 + MAX_PASSAGE // (2 * size)  # a word has a letter and a blank at least
    return passage(
        [f"{' '.join(dice.choice(known) for _ in range(size)).capitalize()}." for _ in range(enough)]
    )


TWISTED = "Cold brew in water by cold brew at water with cold brew from water in cold water by brew on cold brew at cold."
HOSTILE = {
    "one sentence again and again": (TWISTED, "Cold brew in water by cold brew. " * 120),
    "its words in ever new orders": (TWISTED, mixed("cold brew water in by at with from on", 90, 1)),
    "short sentences": (TWISTED, mixed("cold brew water in by at with from on", 12, 2)),
    "very long sentences": (TWISTED, mixed("cold brew water in by at with from on", 900, 3)),
    "no end": (TWISTED, "cold brew in water by " * 400),
    "numbers": (
        f"Brew has {' '.join('123456789' * 2)} of 1.",
        mixed("brew has 1 2 3 4 5 6 7 8 9 of", 120, 4),
    ),
    "names": (
        "Ann met Bob in Ann by Bob at Ann from Bob with Ann.",
        mixed("Ann Bob met in by at with from", 90, 5),
    ),
    "pronouns": (TWISTED, mixed("it it it its brew in cold water by at with from on", 90, 6)),
    "quantifiers": (
        "All cold brew in some water by all brew at all water.",
        mixed("all some cold brew water in by at", 90, 7),
    ),
    "clauses": (
        "Cold brew, in water, by cold brew in water, at cold brew.",
        mixed("cold brew, water, but which in by at", 90, 8),
    ),
}


def lines_of(sentence: str, cited: Sequence[Evidence]) -> tuple[ClaimVerdict, int]:
    """The verdict, and how many lines were run for it: what work there was, on any machine."""
    modules = (checking, extracts, pieces, comparison, names, numbers, qualifiers, rules)
    counted = {module.__file__ for module in modules}
    lines = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    def enter(frame: FrameType, _event: str, _argument: Any) -> Any:
        return count if frame.f_code.co_filename in counted else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        verdict = check(sentence, cited)
    finally:
        sys.settrace(before)
    return verdict, lines


@pytest.mark.extended
@pytest.mark.parametrize("form", HOSTILE)
def test_the_work_of_a_check_is_bounded(form: str) -> None:
    sentence, text = HOSTILE[form]
    verdict, lines = lines_of(sentence, [Evidence(f"s{n}p1", "Cold brew", text) for n in range(CITED)])

    assert not verdict.holds
    assert lines <= MOST_LINES


def test_honest_sentences_are_far_from_the_bound() -> None:
    text = " ".join(
        f"Cold brew number {n} is stored in cold water for {n} hours, and tastes milder." for n in range(40)
    )
    _, lines = lines_of(
        "Cold brew number 30 is stored in cold water for 30 hours.", [Evidence("s1p1", "Cold brew", text)]
    )

    assert lines <= MOST_LINES / 10
