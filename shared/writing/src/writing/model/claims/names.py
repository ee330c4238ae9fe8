"""Compares the names of a sentence with those of its passages, and the order of names and other words. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from writing.model.claims.comparison import Comparison
from writing.model.claims.pieces import CONDITIONS, FRAME_KEYS, SAYING
from writing.model.claims.vocabulary import words
from writing.model.claims.wording import UNIT_KEYS, Token, WordKind, is_past

LONGEST_STRETCH: Final = 9
"""The most words from one to another that may have changed places with it."""
_OPENERS: Final = CONDITIONS | words("kinds", "openers")
"""Words that are capitalised at the beginning of a sentence and are no names."""
_AUXILIARIES: Final = words("kinds", "auxiliaries")


def is_name(tokens: Sequence[Token], at: int) -> bool:
    """Whether it looks like a name: capitalised inside the sentence, or with a capital, digit or “_” inside.

    The first word is one if another capitalised word or a verb follows: “Kowalski built”, but not “Growth of sales”.
    """
    token = tokens[at]
    if token.kind is not WordKind.CONTENT or (
        not at and (token.text.casefold() in _OPENERS or token.key in FRAME_KEYS)
    ):
        return False
    if any(char.isupper() or char.isdigit() or char == "_" for char in token.text[1:]):
        return True
    if not token.text[0].isupper() or token.key in UNIT_KEYS:
        return False
    if at:
        return True
    follows = tokens[1].text if len(tokens) > 1 else ""
    return follows[:1].isupper() or (
        (follows.casefold() in _AUXILIARIES or is_past(follows)) and not token.text.endswith(("s", "ing"))
    )


def turned_round(these: Comparison) -> Iterator[str]:
    """Two words in each other's place, with the same words between: “Ann taught Ben” for “Ben taught Ann”."""
    theirs = {each for text in these.texts for each in _stretches(text)}
    for first, between, last in _stretches(these.claim.tokens):
        turned = first != last and (last, between, first) in theirs
        if turned and (first, between, last) not in theirs:
            yield f"its passage has “{last}” and “{first}” the other way round"


def _stretches(tokens: Sequence[Token]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yields pairs of names or of other words with the words between them.

    Words of one name count as one, and numbers may stand side by side.
    """
    told: list[tuple[str, int, bool]] = []
    for at, token in enumerate(tokens):
        if token.kind not in SAYING and token.kind is not WordKind.STRICT:
            continue
        named = is_name(tokens, at)
        if named and told and told[-1][2] and told[-1][1] == at - 1:
            told[-1] = (f"{told[-1][0]} {token.key}", at, True)
        else:
            told.append((token.key, at, named))
    for begin, (first, place, named) in enumerate(told):
        for end in range(begin + 1, min(len(told), begin + LONGEST_STRETCH)):
            last, to, last_named = told[end]
            between = tuple(key for key, _, _ in told[begin + 1 : end])
            numbers = tokens[place].kind is tokens[to].kind is WordKind.NUMBER
            if (named == last_named or not place) and (between or numbers):
                yield first, between, last
