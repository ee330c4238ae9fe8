"""The rules on words: offences of a sentence that no judge can excuse. Pure."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from writing.model.claims import extracts, names, numbers, qualifiers
from writing.model.claims.comparison import Comparison
from writing.model.claims.pieces import is_number
from writing.model.claims.wording import normal, tokens_of

Rule = Callable[[Comparison], Iterator[str]]

RULES: Final[Mapping[str, Rule]] = {
    each.__name__: each
    for each in (
        extracts.unsaid_words,
        extracts.own_word,
        extracts.left_out_words,
        numbers.number_problems,
        numbers.bound_problems,
        numbers.range_problems,
        numbers.change_problems,
        names.turned_round,
        qualifiers.left_out_limits,
        qualifiers.added_limits,
        qualifiers.negations,
        qualifiers.tenses,
        qualifiers.opposites,
        qualifiers.ranks,
        qualifiers.comparisons,
        qualifiers.causes,
    )
}
STRICT_RULES: Final[Mapping[str, Rule]] = {
    **RULES,
    **{each.__name__: each for each in (extracts.any_own_word, extracts.another_order)},
}
"""For articles whose judge has not passed its exam."""


def names_and_numbers(sentence: str) -> frozenset[str]:
    """Returns the keys of names and numbers, which a judge's quotes must have."""
    tokens = tokens_of(normal(sentence))
    return frozenset(
        token.key for at, token in enumerate(tokens) if names.is_name(tokens, at) or is_number(tokens, at)
    )
