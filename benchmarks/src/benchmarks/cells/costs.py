"""What brands cost an installation: figures that were measured, each with its source, and assumptions that a run may change."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Self

from benchmarks.reporting.document import Measurements

DOCUMENTS: Final = Path(__file__).parents[4] / "docs"
_SECONDS_OF_A_MONTH: Final = 30 * 86_400
_DAYS_OF_A_MONTH: Final = 30


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure of this module stands in the documents."""

    page: str
    says: str


SOURCES: Final = (
    Source("operations/sizing.md", "a machine of two processors and 4 GB"),
    Source("operations/sizing.md", "about 40 with its own"),
    Source("operations/sizing.md", "**4.1**"),
    Source("operations/sizing.md", "5.9 kB per keyword: article, keyword, cycle"),
    Source("operations/sizing.md", "7.1 kB per keyword | 90 days"),
    Source("operations/sizing.md", "6.3 kB per keyword"),
    Source("operations/sizing.md", "4.3 kB per page"),
    Source("operations/sizing.md", "2.3 kB per post"),
    Source("operations/sizing.md", "about 1.1 kB per keyword (eight messages) | seven days"),
    Source("operations/moving-a-brand.md", "| 10 articles, while keywords of three brands flowed"),
    Source("operations/moving-a-brand.md", "| 5.9 s |"),
    Source("operations/moving-a-brand.md", "| 100 articles of some 500 words, 300 posts | 23 s |"),
    Source("operations/moving-a-brand.md", "| 1,000 articles of some 500 words, 3,000 posts | 136 s |"),
)
"""Tests look whether the pages still say so. Processor time is read from the measurements themselves."""

PROCESSORS: Final = 2
"""Of one machine."""
REST_CORES: Final = 4.1 / 60
"""What an installation uses at rest."""
KEPT_KB: Final = 5.9 + 6.3 + 4.3
"""Of a keyword, for good: orchestrator, research, publisher."""
POST_KB: Final = 2.3
PASSING_KB: Final = 7.1 * 90 / _DAYS_OF_A_MONTH + 1.1 * 7 / _DAYS_OF_A_MONTH
"""Of a keyword a month, for a time: steps of its workflow, the inbox."""
_MOVES: Final = ((10, 5.9), (100, 23.0), (1000, 136.0))
"""How long the move of a brand took, by its articles."""


@dataclass(frozen=True, slots=True)
class ProcessorCosts:
    """Seconds of a processor."""

    keyword: float
    view: float

    @classmethod
    def measured(cls, path: Path = DOCUMENTS / "measurements.json") -> Self:
        rows = {(row.scenario, row.system): row for row in Measurements.read(path).rows}
        found = [
            sum((rows[each].cpu_s_per_1k or {}).values()) / 1000
            for each in (("pipeline_keywords", "ours"), ("site_pages", "ours, whole"))
        ]
        return cls(*found)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Without a measurement: how brands work, how much of a machine may be used, and prices."""

    keywords: float = 30.0
    """Of an average brand a month."""
    months: int = 24
    """How long brands have been working; their articles stay."""
    views: float = 100.0
    """Of an article a month, on average."""
    posts: float = 3.0
    """Of a keyword."""
    busy: float = 4.0
    """The busiest hour beside the average one."""
    bound: float = 0.7
    """The share of a cell's machines that may be used, also after the loss of another cell."""
    price: float = 40.0
    """US dollars a month for a machine of two processors and 4 GB."""
    disk: float = 200.0
    """Gigabytes of disk of a machine."""
    disk_price: float = 0.1
    """US dollars a month for a gigabyte."""

    @property
    def machine(self) -> float:
        """US dollars a month."""
        return self.price + self.disk * self.disk_price

    def machines(self, keywords: float, views: float, costs: ProcessorCosts) -> float:
        """What a brand needs, in machines: of its processors or of its disk, whichever is more.

        Args:
            keywords: of this brand a month.
            views: of one of its articles a month.
            costs: as measured.
        """
        viewed = keywords * self.months * views
        cores = self.busy * (keywords * costs.keyword + viewed * costs.view) / _SECONDS_OF_A_MONTH
        kilobytes = keywords * (self.months * (KEPT_KB + self.posts * POST_KB) + PASSING_KB)
        return max(cores / PROCESSORS, kilobytes / 1e6 / self.disk)


def move_seconds(articles: float, measured: Sequence[tuple[float, float]] = _MOVES) -> float:
    """How long the move of a brand takes, on the lines between what was measured and beyond its end."""
    if articles <= measured[0][0]:
        return measured[0][1]
    for (few, short), (many, long) in pairwise(measured):
        if articles <= many or many == measured[-1][0]:
            return short + (articles - few) * (long - short) / (many - few)
    raise AssertionError
