"""Which sentences an article may begin with, and which only explain the heading above them."""

import pytest

from documents.words import stems_of
from writing.extractive.openings import (
    begins_with_pronoun,
    is_gloss,
    is_weak,
    needs_before,
    says_what_its_heading_is,
    speaks_of,
    speaks_of_its_heading,
)


@pytest.mark.parametrize(
    "text",
    [
        "In spite of the previously mentioned kilns, some potters fire in pits.",
        "A brief reminder: the damper is the lid of the chimney.",
        "Previous sections have assumed that the kiln is loaded.",
        "Pits having been judged too cold, pots will be fired in a chamber.",
        "The potter then needs to open the damper.",
        "The first (real) step consists in finding clay.",
        "By surrounding these shelves with bricks, the chamber keeps its heat.",
        "To take over its care, look into the chamber.",
        "See the manual of the maker for its temperatures.",
        "As an example, a pot is fired.",
        "Previously, all kilns were built of stone.",
        "First, open the damper.",
        "Assuming you have a chamber, close its door.",
        "The main differences are that gas is cheaper and that wood smells.",
        "The following table lists the makers of kilns.",
        "The first, md5sums, lists the pots.",
        "Optionally, each potter can have a kiln.",
        "To make firing easier, they want to stack the pots.",
    ],
)
def test_needs_something_before_it(text: str) -> None:
    assert needs_before(text, frozenset(stems_of("Firing a kiln")))


@pytest.mark.parametrize(
    "text",
    [
        "A kiln is a chamber that is heated.",
        "Once you have learned to throw, you may want to fire.",
        "Once the kiln has cooled, the door may be opened.",
        "The first step of firing is to load the kiln.",
        "The following kilns burn gas.",
        "If the kiln is hot, this command opens the damper.",
        "To fire a kiln, you need a cone; this task takes a day.",
        "The damper lets in what air this machine can stand.",
        "Returns true if this cone has melted.",
        "The kiln is heated at night.",
        "The first firing hardens the clay.",
    ],
)
def test_stands_first(text: str) -> None:
    assert not needs_before(text, frozenset(stems_of("Firing a kiln")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A list of kilns (with their makers) to use when firing.", True),
        ("How to load and fire a kiln.", True),
        ("Altering a glaze to suit your clay.", True),
        ("Pottery with gas.", True),
        ("Starts a firing, which ends with the matching command.", True),
        ("Recreate the glaze of an old pot.", True),
        ("Mend an old, local kiln.", True),
        ("An instance of the kiln that is used by the potters.", True),
        ("A kiln is a chamber.", False),
        ("Kilns are chambers.", False),
        ("A damper lets air into the chamber.", False),
        ("The chamber accepts wide pots and dries them.", False),
        ("You need a brick and a cone.", False),
        ("During the firing, a potter opens the damper.", False),
        ("Not every pot needs a glaze.", False),
    ],
)
def test_only_explains_its_heading(text: str, expected: bool) -> None:
    assert is_gloss(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Glazing is potentially dangerous.", True),
        ("Potters can also fire in pits.", True),
        ("If you bought a kiln, you should read the manual.", True),
        ("This kiln is reserved for the master.", True),
        ("A kiln is heated for hours and cools for days.", False),
    ],
)
def test_another_sentence_is_better(text: str, expected: bool) -> None:
    assert is_weak(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is hot.", True),
        ("However, wood burns too.", True),
        ("Itemised kilns are hot.", False),
        ("Another kiln burns wood.", False),
    ],
)
def test_stands_for_something_before_it(text: str, expected: bool) -> None:
    assert begins_with_pronoun(text) is expected


def test_speaks_of_the_keyword_in_its_first_words() -> None:
    wood = stems_of("wood kiln")
    assert speaks_of(wood, "The kiln that burns wood is fed by hand.")
    assert not speaks_of(wood, "Potters who have a hand free for it feed a kiln with wood.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This is a limit on the heat of the kiln.", True),
        ("This is used to open the damper.", True),
        ("This allows the damper to be opened.", True),
        ("This is an example of a firing.", False),
        ("This is the main reason for cracks.", False),
        ("This is what potters fear.", False),
    ],
)
def test_says_what_the_heading_above_it_is(text: str, expected: bool) -> None:
    assert says_what_its_heading_is(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This command opens the damper.", True),
        ("This kind of firing takes a night.", True),
        ("This report lists all firings.", True),
        ("This is a kiln.", False),
        ("This potter fires with wood.", False),
    ],
)
def test_means_the_heading_above_it(text: str, expected: bool) -> None:
    assert speaks_of_its_heading(text, is_lifted=False) is expected
