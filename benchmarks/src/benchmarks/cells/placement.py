"""Brands and their cells: each goes to the emptiest cell, and stays there until its cell is lost."""

import heapq
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from benchmarks.cells.costs import PROCESSORS, REST_CORES, Assumptions, ProcessorCosts, move_seconds

Skew = Literal["log-normal", "Zipf"]
_SIGMA: Final = 1.5
"""Of keywords: a tenth of the brands has more than half of them."""
_SIGMA_OF_VIEWS: Final = 1.0
_EXPONENT: Final = 0.8
"""Of a million brands the largest has 1.3 % of all keywords."""


@dataclass(frozen=True, slots=True)
class Brands:
    """What each brand needs, by its number."""

    machines: Sequence[float]
    articles: Sequence[float]

    @property
    def total(self) -> float:
        return math.fsum(self.machines)

    @property
    def largest(self) -> float:
        return max(self.machines)


@dataclass(frozen=True, slots=True)
class Placement:
    homes: Sequence[int]
    """The cell of each brand, by its number."""
    loads: Sequence[float]
    """What each cell needs, in machines, with what it uses at rest."""


class TooFullError(Exception):
    """No cell has room for a brand."""


def draw(count: int, skew: Skew, assumed: Assumptions, costs: ProcessorCosts, seed: int) -> Brands:
    """Brands of unequal size, the same ones for a seed."""
    chance = random.Random(seed)
    if skew == "Zipf":
        shares = [(rank + 1) ** -_EXPONENT for rank in range(count)]
        chance.shuffle(shares)
    else:
        shares = [chance.lognormvariate(0, _SIGMA) for _ in range(count)]
    average = math.fsum(shares) / count
    keywords = [assumed.keywords * share / average for share in shares]
    # The logarithm of an average of 1 lies half the variance below 0.
    views = (
        assumed.views * chance.lognormvariate(-(_SIGMA_OF_VIEWS**2) / 2, _SIGMA_OF_VIEWS)
        for _ in range(count)
    )
    machines = [assumed.machines(*each, costs) for each in zip(keywords, views, strict=True)]
    return Brands(machines, [each * assumed.months for each in keywords])


def machines_of_a_cell(brands: Brands, cells: int, bound: float) -> int:
    """How many machines each cell needs, so that none gets above `bound`, and none does after the loss of one.

    Where each brand goes to the emptiest cell, the fullest exceeds the average by one brand at most.
    """
    rest = REST_CORES / PROCESSORS
    return math.ceil((brands.total / max(cells - 1, 1) + brands.largest + rest) / bound)


def place(brands: Brands, cells: int, room: float) -> Placement:
    """Places all brands, in the order in which they come.

    Raises:
        TooFullError: a cell would get above `room` machines.
    """
    loads = [REST_CORES / PROCESSORS] * cells
    homes = [0] * len(brands.machines)
    _add(brands, range(len(homes)), homes, loads, range(cells), room)
    return Placement(homes, loads)


def lose(placed: Placement, lost: int, brands: Brands, room: float) -> Placement:
    """Places the brands of a lost cell in the others.

    Raises:
        TooFullError: a cell would get above `room` machines.
    """
    homes, loads = list(placed.homes), list(placed.loads)
    loads[lost] = 0.0
    moving = [brand for brand, home in enumerate(homes) if home == lost]
    _add(brands, moving, homes, loads, [cell for cell in range(len(loads)) if cell != lost], room)
    return Placement(homes, loads)


def moving_seconds(moved: Iterable[int], brands: Brands, at_once: int) -> float:
    """How long the moves take, `at_once` of them beside each other."""
    ends = [0.0] * at_once
    for brand in moved:
        heapq.heapreplace(ends, ends[0] + move_seconds(brands.articles[brand]))
    return max(ends)


def _add(
    brands: Brands,
    added: Iterable[int],
    homes: list[int],
    loads: list[float],
    cells: Iterable[int],
    room: float,
) -> None:
    emptiest = [(loads[cell], cell) for cell in cells]
    heapq.heapify(emptiest)
    for brand in added:
        if not emptiest or emptiest[0][0] + brands.machines[brand] > room:
            raise TooFullError(f"no cell has room for brand {brand}")
        load, cell = emptiest[0]
        loads[cell] = load + brands.machines[brand]
        homes[brand] = cell
        heapq.heapreplace(emptiest, (loads[cell], cell))
