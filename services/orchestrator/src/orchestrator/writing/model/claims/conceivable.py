"""Whether passages could say a sentence in other words: what code alone can still refuse. Pure.

A sentence is conceivable if its names and numbers stand in what it cites, count the same things in the same units and stand on the
same sides of who does what to whom, and if nothing that turns or bounds a statement (*not*, *some*, *may*, *than*, *if*, *said*)
was added to the clauses of the passage that come nearest, or left out of them. Which words say the rest, and in which order, is
left to a reader: one who is wrong about a conceivable sentence can be wrong about words, and not about those.

What it takes is bounded: a sentence of at most 60 words is held against three sentences, of at most 600 characters each.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from orchestrator.writing.model.claims.checking import Evidence, unfit
from orchestrator.writing.model.claims.clauses import SAYING, Clause, clauses_of, nearest, saying
from orchestrator.writing.model.claims.company import (
    misattributed,
    misplaced,
    owned,
    renamed,
    renumbered,
    torn,
    turned_round,
)
from orchestrator.writing.model.claims.turning_words import NOT
from orchestrator.writing.model.claims.turns import bounded, compared, framed, turned
from orchestrator.writing.model.claims.wording import FRAMES, Token, WordKind, normal, tokens_of

FLOOR: Final = 0.4
"""Of the words that say something, so many must stand in the sentences that support it; the rest are the writer's own."""
CLAUSE_FLOOR: Final = 0.25
"""The same of each clause of three words and more: one that the passages say nothing of is an addition."""
FEWEST_IN_CLAUSE: Final = 3
LONGEST_ADDITION: Final = 3
"""Words in a row that the passages do not have."""
MOST_SENTENCES: Final = 3
"""Of the passages, that one sentence may be made of."""
_OPENERS: Final = FRAMES | {"anyone", "everyone", "someone", "besides", "despite", "having", "given"}
"""They have a capital at the beginning, and are no names."""


def problems(sentence: str, cited: Sequence[Evidence]) -> Iterator[str]:
    """All that code has against the sentence in whatever words, for people; it is conceivable if there is nothing."""
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
        keys = saying(clause.tokens)
        if len(keys) >= FEWEST_IN_CLAUSE and _share(keys, said) < CLAUSE_FLOOR:
            yield f"its passages say nothing of “{clause.text}”"
        if near := nearest(clause, theirs):
            yield from turned(clause, near, theirs, claim, said)
            yield from compared(clause, near)
            yield from framed(claim, near)
            yield from misplaced(clause, near)
            yield from misattributed(clause, near, theirs)
        elif clause.words & NOT:
            yield "its passages do not say “not”"
    yield from bounded(tokens, texts)
    yield from renumbered(tokens, texts)
    yield from turned_round(tokens, texts)
    yield from torn(tokens, [each.tokens for each in stated])
    yield from renamed(tokens, texts)
    yield from owned([token for at, token in enumerate(tokens) if _is_name(tokens, at)], tokens, texts)


def names_and_numbers(sentence: str) -> frozenset[str]:
    """Keys of what nobody may say in other words."""
    tokens = tokens_of(normal(sentence))
    return frozenset(
        token.key for at, token in enumerate(tokens) if _is_name(tokens, at) or _is_number(tokens, at)
    )


def _named(stated: Sequence[Clause], support: Sequence[Clause]) -> frozenset[str]:
    """What a sentence may name: what is named in its support, in what stands before that, and in what has no verb: headings."""
    keys = {key for each in support for key in each.keys}
    for before, each in pairwise(stated):
        if each in support:
            keys |= before.keys
    return frozenset(keys)


def _unsaid(tokens: Sequence[Token], said: Clause, named: frozenset[str]) -> Iterator[str]:
    """Names, numbers and words that the sentences do not have which come nearest."""
    for at, token in enumerate(tokens):
        if _is_name(tokens, at) and token.key not in named:
            yield f"its passages do not say “{token.text}”"
        if _is_number(tokens, at) and token.key not in said.keys:
            yield f"its passages do not have the number {token.text}, or elsewhere"
    if _share(saying(tokens), said) < FLOOR:
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
    """The sentences that have most of its words between them, each at least two that the ones before it have not."""
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
    """Not “a coarser one”."""
    token = tokens[at]
    if token.text.casefold() != "one":
        return token.kind is WordKind.NUMBER
    follows = tokens[at + 1 : at + 2]
    described = at > 0 and tokens[at - 1].kind is WordKind.CONTENT
    return not described and bool(follows) and follows[0].kind in SAYING


def _is_name(tokens: Sequence[Token], at: int) -> bool:
    """Whether it is written like one: a capital, or a digit or “_” in a word. The first word may be one, too."""
    token = tokens[at]
    if token.kind is not WordKind.CONTENT or token.text.casefold() in _OPENERS:
        return False
    return token.text[0].isupper() or any(
        char.isupper() or char.isdigit() or char == "_" for char in token.text[1:]
    )
