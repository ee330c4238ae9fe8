"""command_start: processor time of a command of brandctl, beside loading the two libraries that each of them needs."""

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from benchmarks.reporting.results import ResultRow
from benchmarks.run import BenchmarkRun

_LIBRARIES: Final = (sys.executable, "-c", "import typer, httpx")
_COMMANDS: Final = ("submit", "cycles list", "drafts list", "accounts list", "dead-letters list")
"""Each prints its help, which loads the command without any service."""


def command_start(run: BenchmarkRun) -> list[ResultRow]:
    """In turns within one round, so that a busy machine is as busy for all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in ("libraries", *_COMMANDS)}
    for _ in range(run.of(7, 15)):
        seconds["libraries"].append(_processor_seconds(_LIBRARIES))
        for name in _COMMANDS:
            command = (sys.executable, "-m", "brandctl", *name.split(), "--help")
            seconds[name].append(_processor_seconds(command))
    libraries = statistics.median(seconds.pop("libraries"))
    rows = [
        ResultRow(
            "command_start",
            f"brandctl {name}",
            extra={
                "cpu_ms": round(statistics.median(taken) * 1000, 1),
                "ratio_to_libraries": round(statistics.median(taken) / libraries, 2),
            },
        )
        for name, taken in seconds.items()
    ]
    run.log(f"processor ms of a command's start: {[(row.system, row.extra) for row in rows]}")
    beside = ResultRow(
        "command_start",
        "import typer, httpx",
        kind="comparison",
        extra={"cpu_ms": round(libraries * 1000, 1)},
    )
    return [*rows, beside]


def _processor_seconds(command: Sequence[str]) -> float:
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    after = os.times()
    return (after.children_user + after.children_system) - (before.children_user + before.children_system)
