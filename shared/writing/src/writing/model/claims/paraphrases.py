"""Decides whether passages could say a sentence in other words; the judge reads what this allows. Pure.

A sentence is conceivable if its names and numbers occur in its passages, count the same things in the same units and
keep their roles in who does what to whom. Words that negate or limit (*not*, *some*, *may*, *than*, *if*, *said*) must
be neither added nor left out, compared with the nearest clauses. The other words and their order are left to the judge.
A judge who is wrong about a conceivable sentence can be wrong about these alone.

The work is bounded: a sentence of at most 60 words against three sentences of at most 600 characters each.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from writing.model.claims.checking import Evidence, unfit
from writing.model.claims.clauses import SAYING, Clause, clauses_of, meaningful_keys, nearest
from writing.model.claims.neighbours import (
    attribution_of_others,
    number_problems,
    order_problems,
    owner_problems,
    split_names,
    swapped_names,
    swapped_numbers,
)
from writing.model.claims.qualifier_words import NOT
from writing.model.claims.qualifiers import (
    attribution_problems,
    comparison_problems,
    limit_problems,
    qualifier_problems,
)
from writing.model.claims.wording import FRAMES, Token, WordKind, normal, tokens_of

FLOOR: Final = 0.4
"""The least share of meaningful words that the supporting sentences must contain."""
CLAUSE_FLOOR: Final = 0.25
"""The least share in each clause of three words or more; a clause below it is an addition."""
FEWEST_IN_CLAUSE: Final = 3
LONGEST_ADDITION: Final = 3
"""The most words in a row that the passages lack."""
MOST_SENTENCES: Final = 3
"""The most sentences of the passages that may support one sentence."""
_OPENERS: Final = FRAMES | {"anyone", "everyone", "someone", "besides", "despite", "having", "given"}
"""Words that are capitalised at the beginning of a sentence and are no names."""


def problems(sentence: str, cited: Sequence[Evidence]) -> Iterator[str]:
    """Yields the rules' objections to the sentence in any wording, for people; without any it is conceivable."""
    tokens = tokens_of(normal(sentence))
    if problem := unfit(tokens, frozenset()):
        yield problem
        return
    claim = Clause(tokens)
    stated = [
        Clause(tokens_of(each)) for one in cited for each in dict.fromkeys(one.stated()) if each[-1:] != "?"
    ]
    support = _supporting(claim, stated)
    said = Clause(tuple(token for each in support for token in each.tokens))
    yield from _unsaid(tokens, said, _named(stated, support))
    texts = [each.tokens for each in support]
    theirs = [clause for each in texts for clause in clauses_of(each)]
    for clause in clauses_of(tokens):
        keys = meaningful_keys(clause.tokens)
        if len(keys) >= FEWEST_IN_CLAUSE and _share(keys, said) < CLAUSE_FLOOR:
            yield f"its passages say nothing of “{clause.text}”"
        if near := nearest(clause, theirs):
            yield from qualifier_problems(clause, near, theirs, claim, said)
            yield from comparison_problems(clause, near)
            yield from attribution_problems(claim, near)
            yield from order_problems(clause, near)
            yield from attribution_of_others(clause, near, theirs)
        elif clause.words & NOT:
            yield "its passages do not say “not”"
    yield from limit_problems(tokens, texts)
    yield from number_problems(tokens, texts)
    yield from swapped_numbers(tokens, texts)
    yield from split_names(tokens, [each.tokens for each in stated])
    yield from swapped_names(tokens, texts)
    yield from owner_problems(
        [token for at, token in enumerate(tokens) if _is_name(tokens, at)], tokens, texts
    )


def names_and_numbers(sentence: str) -> frozenset[str]:
    """Returns the keys of names and numbers, which must not be paraphrased."""
    tokens = tokens_of(normal(sentence))
    return frozenset(
        token.key for at, token in enumerate(tokens) if _is_name(tokens, at) or _is_number(tokens, at)
    )


def _named(stated: Sequence[Clause], support: Sequence[Clause]) -> frozenset[str]:
    """Returns the names that a sentence may use: of its support, of the text before it, and of headings."""
    keys = {key for each in support for key in each.keys}
    for before, each in pairwise(stated):
        if each in support:
            keys |= before.keys
    return frozenset(keys)


def _unsaid(tokens: Sequence[Token], said: Clause, named: frozenset[str]) -> Iterator[str]:
    """Yields the names, numbers and words that the nearest sentences lack."""
    for at, token in enumerate(tokens):
        if _is_name(tokens, at) and token.key not in named:
            yield f"its passages do not say “{token.text}”"
        if _is_number(tokens, at) and token.key not in said.keys:
            yield f"its passages do not have the number {token.text}, or elsewhere"
    if _share(meaningful_keys(tokens), said) < FLOOR:
        yield "its passages say too little of this"
    run: list[str] = []
    for token in (each for each in tokens if each.kind is WordKind.CONTENT):
        run = [] if token.key in said.keys else [*run, token.text]
        if len(run) > LONGEST_ADDITION:
            yield f"its passages do not say “{' … '.join(run)}”"
            return


def _share(keys: Sequence[str], said: Clause) -> float:
    return sum(key in said.keys for key in keys) / max(1, len(keys))


def _supporting(claim: Clause, stated: Sequence[Clause]) -> list[Clause]:
    """Returns the sentences that together contain most of its words; each adds at least two."""
    left = set(claim.keys)
    chosen: list[Clause] = []
    while len(chosen) < MOST_SENTENCES:
        best = max(stated, key=lambda each: len(left & each.keys), default=None)
        if best is None or len(left & best.keys) < (2 if chosen else 1):
            break
        chosen.append(best)
        left -= best.keys
    return chosen


def _is_number(tokens: Sequence[Token], at: int) -> bool:
    """Whether the word is a number, and not the “one” of “a coarser one”."""
    token = tokens[at]
    if token.text.casefold() != "one":
        return token.kind is WordKind.NUMBER
    follows = tokens[at + 1 : at + 2]
    described = at > 0 and tokens[at - 1].kind is WordKind.CONTENT
    return not described and bool(follows) and follows[0].kind in SAYING


def _is_name(tokens: Sequence[Token], at: int) -> bool:
    """Whether it looks like a name: capitalised, or with a digit or “_” inside. The first word may be one, too."""
    token = tokens[at]
    if token.kind is not WordKind.CONTENT or token.text.casefold() in _OPENERS:
        return False
    return token.text[0].isupper() or any(
        char.isupper() or char.isdigit() or char == "_" for char in token.text[1:]
    )
