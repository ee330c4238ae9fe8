"""The results of a run in rows, as in build/bench.json."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.errors import MeasurementError

GATE_PASSED = "passed"
NO_FIGURE = "failed: no figure"
"""The prefix of a gate without any measurement."""
NO_GATE = "none"
"""The gate of a scenario without messages, which can neither lose nor double any."""

_ROWS: Final = "bench.json"
_PROGRESS: Final = "bench-progress.json"


@dataclass(slots=True)
class ResultRow:
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
    """Additional values of the scenario."""

    @property
    def counts(self) -> bool:
        return self.gate in {GATE_PASSED, NO_GATE}


def no_figure(error: Exception) -> str:
    """The gate of a failed row: a measurement's own message, or the error's type and text."""
    kind = "" if isinstance(error, MeasurementError) else f"{type(error).__name__}: "
    return f"{NO_FIGURE}: {kind}{error}"


def spread_of(figures: Sequence[float]) -> float | None:
    middle = median(figures) if figures else 0.0
    return round((max(figures) - min(figures)) / middle, 3) if middle else None


@dataclass(slots=True)
class RunProgress:
    """The state of a run. It is stored, so that an interrupted run can continue."""

    folder: Path
    wishes: Mapping[str, Any] | None
    """The arguments as JSON; only a run with equal ones continues. None: the state is not stored."""
    rows: list[ResultRow] = field(default_factory=list)
    took: dict[str, dict[str, Any]] = field(default_factory=dict)
    """For each finished scenario: its end, its seconds, and the machine's load before it."""
    worker_memory: dict[str, float] | None = None
    sittings: int = 1

    @classmethod
    def read(cls, folder: Path, wishes: Mapping[str, Any]) -> "RunProgress":
        """Loads the run with these arguments, without scenarios that lack our figure; starts a new one if none exists."""
        told = folder / _PROGRESS
        found: dict[str, Any] = json.loads(told.read_text()) if told.exists() else {}
        if found.get("wishes") != wishes:
            return cls(folder, wishes)
        rows = [ResultRow(**row) for row in found["rows"]]
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
        self,
        scenario: str,
        rows: Sequence[ResultRow],
        took: dict[str, Any],
        worker_memory: dict[str, float] | None,
    ) -> None:
        """Stores the rows of a finished scenario."""
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


def write(path: Path, rows: Sequence[ResultRow]) -> None:
    _replace(path, [asdict(row) for row in rows])


def read(path: Path) -> list[ResultRow]:
    return [ResultRow(**row) for row in json.loads(path.read_text())]


def _replace(path: Path, told: Any) -> None:
    """Atomic: an interruption leaves the earlier file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    draft.replace(path)
