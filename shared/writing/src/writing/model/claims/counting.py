"""Compares the things and units of a sentence's numbers with those of a passage. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from writing.model.claims.comparison_budget import ComparisonBudget
from writing.model.claims.wording import UNIT_KEYS, Token, WordKind


def counted(
    ours: Sequence[Token], parts: Sequence[Sequence[Token]], moved: frozenset[str], work: ComparisonBudget
) -> str | None:
    """Returns the problem of the first number that has another thing or unit in these parts; None if all match."""
    theirs = [number for part in parts for number in numbers_of(part)]
    for number in numbers_of(ours):
        work.spend(len(theirs))
        alike = [each for each in theirs if each.key == number.key]
        # In a moved phrase, a number has other neighbours.
        if moved and any(each.introduced == number.introduced for each in alike):
            continue
        if not any(number.is_of_the_same(each) for each in alike):
            return f"the number {number.key} belongs to something else, or has another unit, in its passage"
    return None


@dataclass(frozen=True, slots=True)
class Number:
    key: str
    before: str | None
    """The significant word before it; `after` is the next meaningful word."""
    after: str | None
    introduced: str | None
    """The word directly before it."""

    def is_of_the_same(self, other: "Number") -> bool:
        """Whether both have the same thing and unit, judging by their neighbours."""
        if {self.after, other.after} & UNIT_KEYS:
            return self.after == other.after or (self.before == other.before and self.before in UNIT_KEYS)
        return self.after == other.after or self.before == other.before


def numbers_of(tokens: Sequence[Token]) -> list[Number]:
    found: list[Number] = []
    after: str | None = None
    telling = [at for at, token in enumerate(tokens) if token.kind in {WordKind.CONTENT, WordKind.NUMBER}]
    for place in range(len(telling) - 1, -1, -1):
        at = telling[place]
        if tokens[at].kind is WordKind.CONTENT:
            after = tokens[at].key
            continue
        before = tokens[telling[place - 1]].key if place else None
        found.append(Number(tokens[at].key, before, after, tokens[at - 1].text.casefold() if at else None))
    return found[::-1]
