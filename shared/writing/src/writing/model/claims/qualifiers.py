"""Checks that a paraphrase keeps negations, limits and attributions: not, only, some, may, about, said, than. Pure."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from writing.model.claims.clauses import SAYING, Clause, meaningful_keys, plain_word
from writing.model.claims.qualifier_words import (
    ADDED,
    BOUNDS,
    CAUSES,
    CONDITIONAL,
    DENYING,
    FRAMED,
    GIVES_CAUSE,
    LEFT_OUT,
    NO_PREFIX,
    NOT,
    NOT_ONLY,
    OF_THE_NEXT,
    OPPOSITES,
    SAYING_SO,
    UNREAL,
)
from writing.model.claims.wording import PERSONS, PREPOSITIONS, Token, WordKind

MOSTLY: Final = 0.6
"""If the claim has this share of a passage's clause, the clause's negation applies to it."""
NEAR_NUMBER: Final = 2
"""The most words between a number and its limiting word."""
ALIKE: Final = 4
"""The letters in which two forms of a word agree: “claims”, “claimed”."""
_PLACES: Final = PREPOSITIONS | {"above", "below", "beyond", "outside"}
_MORE: Final = frozenset({"more", "less", "fewer", "worse"})
_PRESENT: Final = frozenset({"is", "are", "has", "have"})
_PAST: Final = frozenset({"was", "were", "had"})


def qualifier_problems(
    clause: Clause, near: Sequence[Clause], theirs: Sequence[Clause], claim: Clause, said: Clause
) -> Iterator[str]:
    """Yields the problems of a clause of the claim.

    Args:
        clause: of the claim.
        near: the nearest clauses of the passages, at least one.
        theirs: all clauses of the passages that might support the claim.
        claim: all of it.
        said: all words of the sentences that support the claim.
    """
    yield from _negated(clause, near, theirs, claim)
    for words, instead in LEFT_OUT:
        left = [] if claim.words & (words | instead) else [_telling(each, words, claim) for each in near]
        if left and all(left):
            yield left_out(min(left[0]))
    for words in (*ADDED, CAUSES):
        enough = GIVES_CAUSE if words is CAUSES else words
        own = clause.words & words
        if (
            words is CAUSES
            and "so" in own
            and any(_is_so_as(clause.tokens, at) for at in range(len(clause.tokens)))
        ):
            own -= {"so"}
        if own and not said.words & enough:
            yield f"its passages do not say “{min(own)}”"
    for word in sorted(clause.words & OPPOSITES.keys()):
        others = [OPPOSITES[word] & each.words - claim.words for each in near]
        if all(others) and not any(word in each.words for each in near):
            yield f"its passage says “{min(others[0])}” there, and not “{word}”"
    conditions = [[each for each in one.conditions if not each.keys & claim.keys] for one in near]
    if all(conditions) and not claim.words & CONDITIONAL:
        yield left_out(conditions[0][0].tokens[0].text)
    there = frozenset(word for each in near for word in each.words | each.led_up)
    # The perfect tense counts as past.
    own = claim.words - {"has", "have"} if "been" in claim.words else claim.words
    if problem := tense_problem(own, there, said.words):
        yield problem


def _is_so_as(tokens: Sequence[Token], at: int) -> bool:
    """Whether “so” draws no conclusion: “so as to”, “so that”, “so much”."""
    return plain_word(tokens[at]) == "so" and [plain_word(each) for each in tokens[at + 1 : at + 2]] in (
        ["as"],
        ["that"],
        ["much"],
        ["many"],
    )


def left_out(word: str) -> str:
    return f"its passage says “{word}” there, which must not be left out"


def tense_problem(said: AbstractSet[str], near: AbstractSet[str], theirs: AbstractSet[str]) -> str | None:
    """Returns a problem if the claim turns past into present, or adds persons; `theirs` may name them."""
    if said & PERSONS - theirs:
        return f"its passage does not say {' or '.join(sorted(said & PERSONS - theirs))}"
    if said & _PRESENT and not said & _PAST and near & _PAST and not near & _PRESENT:
        return "its passage speaks of the past"
    return None


def _telling(clause: Clause, words: AbstractSet[str], claim: Clause) -> set[str]:
    """Returns the words of the clause that concern the claim's subject matter."""
    return {
        word
        for at, token in enumerate(clause.tokens)
        if (word := plain_word(token)) in words
        and not (word in OF_THE_NEXT and _next(clause.tokens, at) not in claim.keys)
        # “the former by its speed”
        and not (
            word in UNREAL and [each.kind in SAYING for each in clause.tokens[at + 1 : at + 2]] != [True]
        )
        and not (word == "or" and not _is_one_of(clause.tokens, at, claim))
        # “not only”, “not all” count as negations.
        and not (at and plain_word(clause.tokens[at - 1]) == "not")
        # A word that merely joins two statements limits nothing.
        and not (word == "but" and token.kind is WordKind.BREAK)
    }


def _next(tokens: Sequence[Token], at: int) -> str | None:
    return next((each.key for each in tokens[at + 1 :] if each.kind in SAYING), None)


def _is_one_of(tokens: Sequence[Token], at: int, claim: Clause) -> bool:
    """Whether the claim has only one of the two things that “or” joins."""
    before = next((each.key for each in reversed(tokens[:at]) if each.kind in SAYING), None)
    return (before in claim.keys) != (_next(tokens, at) in claim.keys)


def _negated(
    clause: Clause, near: Sequence[Clause], theirs: Sequence[Clause], claim: Clause
) -> Iterator[str]:
    own = list(_denied(clause))
    if own:
        denied = [frozenset(keys) for each in theirs for keys in _denied(each)]
        more = sum(1 for _ in _denied(claim)) > len(denied)
        of_others = not all(any(each.intersection(keys) for each in denied) for keys in own)
        if (more or of_others) and not any(_denies(each, claim) for each in near):
            yield "its passages do not say “not”"
        return
    left = (
        any(
            not keys or keys[0] in clause.keys or len(each.keys & clause.keys) >= MOSTLY * len(each.keys)
            for keys in _denied(each)
        )
        for each in near
    )
    if all(left) or any(_affirmed(keys, clause, theirs) for each in theirs for keys in _denied(each)):
        yield left_out("not")


def _affirmed(keys: Sequence[str], clause: Clause, theirs: Sequence[Clause]) -> bool:
    """Whether the clause asserts both words that the passages negate and assert nowhere else."""
    both = frozenset(keys)
    return (
        len(both) > 1
        and both <= clause.keys
        and not any(both <= each.keys and not each.words & NOT for each in theirs)
    )


def _denies(clause: Clause, claim: Clause) -> bool:
    """Whether the passage negates with “without”, “unable” or the like where the claim says “not”."""
    return any(
        word in DENYING or (word.startswith("un") and not word.startswith(NO_PREFIX))
        for word in clause.words - claim.words - NOT
    )


def _denied(clause: Clause) -> Iterator[list[str]]:
    """Yields for each negation the next two meaningful words, or the last two before it if none follow.

    “… and never above it” negates nothing before it.
    """
    for at, token in enumerate(clause.tokens):
        rest = clause.tokens[at + 1 :]
        if plain_word(token) in NOT and not (rest and plain_word(rest[0]) in NOT_ONLY):
            after = meaningful_keys(rest)[:2]
            if after or not (rest and plain_word(rest[0]) in _PLACES):
                yield after or meaningful_keys(clause.tokens[:at])[-2:]


def limit_problems(ours: Sequence[Token], texts: Sequence[Sequence[Token]]) -> Iterator[str]:
    """Yields a problem if a number's limit, “about”, “at least”, “per litre”, was left out or added; “about” may be added."""
    for at, token in enumerate(ours):
        if token.kind is not WordKind.NUMBER:
            continue
        own = _bounds(ours, at)
        there = [
            _bounds(text, place) for text in texts for place, each in enumerate(text) if each.key == token.key
        ]
        if there and not any(
            own - {"about"} == each - {"about"} and each & {"about"} <= own for each in there
        ):
            yield f"the number {token.text} is bounded in another way in its passage: {', '.join(there[0]) or 'not'}"


def _bounds(tokens: Sequence[Token], at: int) -> frozenset[str]:
    before = {BOUNDS.get(plain_word(each), "") for each in tokens[max(0, at - NEAR_NUMBER) : at]} - {"per"}
    behind = {BOUNDS.get(plain_word(each), "") for each in tokens[at + 1 : at + 1 + NEAR_NUMBER]} & {"per"}
    return frozenset((before | behind) - {""})


def attribution_problems(claim: Clause, near: Sequence[Clause]) -> Iterator[str]:
    """Yields a problem if the claim drops an attribution or a retraction."""
    left = [
        sorted(word for word in (each.words | each.led_up) & FRAMED if not _alike(word, claim.words))
        for each in near
    ]
    if all(left):
        yield left_out(left[0][0])


def _alike(word: str, words: AbstractSet[str]) -> bool:
    return any(each[:ALIKE] == word[:ALIKE] for each in words) or bool(
        word in SAYING_SO and words & SAYING_SO
    )


def comparison_problems(clause: Clause, near: Sequence[Clause]) -> Iterator[str]:
    """Yields a problem if the compared things changed sides: “milder than hot coffee”."""
    own = _sides(clause)
    if own is None:
        return
    before, how, after = own
    for there_before, there_how, there_after in filter(None, map(_sides, near)):
        turned_round = after & there_before or before & there_after
        if how & there_how and turned_round and not after & there_after:
            yield "its passage compares them the other way round"


def _sides(clause: Clause) -> tuple[frozenset[str], frozenset[str], frozenset[str]] | None:
    """Returns the words only before “than”, the comparing words, and the words only behind it."""
    at = next((at for at, token in enumerate(clause.tokens) if token.key == "than"), 0)
    if not at:
        return None
    before, after = (
        frozenset(meaningful_keys(each)) for each in (clause.tokens[:at], clause.tokens[at + 1 :])
    )
    how = frozenset(
        token.key
        for token in clause.tokens[:at]
        if plain_word(token) in _MORE or (token.kind is WordKind.CONTENT and token.text.endswith("er"))
    )
    return before - after - how, how, after - before
