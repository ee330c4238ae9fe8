"""Reads processor time and memory from /proc; nothing inside the measured programs takes part."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
MEGABYTE: Final = 1_000_000
_UTIME, _CSTIME, _PPID = 11, 14, 1
"""Positions after the command's name in /proc/<pid>/stat: utime, stime, cutime, cstime stand side by side."""


@dataclass(frozen=True, slots=True)
class CpuSeconds:
    """Processor time by part of the system, in seconds."""

    broker: float
    database: float
    python: float

    def __sub__(self, earlier: "CpuSeconds") -> "CpuSeconds":
        return CpuSeconds(
            self.broker - earlier.broker, self.database - earlier.database, self.python - earlier.python
        )

    def per_thousand(self, messages: int) -> dict[str, float]:
        """Rounded to 0.1 ms, per 1,000 messages."""
        share = 1000 / messages
        return {
            "broker": round(self.broker * share, 4),
            "database": round(self.database * share, 4),
            "python": round(self.python * share, 4),
        }


def cpu_seconds(roots: Iterable[int]) -> float:
    """Processor time used by the processes and all their descendants, including ended ones.

    A parent's account includes an ended child's time once the parent has waited for it, as servers do.
    """
    stats = _all_stats()
    children: dict[int, list[int]] = {}
    for pid, fields in stats.items():
        children.setdefault(int(fields[_PPID]), []).append(pid)
    ticks, waiting, seen = 0, list(roots), set[int]()
    while waiting:
        pid = waiting.pop()
        if pid in stats and pid not in seen:
            seen.add(pid)
            ticks += sum(map(int, stats[pid][_UTIME : _CSTIME + 1]))
            waiting += children.get(pid, [])
    return ticks / _TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    """Memory of one process that is in RAM, pages shared with others included; 0 when it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def rss_of(pids: Iterable[int]) -> list[int]:
    return [resident_bytes(pid) for pid in pids]


def growth(messages: int, begin: Sequence[int], end: Sequence[int]) -> dict[str, float]:
    """The memory of processes over `messages` messages, in bytes: the largest size and the fastest growth."""
    drift = max(late / early - 1 for early, late in zip(begin, end, strict=True))
    return {
        "messages": messages,
        "busy_rss_mb": round(max(end) / MEGABYTE, 1),
        "drift_percent": round(drift * 100, 1),
    }


def _all_stats() -> dict[int, list[str]]:
    stats = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue  # The process has ended.
            # The command in parentheses may itself contain blanks and parentheses.
            stats[int(entry.name)] = text.rpartition(")")[2].split()
    return stats
