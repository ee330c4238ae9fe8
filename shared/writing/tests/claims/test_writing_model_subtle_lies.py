"""Lies that keep to the words of their source, and to their order: each is caught by a rule that is not about it alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from writing.model.claims.checking import check
from writing.model.claims.comparison import Evidence
from writing.model.claims.wording import stem

LIES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "drafts" / "subtle_lies.json").read_text()
)


@pytest.mark.parametrize("lie", LIES, ids=[lie["said"] for lie in LIES])
def test_a_subtle_lie_is_caught(lie: dict[str, Any]) -> None:
    assert not check(lie["said"], [Evidence("s1p1", lie.get("heading"), lie["source"])]).holds


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("The house cost 2 million dollars.", "The house cost 2 million dollars, and Ann paid them."),
        ("The air cooled to -40 degrees.", "The air cooled to \u221240 degrees."),
        ("Rents rose by 5 to 10 percent.", "Rents rose by 5 to 10 percent, and wages fell."),
        ("The bridge will open in 2030.", "The bridge will open in 2030, and trains will cross it."),
        ("The town had 900 houses before the flood.", "Before the flood, the town had 900 houses."),
        ("Doctors hope that the drug cures cancer.", "Doctors hope that the drug cures cancer, and test it."),
        ("Patients take aspirin or warfarin.", "Patients take aspirin or warfarin, and rest."),
        ("Compost needs air, water and warmth.", "Compost needs air, water and warmth."),
        ("Wolves lived in Britain.", "Wolves lived in Britain. This is well known."),
    ],
)
def test_what_these_rules_are_not_about_holds(said: str, source: str) -> None:
    assert check(said, [Evidence("s1p1", None, source)]).holds


def test_words_that_differ_by_a_silent_letter_are_different_words() -> None:
    for one, other in (("plan", "plane"), ("hop", "hope"), ("car", "care")):
        assert stem(one) != stem(other)
    for forms in (
        "hop hops hopped hopping",
        "hope hopes hoped hoping",
        "store stores stored storing",
        "base bases based",
    ):
        assert len({stem(word) for word in forms.split()}) == 1, forms
    assert stem("news") != stem("new")
