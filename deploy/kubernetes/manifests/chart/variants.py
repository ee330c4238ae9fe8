"""Merges renderings of different choices into one tree that says under which condition each part is there."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

from manifests.chart.choices import OPTIONS, Choice

Case = int
"""One sampled choice, by its place in the list of them."""
Variants = Mapping[Case, Any]
"""What stands at one place of the tree in each sampled choice that has this place."""

_MOST_LITERALS: Final = 3


class MergeError(Exception):
    """No simple condition tells the variants apart; the message says where."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A part, and when it is there; without a condition, always."""

    condition: str | None
    node: "Node"
    key: str = ""


@dataclass(frozen=True, slots=True)
class MapNode:
    """Fields, in order."""

    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class ListNode:
    """Items, in order."""

    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class SwitchNode:
    """One of several, the first whose condition holds; the last has none."""

    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar, or something that is empty."""

    value: Any


Node: TypeAlias = MapNode | ListNode | SwitchNode | Leaf


class Merger:
    """Merges the variants of objects that were rendered with these choices."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        self._choices = choices
        self._found: dict[tuple[frozenset[Case], frozenset[Case]], list[Any] | None] = {}

    def merge(self, variants: Variants, where: str) -> Node:
        """Returns the tree from which every variant follows under its choice.

        Raises:
            MergeError: variants differ, and no simple condition says when.
        """
        values = list(variants.values())
        if all(isinstance(value, dict) and value for value in values):
            return MapNode(self._fields(variants, where))
        if all(isinstance(value, list) and value for value in values):
            return ListNode(self._items(variants, where))
        if all(value == values[0] and type(value) is type(values[0]) for value in values):
            return Leaf(values[0])
        return self._switch(variants, where)

    def condition(self, present: Iterable[Case], among: Iterable[Case], where: str) -> str | None:
        """When just these of the cases hold, in the language of templates; None for always."""
        inside = frozenset(present)
        outside = frozenset(among) - inside
        if not outside:
            return None
        if (inside, outside) not in self._found:
            self._found[inside, outside] = self._terms(inside, outside)
        terms = self._found[inside, outside]
        if terms is None:
            raise MergeError(f"{where}: no simple condition says when it is there")
        written = [_and(OPTIONS[name].condition(option) for name, option in term) for term in terms]
        return written[0] if len(written) == 1 else f"or {' '.join(f'({each})' for each in written)}"

    def _fields(self, variants: Variants, where: str) -> tuple[Branch, ...]:
        order = merged_order([list(value) for value in variants.values()], where)
        branches = []
        for key in order:
            having = {case: value[key] for case, value in variants.items() if key in value}
            place = f"{where}.{key}"
            condition = self.condition(having, variants, place)
            branches.append(Branch(condition, self.merge(having, place), key))
        return tuple(branches)

    def _items(self, variants: Variants, where: str) -> tuple[Branch, ...]:
        named = {case: dict(zip(_names(items), items, strict=True)) for case, items in variants.items()}
        order = merged_order([list(value) for value in named.values()], where)
        branches = []
        for name in order:
            having = {case: value[name] for case, value in named.items() if name in value}
            place = f"{where}[{name[:40]}]"
            branches.append(Branch(self.condition(having, variants, place), self.merge(having, place)))
        return tuple(branches)

    def _switch(self, variants: Variants, where: str) -> Node:
        groups: dict[str, dict[Case, Any]] = {}
        for case, value in variants.items():
            groups.setdefault(json.dumps(value, sort_keys=True), {})[case] = value
        branches = []
        left = dict(variants)
        for group in sorted(groups.values(), key=len):
            condition = self.condition(group, left, where)
            branches.append(Branch(condition, self.merge(group, where)))
            left = {case: value for case, value in left.items() if case not in group}
        return SwitchNode(tuple(branches))

    def _terms(self, inside: frozenset[Case], outside: frozenset[Case]) -> list[Any] | None:
        """The fewest conjunctions of a few literals that hold in every case inside, and in none outside."""
        covering = []
        for size in range(1, _MOST_LITERALS + 1):
            for term in itertools.combinations(_literals(), size):
                if len({name for name, _ in term}) < size:
                    continue
                holding = {case for case in inside | outside if self._holds(term, case)}
                if holding and not holding & outside:
                    covering.append((term, holding))
            chosen = _cover(covering, inside)
            if chosen is not None:
                return chosen
        return None

    def _holds(self, term: Iterable[tuple[str, str]], case: Case) -> bool:
        return all(self._choices[case][name] == option for name, option in term)


@cache
def _literals() -> tuple[tuple[str, str], ...]:
    return tuple((name, option) for name, each in OPTIONS.items() for option in each.options)


def _cover(terms: Sequence[tuple[Any, set[Case]]], wanted: frozenset[Case]) -> list[Any] | None:
    chosen = []
    left = set(wanted)
    while left:
        best = max(terms, key=lambda each: len(each[1] & left), default=None)
        if best is None or not best[1] & left:
            return None
        chosen.append(best[0])
        left -= best[1]
    return chosen


def _and(conditions: Iterable[str]) -> str:
    each = list(conditions)
    return each[0] if len(each) == 1 else f"and {' '.join(f'({one})' for one in each)}"


def _names(items: Sequence[Any]) -> list[str]:
    """What tells the items of a list apart: the field `name`, or else all that is in them."""
    plain = [
        f"name={item['name']}" if isinstance(item, dict) and "name" in item else json.dumps(item)
        for item in items
    ]
    if len(set(plain)) == len(plain):
        return plain
    return [f"{name}#{plain[:index].count(name)}" for index, name in enumerate(plain)]


def merged_order(sequences: Sequence[Sequence[str]], where: str) -> list[str]:
    """One order that all sequences keep.

    Raises:
        MergeError: two of them have the same two parts in different order.
    """
    after: dict[str, set[str]] = {}
    for sequence in sequences:
        for index, name in enumerate(sequence):
            after.setdefault(name, set()).update(sequence[:index])
    order: list[str] = []
    while len(order) < len(after):
        ready = next(
            (name for name, before in after.items() if name not in order and before <= set(order)), None
        )
        if ready is None:
            raise MergeError(f"{where}: its parts come in different order")
        order.append(ready)
    return order
