"""What a run of the benchmarks found, row by row, as it stands in build/bench.json."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

GATE_PASSED = "passed"
NO_GATE = "none"
"""The scenario measures no messages (or watches a service at rest), so there is nothing to lose or double."""


@dataclass(slots=True)
class Row:
    """One figure: a scenario, a system, a tier. Rates in messages per second, times in milliseconds."""

    scenario: str
    system: str
    tier: str = "T2"
    msgs_per_s: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    cpu_s_per_1k: dict[str, float] | None = None
    """`broker`, `database`, `python`: processor seconds per 1,000 messages."""
    ratio_to_ours: float | None = None
    gate: str = NO_GATE
    """`passed`, `failed: why`, `skipped: why` or `none`; a figure whose gate did not pass does not count."""
    kind: str = "ours"
    rounds: list[float] = field(default_factory=list)
    """The figure of each round, in the row's unit."""
    spread: float | None = None
    """(largest - smallest) / median over the rounds."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Whatever else belongs to the scenario."""

    @property
    def counts(self) -> bool:
        return self.gate in {GATE_PASSED, NO_GATE}


def spread_of(figures: Sequence[float]) -> float | None:
    middle = median(figures) if figures else 0.0
    return round((max(figures) - min(figures)) / middle, 3) if middle else None


def write(path: Path, rows: Sequence[Row]) -> None:
    """Replaces the file at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False) + "\n")
    draft.replace(path)


def read(path: Path) -> list[Row]:
    return [Row(**row) for row in json.loads(path.read_text())]
