"""What only leads over is a transition; what states the least thing is none."""

import pytest

from writing.model.transitions import states_nothing

SUBJECTS = (
    "cold brew",
    "Grind size and ratio",
    "How long it keeps",
    "Storing the concentrate",
    "Paper filters",
)

TRANSITIONS = [
    "Now for the grind size.",
    "The next question is how long it keeps.",
    "And now for the ratio.",
    "On to storing the concentrate.",
    "Back to cold brew.",
    "So much for the grind size.",
    "So much for the ratio; now for the paper filters.",
    "Next, paper filters.",
    "Finally: storing the concentrate.",
    "That brings us to the paper filters.",
    "That leaves the question of storing the concentrate.",
    "This raises another question.",
    "The next question is the ratio.",
    "The last point is storing the concentrate.",
    "The open question is which paper filters to use.",
    "What follows is about the ratio.",
    "The rest deals with storing the concentrate.",
    "It remains to look at paper filters.",
    "It is time to turn to the ratio.",
    "But what about the ratio?",
    "What of the concentrate?",
    "And how about paper filters?",
    "But how?",
    "So what?",
    "But why cold brew?",
    "Here is how it is done.",
    "Here is what to do with the concentrate.",
    "This is how.",
    "First, a word on grind size.",
    "A word about the paper filters.",
    "More on the ratio.",
    "Let us turn to the ratio.",
    "We now come to storing the concentrate.",
    "One question remains.",
    "With the grind size settled, the next question is the ratio.",
    "With grind size and ratio in hand, now for the paper filters.",
    "Before storing the concentrate, a word on the paper filters.",
    "With that settled, on to the ratio.",
    "As for paper filters, one point remains.",
    "Apart from the ratio, one thing remains.",
]

STATEMENTS = [
    "Cold brew is healthy.",
    "Cold brew comes first.",
    "First comes the grind size.",
    "That leads to cold brew.",
    "That leaves the concentrate.",
    "The rest is concentrate.",
    "The next step is the ratio.",
    "Now for the healthy ratio.",
    "So much for useless paper filters.",
    "Next, rinse the paper filters.",
    "With the filters settled, cold brew tastes mild.",
    "With the deadly ratio settled, the next question is the concentrate.",
    "Here is why cold brew works.",
    "Here is how cold brew cures headaches.",
    "But why is cold brew dangerous?",
    "What about the ban on cold brew?",
    "The last question is whether it is safe.",
    "One question remains: is it safe?",
    "That brings us to the best ratio.",
    "Everyone knows the ratio.",
    "Paper filters are the last point.",
    "It is time to buy paper filters.",
    "Let us turn to Acme.",
    "We recommend paper filters.",
    "The only question is the ratio.",
    "The important question is the ratio.",
    "Not so much for the ratio.",
    "A word on the ratio: it is four to one.",
    "After 1945, now for the ratio.",
    "More paper filters.",
    "On to Paris.",
    "Cold brew.",
    "Grind size and ratio.",
    "It keeps long.",
    "How long it keeps.",
    "",
    "Now for the ratio, which is four to one.",
    "Cold brew is the next question everywhere.",
    "Before the ratio was known, now for the filters.",
]


@pytest.mark.parametrize("sentence", TRANSITIONS)
def test_a_sentence_that_only_leads_over_states_nothing(sentence: str) -> None:
    assert states_nothing(sentence, SUBJECTS)


@pytest.mark.parametrize("sentence", STATEMENTS)
def test_a_sentence_with_the_least_statement_is_no_transition(sentence: str) -> None:
    assert not states_nothing(sentence, SUBJECTS)


def test_without_subjects_there_is_no_transition_and_a_long_text_ends_soon() -> None:
    assert not states_nothing("Now for the ratio.", ())
    assert not states_nothing("now for the ratio and " * 5_000, SUBJECTS)
