"""Checks the words next to names and numbers: counts and units, who does what, ownership. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Final

from writing.model.claims.clauses import Clause, meaningful_keys
from writing.model.claims.rephrasings import rotated, variants
from writing.model.claims.wording import (
    ARTICLES,
    PREPOSITIONS,
    PRONOUNS,
    UNIT_KEYS,
    Token,
    WordKind,
    stem,
)

ORDER: Final = 0.5
"""The least share of common words that must be in the order of the nearest clause."""
FEWEST_IN_ORDER: Final = 3
AROUND: Final = 4
"""The words on either side of a number that identify its thing."""
NEAR: Final = 3
"""The most words between two that count as adjacent."""
_ORDINALS: Final = frozenset("first second third fourth fifth sixth seventh eighth ninth".split())  # noqa: SIM905
_CURRENCIES: Final = frozenset("$€£")
_POWERS: Final = frozenset({stem("cubic"), stem("square"), stem("percentage")})
_RANGES: Final = frozenset({"to", "or"})


@dataclass(frozen=True, slots=True)
class _Number:
    key: str
    unit: str | None
    things: tuple[str, ...]
    """The counted thing: at most two words right behind number and unit."""
    before: str | None
    """The word right before it."""
    joined: frozenset[str]
    """Words that make it a different number: “2 million”, “5 to 10”, “21st”."""
    around: frozenset[str]


def _numbers(tokens: Sequence[Token]) -> Iterator[_Number]:
    told = [
        (at, each.key)
        for at, each in enumerate(tokens)
        if each.kind is WordKind.CONTENT and each.key not in UNIT_KEYS
    ]
    for at, token in enumerate(tokens):
        if token.kind is not WordKind.NUMBER:
            continue
        begin, end, joined = _joined(tokens, at)
        unit = tokens[begin - 1].key if begin and tokens[begin - 1].key in _CURRENCIES else None
        power = tokens[end].key if end + 1 < len(tokens) and tokens[end].key in _POWERS else ""
        end += bool(power)
        if end < len(tokens) and tokens[end].key in UNIT_KEYS:
            unit, end = f"{power}{tokens[end].key}", end + 1
        while end < len(tokens) and (tokens[end].key in UNIT_KEYS or tokens[end].text in {"of", "the", "a"}):
            end += 1
        things = tuple(
            each.key for each in takewhile(lambda each: each.kind is WordKind.CONTENT, tokens[end : end + 2])
        )
        last = next((each for each in reversed(tokens[:at]) if each.kind is not WordKind.FREE), None)
        around = [key for place, key in told if place < at][-AROUND:]
        around += [key for place, key in told if place > at][:AROUND]
        yield _Number(
            token.key,
            unit,
            things,
            last.key if last and last.kind is WordKind.CONTENT else None,
            joined,
            frozenset(around),
        )


def _joined(tokens: Sequence[Token], at: int) -> tuple[int, int, frozenset[str]]:
    """Returns the span of the compound number that contains this one, and its other parts."""
    begin, end = at, at + 1
    others: set[str] = set()
    while end < len(tokens):
        if tokens[end].kind is WordKind.NUMBER:
            others.add(tokens[end].key)
            end += 1
        elif (
            tokens[end].text in _RANGES and end + 1 < len(tokens) and tokens[end + 1].kind is WordKind.NUMBER
        ):
            others.add(tokens[end + 1].key)
            end += 2
        else:
            break
    if end < len(tokens) and tokens[end].key in _ORDINALS:
        others.add(tokens[end].key)
    while begin and (
        tokens[begin - 1].kind is WordKind.NUMBER
        or (begin > 1 and tokens[begin - 1].text in _RANGES and tokens[begin - 2].kind is WordKind.NUMBER)
    ):
        begin -= 1 if tokens[begin - 1].kind is WordKind.NUMBER else 2
        others.add(tokens[begin].key)
    return begin, end, frozenset(others)


def number_problems(ours: Sequence[Token], texts: Sequence[Sequence[Token]]) -> Iterator[str]:
    """Yields the numbers that, judging by their neighbours, have another thing or unit, or are parts of other numbers."""
    keys = {token.key for token in ours}
    theirs = [number for text in texts for number in _numbers(text)]
    for number in _numbers(ours):
        alike = [each for each in theirs if each.key == number.key]
        if not alike:
            continue
        same_unit = any(each.unit == number.unit for each in alike)
        if not same_unit and (number.unit or all(each.unit for each in alike)):
            yield f"the number {number.key} has another unit in its passage"
        if all(each.joined and not each.joined & keys for each in alike):
            yield f"the number {number.key} is a part of another one in its passage"
        elsewhere = number.around and not any(each.around & number.around for each in alike)
        if elsewhere or _counted_otherwise(number, alike, theirs):
            yield f"the number {number.key} belongs to something else in its passage"
    for one, other in (pair for text in texts for pair in pairwise(text)):
        if one.kind is WordKind.NUMBER and one.key not in keys and other.key in _ORDINALS & keys:
            yield f"its passage says “{one.text} {other.text}”"


def _counted_otherwise(number: _Number, alike: Sequence[_Number], theirs: Sequence[_Number]) -> bool:
    """Whether the passage gives another number for the same thing."""
    thing = number.things[:1]
    if thing and any(thing[0] in each.things for each in alike):
        return False
    before = None if any(each.before == number.before for each in alike) else number.before
    others = [each for each in theirs if each.key != number.key and number.key not in each.joined]
    return any((thing and thing[0] in each.things) or (before and each.before == before) for each in others)


def swapped_numbers(ours: Sequence[Token], texts: Sequence[Sequence[Token]]) -> Iterator[str]:
    """Yields numbers that changed places: “10 to 5”."""
    theirs = {pair for text in texts for pair in _number_pairs(text)}
    for one, other in _number_pairs(ours):
        if (other, one) in theirs and (one, other) not in theirs:
            yield f"its passage says {other} and {one}, and not {one} and {other}"


def _number_pairs(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yields pairs of neighbouring numbers, with at most a unit and a little word between them."""
    numbers = [at for at, token in enumerate(tokens) if token.kind is WordKind.NUMBER]
    for one, other in pairwise(numbers):
        between = tokens[one + 1 : other]
        if len(between) <= NEAR and not any(
            each.kind is WordKind.CONTENT and each.key not in UNIT_KEYS for each in between
        ):
            yield tokens[one].key, tokens[other].key


def split_names(ours: Sequence[Token], texts: Sequence[Sequence[Token]]) -> Iterator[str]:
    """Yields names that the passages have with their words apart, except reversed around “of”."""
    theirs: set[tuple[str, str]] = set()
    for text in texts:
        for at, token in enumerate(text):
            for behind in text[at + 1 : at + 1 + NEAR]:
                theirs.add((token.key, behind.key))
            if [each.text for each in text[at + 1 : at + 2]] == ["of"]:
                theirs.update((each.key, token.key) for each in text[at + 2 : at + 2 + NEAR])
    for one, other in pairwise(ours):
        named = all(each.kind is WordKind.CONTENT and each.text[0].isupper() for each in (one, other))
        if named and one is not ours[0] and (one.key, other.key) not in theirs:
            yield f"its passages do not say “{one.text} {other.text}”"


def order_problems(clause: Clause, near: Sequence[Clause]) -> Iterator[str]:
    """Yields a problem if names, or most words, are in another order than in every reading of the nearest clauses."""
    shares = [
        share
        for each in near
        for reading in (each.tokens, *(part for (part, *_) in variants([each.tokens])), rotated(each.tokens))
        for own in (clause.tokens, rotated(clause.tokens))
        if (share := _in_order(own, reading)) is not None
    ]
    if not shares:
        yield "its passage has the names in another order: keep to who does what to whom"
    elif max(shares) < ORDER:
        yield "its passage has the words in another order: keep to who does what to whom"


def _names(tokens: Sequence[Token], *, opens: bool = False) -> list[tuple[int, str]]:
    """Returns positions and keys of capitalised words; of the first word of a sentence only if the next is capitalised."""
    return [
        (at, token.key)
        for at, token in enumerate(tokens)
        if token.kind is WordKind.CONTENT
        and token.text[0].isupper()
        and token.key not in UNIT_KEYS
        and (at or not opens or (len(tokens) > 1 and tokens[1].text[0].isupper()))
    ]


def swapped_names(ours: Sequence[Token], texts: Sequence[Sequence[Token]]) -> Iterator[str]:
    """Yields names in the place of other ones: next to a word that the passages put next to another name only."""
    theirs = {pair for text in texts for pair in _beside(text)}
    names = {key for text in texts for _, key in _names(text)}
    own = {key for _, key in _names(ours)}
    for one, other in _beside(ours):
        for name, word in ((one, other), (other, one)):
            if name not in own or word in own or {(name, word), (word, name)} & theirs:
                continue
            there = [pair for pair in theirs if (pair[1] == word if name == one else pair[0] == word)]
            others = {pair[0] if name == one else pair[1] for pair in there}
            if others and others <= names:
                yield f"its passage says “{word}” of another name"


def _beside(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yields pairs of meaningful words with only function words between them."""
    told = [token for token in tokens if token.kind is not WordKind.FREE]
    for one, other in pairwise(told):
        if one.kind is WordKind.CONTENT and other.kind is WordKind.CONTENT:
            yield one.key, other.key


def _begins_with_name(tokens: Sequence[Token]) -> bool:
    first = next((at for at, token in enumerate(tokens) if token.kind is WordKind.CONTENT), None)
    return first is not None and first in {at for at, _ in _names(tokens, opens=True)}


def attribution_of_others(clause: Clause, near: Sequence[Clause], theirs: Sequence[Clause]) -> Iterator[str]:
    """Yields problems if the passages say it about other names than the claim's, or with subject and object exchanged.

    Args:
        clause: of the claim.
        near: the nearest clauses of the passages.
        theirs: all clauses of the passages.
    """
    placed = _names(clause.tokens)
    names = {key for _, key in placed}
    rest = clause.keys - names
    most = max((len(rest & each.keys) for each in theirs), default=0)
    holders = [each for each in theirs if len(rest & each.keys) == most > 0]
    if (
        names
        and holders
        and all(
            not names & each.keys and not each.words & PRONOUNS and _names(each.tokens, opens=True)
            for each in holders
        )
    ):
        yield "its passage says this of others"
    for at, key in placed:
        if _hangs_on(clause.tokens, at) == "by":
            there = [
                _hangs_on(each.tokens, place)
                for each in near
                for place, own in _names(each.tokens)
                if own == key
            ]
            if there and not {"by", None} & set(there):
                yield f"its passage does not say “by {clause.tokens[at].text}”"


def _in_order(own: Sequence[Token], reading: Sequence[Token]) -> float | None:
    """Returns the share of common words in the same order; None if the names are not.

    A name behind the same preposition, “by Ann”, “in Rome”, may be anywhere.
    """
    theirs = meaningful_keys(reading)
    ours = list(dict.fromkeys(key for key in meaningful_keys(own) if key in set(theirs)))
    hung = {(word, token.key) for at, token in enumerate(reading) if (word := _hangs_on(reading, at))}
    names = dict.fromkeys(
        token.key
        for at, token in enumerate(own)
        if token.key in ours and token.text[0].isupper() and (_hangs_on(own, at), token.key) not in hung
    )
    if _common(list(names), theirs) < len(names):
        return None
    return _common(ours, theirs) / len(ours) if len(ours) >= FEWEST_IN_ORDER else 1.0


def _hangs_on(tokens: Sequence[Token], at: int) -> str | None:
    before = at - 1
    while before >= 0 and (tokens[before].text.casefold() in ARTICLES or tokens[before].text[0].isupper()):
        before -= 1
    word = tokens[before].text.casefold() if before >= 0 else ""
    return word if word in PREPOSITIONS else None


def _common(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Returns the length of the longest common subsequence."""
    row = [0] * (len(theirs) + 1)
    for key in ours:
        before = 0
        for at, other in enumerate(theirs, 1):
            before, row[at] = row[at], before + 1 if key == other else max(row[at], row[at - 1])
    return row[-1]


def owner_problems(
    names: Sequence[Token], ours: Sequence[Token], texts: Sequence[Sequence[Token]]
) -> Iterator[str]:
    """Yields names that the passages have only as owners: “Ann's dog bit Bob” is not “Ann bit Bob”."""
    free = {
        token.key
        for at, token in enumerate(ours)
        if not _owns(token) and (not at or ours[at - 1].text not in {"of", "by"})
    }
    for name in names:
        there = [token for text in texts for token in text if token.key == name.key]
        if name.key in free and there and all(map(_owns, there)):
            yield f"its passage says “{there[0].text}”, and not “{name.text}”"


def _owns(token: Token) -> bool:
    return token.text.endswith(("'s", "’s"))  # noqa: RUF001
