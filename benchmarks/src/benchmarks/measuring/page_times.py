"""How long pages of the console take, asked for on a fixed schedule."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any, Final

from benchmarks.errors import MeasurementError

PAGES_A_SECOND: Final = 20.0


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that a person opens; `kind` is what figures are collected by."""

    kind: str
    address: str
    cookie: str


def ask(
    url: str, visits: Sequence[Visit], seconds: float, *, rate: float = PAGES_A_SECOND
) -> Mapping[str, Any]:
    """Opens the pages in turn, `rate` a second; returns `ms` and `statuses` of each kind.

    Raises:
        MeasurementError: the readers ended with an error.
    """
    wishes = {
        "rate": rate,
        "seconds": seconds,
        "visits": [(each.kind, each.address, each.cookie) for each in visits],
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load.readers", url],
        input=json.dumps(wishes),
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds + 120,
    )
    if done.returncode != 0:
        raise MeasurementError(f"the readers ended with code {done.returncode}:\n{done.stderr[-1500:]}")
    seen: Mapping[str, Any] = json.loads(done.stdout)
    return seen


def p95(figures: Sequence[float]) -> float:
    return quantiles(figures, n=20, method="inclusive")[18] if len(figures) > 1 else figures[0]
