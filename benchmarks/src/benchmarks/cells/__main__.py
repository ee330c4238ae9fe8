"""`make cells`: places a million brands in 1 to 1,000 installations, loses one, and says what that takes and costs."""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Final, Self, TypeVar

from benchmarks.cells import costs
from benchmarks.cells.costs import PROCESSORS, REST_CORES, Assumptions, ProcessorCosts
from benchmarks.cells.placement import (
    Brands,
    Skew,
    TooFullError,
    draw,
    lose,
    machines_of_a_cell,
    moving_seconds,
    place,
)

BRANDS: Final = 1_000_000
SEED: Final = 1
CELLS: Final[dict[Skew, Sequence[int]]] = {
    "log-normal": (1, 3, 10, 30, 100, 300, 1000),
    "Zipf": (10, 100, 1000),
}
Share = TypeVar("Share", int, float)
PAGE: Final = costs.DOCUMENTS / "scaling.md"
_ASSUMED: Final = "assumed"
_BLOCK: Final = re.compile(r"(<!-- made by: make cells -->\n).*?(<!-- /made -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Outcome:
    """So many cells with all brands, before and after the loss of the fullest one. Shares are of a cell's machines."""

    cells: int
    machines: int
    """Of each cell."""
    brands: tuple[int, int]
    """Of a cell: the median, the most."""
    full: tuple[float, float, float]
    """The median, the 99th percentile and the fullest."""
    moved: int
    hours: float
    full_after: float
    dollars: float
    """A month."""

    @classmethod
    def of(cls, brands: Brands, cells: int, assumed: Assumptions) -> Self:
        machines = machines_of_a_cell(brands, cells, assumed.bound)
        room = machines * assumed.bound
        placed = place(brands, cells, room)
        counts = sorted(Counter(placed.homes).values())
        shares = sorted(load / machines for load in placed.loads)
        full, dollars = (_at(shares, 0.5), _at(shares, 0.99), shares[-1]), cells * machines * assumed.machine
        most = _at(counts, 0.5), counts[-1]
        if cells == 1:
            return cls(cells, machines, most, full, 0, 0.0, 0.0, dollars)
        lost = max(range(cells), key=placed.loads.__getitem__)
        after = lose(placed, lost, brands, room)
        moved = [brand for brand, home in enumerate(placed.homes) if home != after.homes[brand]]
        hours = moving_seconds(moved, brands, machines) / 3600
        return cls(cells, machines, most, full, len(moved), hours, max(after.loads) / machines, dollars)


def inputs(assumed: Assumptions, processor: ProcessorCosts) -> str:
    """What the table is made of."""
    kept = costs.KEPT_KB + assumed.posts * costs.POST_KB
    rows = (
        (
            "processor for a keyword",
            f"{processor.keyword * 1000:.1f} ms",
            _source("performance", "what-a-keyword-costs"),
        ),
        (
            "processor for a page view",
            f"{processor.view * 1000:.2f} ms",
            _source("performance", "what-a-keyword-costs"),
        ),
        (
            "a machine, at rest",
            f"{REST_CORES / PROCESSORS:.1%}",
            _source("operations/sizing", "an-idle-minute"),
        ),
        (
            f"disk for a keyword, its page and {assumed.posts:g} posts",
            f"{kept:.1f} kB, and {costs.PASSING_KB:.0f} for a month's keywords",
            _source("operations/sizing", "disk"),
        ),
        ("time of a move", "by articles", _source("operations/moving-a-brand", "how-long-the-pause-is")),
        (
            f"machine of {PROCESSORS} processors",
            f"${assumed.price:g} a month",
            _source("operations/sizing", "what-it-costs-a-month"),
        ),
        ("its disk", f"{assumed.disk:g} GB at ${assumed.disk_price:g}", _ASSUMED),
        (
            "keywords of an average brand",
            f"{assumed.keywords:g} a month, for {assumed.months} months",
            _ASSUMED,
        ),
        ("views of an article", f"{assumed.views:g} a month", _ASSUMED),
        ("busiest hour", f"{assumed.busy:g} times the average", _ASSUMED),
        ("used of a cell", f"at most {assumed.bound:.0%}", _ASSUMED),
    )
    return "\n".join(["| | | source |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)])


def _source(page: str, section: str) -> str:
    return f"[{page.rpartition('/')[2].replace('-', ' ')}]({page}.md#{section})"


def table(outcomes: Iterable[tuple[Skew, Outcome]]) -> str:
    heading = (
        "| sizes | cells | machines of a cell | brands of a cell: median, most | full: median, p99, fullest"
        " | brands that move after a loss | hours of moves | fullest afterwards | a month |"
    )
    lines = [heading, "|---|---|---|---|---|---|---|---|---|"]
    for skew, each in outcomes:
        loss = f"{each.moved:,} | {each.hours:,.0f} | {each.full_after:.0%}" if each.moved else " |  | "
        lines.append(
            f"| {skew} | {each.cells:,} | {each.machines:,} | {each.brands[0]:,}, {each.brands[1]:,} |"
            f" {each.full[0]:.0%}, {each.full[1]:.0%}, {each.full[2]:.0%} | {loss} | ${each.dollars:,.0f} |"
        )
    return "\n".join(lines)


def simulate(
    cells: dict[Skew, Sequence[int]],
    assumed: Assumptions,
    processor: ProcessorCosts,
    *,
    count: int,
    seed: int,
) -> list[tuple[Skew, Outcome]]:
    outcomes = []
    for skew, numbers in cells.items():
        brands = draw(count, skew, assumed, processor, seed)
        outcomes += [(skew, Outcome.of(brands, number, assumed)) for number in numbers]
    return outcomes


def renew(page: str, text: str) -> str:
    """The page with this text as its marked block."""
    return _BLOCK.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page)


def _at(ordered: Sequence[Share], share: float) -> Share:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


_HELP: Final = {
    "keywords": "of an average brand a month",
    "months": "how long brands have been working",
    "views": "of an article a month",
    "posts": "of a keyword",
    "busy": "the busiest hour beside the average one",
    "bound": "share of a cell's machines that may be used, up to 1",
    "price": "US dollars a month for a machine",
    "disk": "gigabytes of a machine",
    "disk_price": "US dollars a month for a gigabyte",
}
"""One for each field of `Assumptions`."""


_MAY_BE_ZERO: Final = frozenset({"views", "posts", "price", "disk_price"})


def _number(
    kind: Callable[[str], Share], *, zero: bool = False, most: float = sys.float_info.max
) -> Callable[[str], Share]:
    """Reads a finite number above zero, or from zero on, up to `most`."""

    def read(text: str) -> Share:
        value = kind(text)
        if value > most:
            raise argparse.ArgumentTypeError(f"{text} is too large; at most {most:g}")
        if not (value > 0 or (zero and value == 0)):
            raise argparse.ArgumentTypeError(f"{text} is too small; {'0 or more' if zero else 'more than 0'}")
        return value

    # For argparse's own message about what is no number at all.
    read.__name__ = getattr(kind, "__name__", "number")
    return read


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.cells",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = made.add_argument
    add("--brands", type=_number(int), default=BRANDS, help="in all cells together")
    add("--seed", type=int, default=SEED, help="of the sizes that are drawn")
    add("--cells", type=_number(int), nargs="+", default=None, help="how many; without it, 1 to 1,000")
    for each in fields(Assumptions):
        most = 1.0 if each.name == "bound" else sys.float_info.max
        kind = _number(type(each.default), zero=each.name in _MAY_BE_ZERO, most=most)
        add(f"--{each.name.replace('_', '-')}", type=kind, default=each.default, help=_HELP[each.name])
    add("--docs", action="store_true", help="write the table into docs/scaling.md")
    return made


def main() -> None:
    told = vars(parser().parse_args())
    assumed = Assumptions(**{each.name: told[each.name] for each in fields(Assumptions)})
    cells = CELLS if told["cells"] is None else dict.fromkeys(CELLS, told["cells"])
    processor = ProcessorCosts.measured()
    try:
        outcomes = simulate(cells, assumed, processor, count=told["brands"], seed=told["seed"])
    except TooFullError as error:
        sys.exit(str(error))
    text = f"{inputs(assumed, processor)}\n\n{table(outcomes)}"
    print(text)
    if told["docs"]:
        PAGE.write_text(renew(PAGE.read_text(), text))


if __name__ == "__main__":
    main()
