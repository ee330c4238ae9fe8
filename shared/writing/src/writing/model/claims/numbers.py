"""Compares the numbers of a sentence with those of its passages: unit, thing, range, bound, “by” and “to”. Pure."""

from collections.abc import Iterator, Sequence
from itertools import dropwhile, pairwise, takewhile
from typing import Final

from writing.model.claims.comparison import Comparison
from writing.model.claims.pieces import is_number, plain_word
from writing.model.claims.vocabulary import by_word, pairs, words
from writing.model.claims.wording import UNIT_KEYS, Token, WordKind, content_key, stem

NEAR: Final = 3
"""The most words between two that count as adjacent."""
LONGEST_RANGE: Final = 6
"""The most words from a number to its unit, as in “5 to 10 litres”."""
_CURRENCIES: Final = frozenset("$€£")
_POWERS: Final = frozenset(map(stem, words("numbers", "powers")))
_RANGES: Final = frozenset({"to", "or"})
_FRACTIONS: Final = words("numbers", "fractions")
_BOUNDS: Final = by_word("bounds")
_PHRASES: Final = pairs("bounding_pairs")
_CHANGES: Final = frozenset({"by", "to", "from"})
_DIRECTIONS: Final = _CHANGES | {"up", "down"}
_MOVES: Final = frozenset(map(content_key, words("numbers", "moves"))) | {"up", "down"}


def number_problems(these: Comparison) -> Iterator[str]:
    """Numbers that have another unit; a word that no passage has counts as one."""
    theirs = [each for text in these.texts for each in _with_units(text)]
    for key, unit, behind in _with_units(these.claim.tokens):
        units = [there for number, there, _ in theirs if number == key]
        unknown = behind and behind not in these.said.keys and all(units)
        elliptic = "" in units and any(there == unit for _, there, _ in theirs)
        if units and (unknown or (unit and unit not in units and not elliptic)):
            yield f"the number {key} has another unit in its passage"


def _with_units(tokens: Sequence[Token]) -> Iterator[tuple[str, str, str]]:
    """Yields numbers with their unit, and with the word behind them if that is no unit."""
    for at, token in enumerate(tokens):
        if token.kind is not WordKind.NUMBER:
            continue
        if at and tokens[at - 1].key in _CURRENCIES:
            yield token.key, tokens[at - 1].key, ""
            continue
        rest = [*dropwhile(_is_in_range, tokens[at + 1 : at + LONGEST_RANGE])]
        power = rest.pop(0).key if len(rest) > 1 and rest[0].key in _POWERS else ""
        behind = rest[0].key if rest and rest[0].kind is WordKind.CONTENT else ""
        yield (token.key, power + behind, "") if behind in UNIT_KEYS else (token.key, "", behind)


def _is_in_range(token: Token) -> bool:
    return token.kind is WordKind.NUMBER or token.text in _RANGES


def bound_problems(these: Comparison) -> Iterator[str]:
    """A number's limit, “about”, “at least”, “per litre”, left out or added; “about” may be added."""
    ours = these.claim.tokens
    for at, key in _shares(ours):
        own = _bounds(ours, at)
        there = [_bounds(text, place) for text in these.texts for place, each in _shares(text) if each == key]
        loose = {"about"} | ({"per"} & {plain_word(each) for each in ours})
        if there and not any(own - loose == each - loose and each & {"about"} <= own for each in there):
            yield f"the number {ours[at].text} is bounded in another way in its passage: {', '.join(there[0]) or 'not'}"


def _counts(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Yields places and keys of numbers, and of “a year”, “an hour”."""
    for at, token in enumerate(tokens):
        if is_number(tokens, at):
            yield at, token.key
        elif at and token.key in UNIT_KEYS and tokens[at - 1].text.casefold() in {"a", "an"}:
            yield at, f"a {token.key}"


def _shares(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Yields places and keys of numbers and of fractions."""
    yield from _counts(tokens)
    yield from ((at, each.key) for at, each in enumerate(tokens) if each.key in _FRACTIONS)


def _bounds(tokens: Sequence[Token], at: int) -> frozenset[str]:
    words = [plain_word(each) for each in tokens]
    begin = at - (words[at - 1] in {"a", "an"} and bool(at))
    before = words[max(0, begin - NEAR) : begin]
    behind = [*takewhile(lambda each: each not in {",", ";"}, words[at + 1 : at + 2 + NEAR])]
    found = {_BOUNDS.get(word, "") for word in before[-2:]} - {"per"}
    found |= {_PHRASES.get(pair, "") for pair in pairwise(before)}
    found |= {_PHRASES.get(pair, "") for pair in pairwise(behind) if pair[0] == "or"}
    return frozenset(found | {"per"}.intersection(behind)) - {""}


def range_problems(these: Comparison) -> Iterator[str]:
    """One end of a range as if it were the number: “takes 80 minutes” for “80 to 110 minutes”."""
    ours = dict(_ends(these.claim.tokens))
    theirs = [each for text in these.texts for each in _ends(text)]
    for key, other in ours.items():
        there = {each for number, each in theirs if number == key}
        if not other and there and "" not in there and not there & ours.keys():
            yield f"its passage gives a range there, from or to {min(there)}, and not only {key}"


def _ends(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yields each number with the other end of its range, “” if it is in none, or is a bound itself."""
    places = [at for at in range(len(tokens)) if is_number(tokens, at)]
    partners: dict[int, int] = {}
    for one, other in pairwise(places):
        between = [each for each in tokens[one + 1 : other] if each.key not in UNIT_KEYS]
        if [plain_word(each) for each in between] in (["to"], ["or"]):
            partners |= {one: other, other: one}
    for at in places:
        bounded = not partners.get(at) and _bounds(tokens, at) & {"least", "most", "over", "under"}
        if not bounded:
            yield tokens[at].key, tokens[partners[at]].key if at in partners else ""


def change_problems(these: Comparison) -> Iterator[str]:
    """“By” for “to”: “fell by 31 million” is not “fell to 31 million”."""
    for key, own in _changes(these.claim.tokens):
        there = {each for text in these.texts for other, each in _changes(text) if other == key}
        if there and own not in there:
            yield f"its passage says “{max(there)} {key}”, and not “{own} {key}”"


def _changes(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yields numbers and fractions with the “by”, “to” or “from” before them; “rose 5 percent” is “by”."""
    for at, token in enumerate(tokens):
        if token.kind is not WordKind.NUMBER and token.key not in _FRACTIONS:
            continue
        before = [*dropwhile(_is_before_number, reversed(tokens[:at]))][:NEAR]
        word = plain_word(before[0]) if before else ""
        is_range = word == "to" and any(each.kind is WordKind.NUMBER for each in before[1:])
        if word in _CHANGES and not is_range:
            yield token.key, word
        elif before and before[0].key in _MOVES:
            yield token.key, "by"


def _is_before_number(token: Token) -> bool:
    """Whether it may stand between “by” and its number, as in “by about 5”."""
    return token.kind not in {WordKind.CONTENT, WordKind.BREAK} and plain_word(token) not in _DIRECTIONS
