"""Praise stands only with the name of its author."""

import pytest

from writing.model.praise import find_unattributed_praise

CONTEXT = "Buy a kettle by Acme today."
PRAISE = (
    "Acme makes the best kettles.",
    "Acme is a leading maker of kettles.",
    "Royal Roasters offers the finest beans in town.",
    "The best kettles for pour-over are Acme kettles.",
    "Acme's kettle is the most trusted kettle.",
    "The revolutionary spout pours evenly.",
    "Its world-class grinder keeps cool.",
    "This must-have press costs 30 dollars.",
    "The award-winning beans are sold in tins.",
    "You'll love the handle.",
)
OPINIONS = (
    "The Guardian called Acme's kettle the best of 2024.",
    "According to Consumer Reports, Acme makes the best kettles.",
    "Acme was named the best roaster by Coffee Review.",
    "Maria Lopez, who tested twelve kettles, considers Acme the finest.",
    "For Jamie Oliver, Acme is the best brand of pans.",
)
FACTS = (
    "A medium grind works best for drip coffee.",
    "The best temperature is between 90 and 96 degrees.",
    "Use the best beans that you can afford.",
    "Kenya is best known for its bright coffees.",
    "Brazil is the largest producer of coffee.",
    "Leading zeros are dropped.",
    "The command is a perfect example of a filter.",
    "At best, the search takes linear time.",
    "Heart disease was the leading cause of death in 2020.",
    "Excellent visibility is needed to land.",
    "The top of the page has a menu.",
    "Groundwater offers the best efficiency.",
    "Python is the language of the exercises.",
    "Postgres has the top level of the hierarchy in one schema.",
)


@pytest.mark.parametrize("sentence", PRAISE)
def test_praise_without_a_name_is_found(sentence: str) -> None:
    assert find_unattributed_praise(sentence, CONTEXT) is not None


@pytest.mark.parametrize("sentence", [*OPINIONS, *FACTS])
def test_opinions_with_a_name_and_facts_are_not(sentence: str) -> None:
    assert find_unattributed_praise(sentence, CONTEXT) is None
