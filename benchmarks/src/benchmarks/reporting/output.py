"""Output of a run: tables on the terminal, files in build/, and with `--docs` the document and its pictures."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.reporting import document, goals, pictures, report, results
from benchmarks.reporting.document import Measurements


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """Paths of the output, below the project's folder."""

    root: Path

    @property
    def output(self) -> Path:
        return self.root / "build"

    @property
    def pictures(self) -> Path:
        return self.root / "docs" / "images"

    @property
    def document(self) -> Path:
        return self.root / "docs" / "performance.md"

    @property
    def measurements(self) -> Path:
        return self.root / "docs" / "measurements.json"


def conclude(
    files: ReportFiles, measurements: Measurements, *, docs: bool, console: Console | None = None
) -> list[Path]:
    """Prints and writes the results, of all scenarios or a few; returns the paths of the files.

    Raises:
        DocumentError: see [benchmarks.reporting.document.renew][].
    """
    outcomes = goals.judge(measurements.rows)
    report.show(measurements.rows, outcomes, console)
    found = files.output / "bench.json"
    results.write(found, measurements.rows)
    surroundings = files.output / "bench-surroundings.json"
    surroundings.write_text(json.dumps(measurements.surroundings, indent=1) + "\n")
    reached = files.output / "goals.json"
    reached.write_text(
        json.dumps([asdict(outcome) for outcome in outcomes], indent=1, ensure_ascii=False) + "\n"
    )
    drawn = pictures.draw(measurements.rows, files.output)
    written = [found, surroundings, reached, *pictures.write(files.output, drawn)]
    if docs:
        text = document.renew(files.document.read_text(), measurements, drawn)
        measurements.write(files.measurements)
        files.document.write_text(text)
        written += [files.measurements, files.document, *pictures.write(files.pictures, drawn)]
    return written
