"""The rules on words: what a sentence must not do, whatever a judge says of it. Pure."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from writing.model.claims import extracts, numbers, qualifiers, roles
from writing.model.claims.comparison import Comparison
from writing.model.claims.wording import UNIT_KEYS, normal, tokens_of

Rule = Callable[[Comparison], Iterator[str]]


def unknown_numbers(these: Comparison) -> Iterator[str]:
    """Numbers that the nearest sentences do not have, and “a year” where they have no year."""
    tokens = these.claim.tokens
    for at, token in enumerate(tokens):
        if numbers.is_number(tokens, at) and token.key not in these.said.keys:
            yield f"its passages do not have the number {token.text}, or elsewhere"
        counted = at and token.key in UNIT_KEYS and tokens[at - 1].text.casefold() in {"a", "an", "per"}
        if counted and token.key not in these.said.keys:
            yield f"its passages do not have “{tokens[at - 1].text} {token.text}”"


RULES: Final[Mapping[str, Rule]] = {
    each.__name__: each
    for each in (
        extracts.own_word,
        extracts.left_out_words,
        numbers.number_problems,
        numbers.bound_problems,
        numbers.change_problems,
        roles.hung_names,
        roles.other_subjects,
        qualifiers.unsaid_words,
        qualifiers.left_out_limits,
        qualifiers.added_limits,
        qualifiers.negations,
        qualifiers.conditions,
        qualifiers.tenses,
        qualifiers.opposites,
        qualifiers.ranks,
        qualifiers.causes,
        qualifiers.frames,
        roles.turned_round,
    )
}


def names_and_numbers(sentence: str) -> frozenset[str]:
    """Returns the keys of names and numbers, which a judge's quotes must have."""
    tokens = tokens_of(normal(sentence))
    return frozenset(
        token.key
        for at, token in enumerate(tokens)
        if roles.is_name(tokens, at) or numbers.is_number(tokens, at)
    )
