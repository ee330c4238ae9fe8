"""Costs of two checkouts are compared within a round."""

from pathlib import Path

import pytest

from tests.articles.cost_comparison import KeywordCosts, compare_costs, summarise

_ROOT = Path(__file__).parents[2]


def test_ratios_are_medians_of_the_ratios_within_a_round() -> None:
    def costs(factor: float, *made: str) -> KeywordCosts:
        return KeywordCosts(100 * factor, {"kiln": 10 * factor, "pot": 4 * factor}, frozenset(made))

    # In the second round the machine was busy with something else.
    rounds = [(costs(1, "kiln"), costs(2, "kiln", "pot")), (costs(9), costs(18)), (costs(2), costs(2))]
    compared = summarise(rounds)
    assert (compared.ratio, compared.ratio_of_articles, compared.reading_ratio) == (0.5, 0.5, 0.5)
    assert (compared.articles, compared.other_articles) == (1, 2)


@pytest.mark.extended
def test_this_checkout_is_compared_with_itself() -> None:
    compared = compare_costs(_ROOT / "deploy/demo/corpus", ["cold brew", "tax return"], _ROOT, rounds=1)
    assert compared.articles == compared.other_articles == 1
    assert 0 < compared.this_ms < 60_000
