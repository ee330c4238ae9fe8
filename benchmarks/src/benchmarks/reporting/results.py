"""What a run of the benchmarks found, row by row, as it stands in build/bench.json."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.errors import MeasurementError

GATE_PASSED = "passed"
NO_FIGURE = "failed: no figure"
"""How the gate begins of what could not be measured at all."""
NO_GATE = "none"
"""The scenario measures no messages (or watches a service at rest), so there is nothing to lose or double."""

_ROWS: Final = "bench.json"
_PROGRESS: Final = "bench-progress.json"


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


def no_figure(error: Exception) -> str:
    """The gate of what broke: a measurement says why by itself, whatever else was raised by its kind."""
    kind = "" if isinstance(error, MeasurementError) else f"{type(error).__name__}: "
    return f"{NO_FIGURE}: {kind}{error}"


def spread_of(figures: Sequence[float]) -> float | None:
    middle = median(figures) if figures else 0.0
    return round((max(figures) - min(figures)) / middle, 3) if middle else None


@dataclass(slots=True)
class Progress:
    """How far a run has come. One of everything is kept in its folder, so that it can be gone on with after an interruption."""

    folder: Path
    wishes: Mapping[str, Any] | None
    """What the run was asked for, as JSON has it: only one that was asked for the same is gone on with. None: it is not kept."""
    rows: list[Row] = field(default_factory=list)
    took: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of each scenario that is done: when it ended, its seconds, and what the machine did before it."""
    worker_memory: dict[str, float] | None = None
    sittings: int = 1

    @classmethod
    def read(cls, folder: Path, wishes: Mapping[str, Any]) -> "Progress":
        """What a run of these wishes left, without the scenarios of which ours has no figure; a new one where there is none."""
        told = folder / _PROGRESS
        found: dict[str, Any] = json.loads(told.read_text()) if told.exists() else {}
        if found.get("wishes") != wishes:
            return cls(folder, wishes)
        rows = [Row(**row) for row in found["rows"]]
        broken = {row.scenario for row in rows if row.kind == "ours" and row.gate.startswith(NO_FIGURE)}
        return cls(
            folder,
            wishes,
            [row for row in rows if row.scenario not in broken],
            {name: took for name, took in found["took"].items() if name not in broken},
            found["worker_memory"],
            found["sittings"] + 1,
        )

    def add(
        self, scenario: str, rows: Sequence[Row], took: dict[str, Any], worker_memory: dict[str, float] | None
    ) -> None:
        """A scenario is done: its rows are written."""
        self.rows += rows
        self.took[scenario] = took
        self.worker_memory = worker_memory
        write(self.folder / _ROWS, self.rows)
        if self.wishes is not None:
            told = {
                "wishes": dict(self.wishes),
                "took": self.took,
                "worker_memory": self.worker_memory,
                "sittings": self.sittings,
                "rows": [asdict(row) for row in self.rows],
            }
            _replace(self.folder / _PROGRESS, told)


def write(path: Path, rows: Sequence[Row]) -> None:
    _replace(path, [asdict(row) for row in rows])


def read(path: Path) -> list[Row]:
    return [Row(**row) for row in json.loads(path.read_text())]


def _replace(path: Path, told: Any) -> None:
    """At once: whoever is interrupted leaves the file of before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    draft.replace(path)
