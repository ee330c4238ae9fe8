"""What a long run has to keep flat, and its verdict. Pure: no I/O, no clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

MOST_MEMORY_GROWTH: Final = 0.05
"""Of a process, from the second quarter of the run to the last."""
MOST_ROWS_GROWTH: Final = 0.10
"""Of a table whose rows are removed again, in the same time."""
_SMALL_ROWS: Final = 500
"""Tables that stay below are small, whatever their growth."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen at one moment."""

    second: float
    """Of the run."""
    memory_mb: Mapping[str, float]
    """By process."""
    rows: Mapping[str, int]
    """By `service.table`, of tables whose rows are removed again."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A figure of the last quarter beside that of the second."""

    name: str
    second_quarter: float
    last_quarter: float
    bound: float

    @property
    def share(self) -> float:
        return self.last_quarter / self.second_quarter - 1 if self.second_quarter else 0.0

    @property
    def is_flat(self) -> bool:
        return self.share <= self.bound


def growths(samples: Sequence[Sample], seconds: float) -> list[Growth]:
    """Compares the medians of the second and of the last quarter of a run of so many seconds.

    The first quarter is the warm-up, in which the services are started again.

    Raises:
        ValueError: there is no sample of one of them.
    """
    second = [each for each in samples if 0.25 * seconds <= each.second < 0.5 * seconds]
    last = [each for each in samples if each.second >= 0.75 * seconds]
    if not second or not last:
        raise ValueError("the run was too short: a quarter of it has no sample")
    memory = [
        Growth(
            f"memory of {name}, MB",
            *_medians([each.memory_mb for each in second], [each.memory_mb for each in last], name),
            bound=MOST_MEMORY_GROWTH,
        )
        for name in sorted(last[-1].memory_mb)
    ]
    rows = [
        Growth(
            f"rows of {name}",
            *_medians([each.rows for each in second], [each.rows for each in last], name),
            bound=MOST_ROWS_GROWTH,
        )
        for name in sorted(last[-1].rows)
    ]
    return [*memory, *(each for each in rows if max(each.second_quarter, each.last_quarter) > _SMALL_ROWS)]


def _medians(
    second: Sequence[Mapping[str, float]], last: Sequence[Mapping[str, float]], name: str
) -> tuple[float, float]:
    return median(each[name] for each in second), median(each[name] for each in last)
