"""Compares the numbers of a sentence with those of its passages: unit, thing, range, bound, “by” and “to”. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Final

from writing.model.claims.comparison import Comparison
from writing.model.claims.pieces import plain_word
from writing.model.claims.vocabulary import by_word, pairs, words
from writing.model.claims.wording import UNIT_KEYS, Token, WordKind, content_key, stem

AROUND: Final = 4
"""The words on either side of a number that identify its thing."""
NEAR: Final = 3
"""The most words between two that count as adjacent."""
_ORDINALS: Final = words("numbers", "ordinals")
_CURRENCIES: Final = frozenset("$€£")
_POWERS: Final = frozenset(map(stem, words("numbers", "powers")))
_RANGES: Final = frozenset({"to", "or"})
_FRACTIONS: Final = words("numbers", "fractions")
_BOUNDS: Final = by_word("bounds")
_PHRASES: Final = pairs("bounding_pairs")
_CHANGES: Final = frozenset({"by", "to", "from"})
_TIMES: Final = words("numbers", "times")
_MOVES: Final = frozenset(map(content_key, words("numbers", "moves"))) | {"up", "down"}


@dataclass(frozen=True, slots=True)
class _Number:
    key: str
    unit: str | None
    behind: str
    """The word behind it, if that is no unit."""
    joined: frozenset[str]
    """Words that make it a different number: “2 million”, “5 to 10”, “21st”."""


def _numbers(tokens: Sequence[Token]) -> Iterator[_Number]:
    for at, token in enumerate(tokens):
        if token.kind is not WordKind.NUMBER:
            continue
        begin, end, joined = _joined(tokens, at)
        unit = tokens[begin - 1].key if begin and tokens[begin - 1].key in _CURRENCIES else None
        power = tokens[end].key if end + 1 < len(tokens) and tokens[end].key in _POWERS else ""
        end += bool(power)
        follows = [each.key for each in tokens[end : end + 1] if each.kind is WordKind.CONTENT]
        if follows and follows[0] in UNIT_KEYS:
            unit, follows = f"{power}{follows[0]}", []
        yield _Number(token.key, unit, "".join(follows), joined)


def _joined(tokens: Sequence[Token], at: int) -> tuple[int, int, frozenset[str]]:
    """Returns the span of the compound number that contains this one, and its other parts."""
    begin, end = at, at + 1
    others: set[str] = set()

    def is_number(place: int) -> bool:
        return 0 <= place < len(tokens) and tokens[place].kind is WordKind.NUMBER

    while is_number(end) or (end < len(tokens) and tokens[end].text in _RANGES and is_number(end + 1)):
        end += 1 if is_number(end) else 2
        others.add(tokens[end - 1].key)
    if end < len(tokens) and tokens[end].key in _ORDINALS:
        others.add(tokens[end].key)
    while is_number(begin - 1) or (begin and tokens[begin - 1].text in _RANGES and is_number(begin - 2)):
        begin -= 1 if is_number(begin - 1) else 2
        others.add(tokens[begin].key)
    return begin, end, frozenset(others)


def number_problems(these: Comparison) -> Iterator[str]:
    """Numbers that have another unit, or are parts of other numbers."""
    keys = {token.key for token in these.claim.tokens}
    theirs = [number for text in these.texts for number in _numbers(text)]
    for number in _numbers(these.claim.tokens):
        alike = [each for each in theirs if each.key == number.key]
        unknown = number.behind and number.behind not in these.said.keys and all(each.unit for each in alike)
        if alike and (unknown or (number.unit and all(each.unit != number.unit for each in alike))):
            yield f"the number {number.key} has another unit in its passage"
        if alike and all(each.joined - keys for each in alike):
            yield f"the number {number.key} is a part of another one in its passage"


def bound_problems(these: Comparison) -> Iterator[str]:
    """A number's limit, “about”, “at least”, “per litre”, left out or added; “about” may be added."""
    ours = these.claim.tokens
    for at, key in _counts(ours):
        own = _bounds(ours, at)
        there = [_bounds(text, place) for text in these.texts for place, each in _counts(text) if each == key]
        if there and not any(
            own - {"about"} == each - {"about"} and each & {"about"} <= own for each in there
        ):
            yield f"the number {ours[at].text} is bounded in another way in its passage: {', '.join(there[0]) or 'not'}"


def _counts(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Yields places and keys of numbers, and of “a year”, “an hour”."""
    for at, token in enumerate(tokens):
        if token.kind is WordKind.NUMBER:
            yield at, token.key
        elif at and token.key in UNIT_KEYS and tokens[at - 1].text.casefold() in {"a", "an"}:
            yield at, f"a {token.key}"


def _bounds(tokens: Sequence[Token], at: int) -> frozenset[str]:
    words = [plain_word(each) for each in tokens]
    before = words[max(0, at - NEAR) : at]
    found = {_BOUNDS.get(word, "") for word in before[-2:]} - {"per", ""}
    if "not" in before and found & {"over", "under"}:
        found = {"most" if "over" in found else "least"}
    found |= {_PHRASES.get(pair, "") for pair in pairwise(before)}
    behind = words[at + 1 : at + 2 + NEAR]
    found |= {_PHRASES.get(pair, "") for pair in pairwise(behind) if pair[0] == "or"}
    found |= {_BOUNDS.get(word, "") for word in behind} & {"per"}
    if before[-1:] == ["over"] and "for" not in before and "old" not in behind and tokens[at + 1 : at + 2]:
        found -= {"over"} if tokens[at + 1].key in _TIMES else set()  # “over eight years”: during them
    return frozenset(found - {""})


def change_problems(these: Comparison) -> Iterator[str]:
    """“By” for “to”: “fell by 31 million” is not “fell to 31 million”."""
    for key, own in _changes(these.claim.tokens):
        there = {each for text in these.texts for other, each in _changes(text) if other == key}
        if own and there and own not in there and there - {""}:
            yield f"its passage says “{min(there - {''})} {key}”, and not “{own} {key}”"


def _changes(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yields numbers and fractions with the “by”, “to” or “from” before them, “” if there is none."""
    for at, token in enumerate(tokens):
        if token.kind is not WordKind.NUMBER and token.key not in _FRACTIONS:
            continue
        before = at - 1
        while (
            before >= 0
            and tokens[before].kind not in {WordKind.CONTENT, WordKind.BREAK}
            and plain_word(tokens[before]) not in _CHANGES | {"up", "down"}
        ):
            before -= 1
        word = plain_word(tokens[before]) if before >= 0 else ""
        is_range = word == "to" and any(
            each.kind is WordKind.NUMBER for each in tokens[max(0, before - 2) : before]
        )
        if word in _CHANGES and not is_range:
            yield token.key, word
        elif _begins_range(tokens, at):
            yield token.key, "from"
        elif before >= 0 and tokens[before].key in _MOVES:
            yield token.key, "by"
        else:
            yield token.key, ""


def _begins_range(tokens: Sequence[Token], at: int) -> bool:
    """Whether “to” and a number follow, across units: “90 seconds to 35”."""
    to = next(
        (place for place in range(at + 1, len(tokens)) if tokens[place].key not in UNIT_KEYS), len(tokens)
    )
    return [plain_word(each) for each in tokens[to : to + 1]] == ["to"] and [
        each.kind for each in tokens[to + 1 : to + 2]
    ] == [WordKind.NUMBER]
