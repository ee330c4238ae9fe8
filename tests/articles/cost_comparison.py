"""Compares the processor time of a keyword in two checkouts, which take turns in processes of their own."""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
_WORKER: Final = Path(__file__).with_name("cost_worker.py")


@dataclass(frozen=True, slots=True)
class KeywordCosts:
    """Milliseconds of processor time and whether there was an article, by keyword; and for reading the folder."""

    reading_ms: float
    keyword_ms: dict[str, float]
    articles: frozenset[str]


@dataclass(frozen=True, slots=True)
class CostComparison:
    """Medians over the rounds. A ratio above 1 says that this checkout takes more."""

    ratio: float
    """The median over keywords of this checkout's time by the other's."""
    ratio_of_articles: float | None
    """The same of keywords of which both make an article; None if there are none."""
    this_ms: float
    other_ms: float
    reading_ratio: float
    articles: int
    other_articles: int

    def __str__(self) -> str:
        both = "no ratio" if self.ratio_of_articles is None else f"{self.ratio_of_articles:.2f}"
        return (
            f"{self.ratio:.2f} times the CPU of the other checkout for a keyword ({self.this_ms:.1f} ms, {self.other_ms:.1f} ms),"
            f" {both} where both make an article ({self.articles} and {self.other_articles} articles);"
            f" reading {self.reading_ratio:.2f} times"
        )


def compare_costs(folder: Path, keywords: Sequence[str], checkout: Path, *, rounds: int) -> CostComparison:
    """Runs both checkouts on the same keywords in turns, the order changing from round to round.

    Raises:
        FileNotFoundError: the other checkout has no environment: `make setup` there.
    """
    pairs: list[tuple[KeywordCosts, KeywordCosts]] = []
    for turn in range(rounds):
        order = (_ROOT, checkout) if turn % 2 == 0 else (checkout, _ROOT)
        costs = {root: _measure(root, folder, keywords) for root in order}
        pairs.append((costs[_ROOT], costs[checkout]))
    return summarise(pairs)


def summarise(rounds: Sequence[tuple[KeywordCosts, KeywordCosts]]) -> CostComparison:
    """Returns medians of the ratios within a round."""

    def ratio(keywords: frozenset[str]) -> float | None:
        ratios = [
            statistics.median(
                this.keyword_ms[keyword] / max(other.keyword_ms[keyword], 0.01) for this, other in rounds
            )
            for keyword in sorted(keywords)
        ]
        return statistics.median(ratios) if ratios else None

    this, other = rounds[0]
    return CostComparison(
        ratio=ratio(frozenset(this.keyword_ms)) or 0.0,
        ratio_of_articles=ratio(this.articles & other.articles),
        this_ms=statistics.median(ms for one, _ in rounds for ms in one.keyword_ms.values()),
        other_ms=statistics.median(ms for _, one in rounds for ms in one.keyword_ms.values()),
        reading_ratio=statistics.median(one.reading_ms / max(two.reading_ms, 0.01) for one, two in rounds),
        articles=len(this.articles),
        other_articles=len(other.articles),
    )


def _measure(checkout: Path, folder: Path, keywords: Sequence[str]) -> KeywordCosts:
    # Its own environment: the processes that read ignore PYTHONPATH.
    python = Path(sys.executable) if checkout == _ROOT else checkout.absolute() / ".venv/bin/python"
    finished = subprocess.run(
        [python, _WORKER, folder],
        input=json.dumps(list(keywords)),
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        raise RuntimeError(f"{checkout} cannot be measured:\n{finished.stderr}")
    told = json.loads(finished.stdout)
    return KeywordCosts(
        told["reading_ms"],
        {keyword: ms for keyword, ms, _ in told["keywords"]},
        frozenset(keyword for keyword, _, made in told["keywords"] if made),
    )
