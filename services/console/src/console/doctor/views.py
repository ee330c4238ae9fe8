"""What the doctor's page shows, made from the services' answers. Pure: no I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

PROBES: Final = frozenset(
    {
        "broker",
        "broker_alarms",
        "queues",
        "dead_letter_exchange",
        "publisher_confirms",
        "broker_permissions",
        "database",
        "database_clock",
        "database_connections",
        "database_role",
        "replication",
        "migrations",
        "inbox_partitions",
    }
)
"""Probes with a title; one of a newer service is shown by its name."""
TONES: Final = {"ok": "good", "warning": "warn", "failed": "bad", "skipped": "quiet"}
_ORDER: Final = ("failed", "warning", "skipped", "ok")


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers over all services."""

    failed: int
    warnings: int
    silent: int
    """Services without an answer."""

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        reports = [part for part in found.values() if isinstance(part, Mapping)]
        states = [finding["status"] for part in reports for finding in part["findings"]]
        return cls(states.count("failed"), states.count("warning"), len(found) - len(reports))


def worst_first(findings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sorts the findings by their status, and leaves those of one status in their order."""
    return sorted(
        findings, key=lambda each: _ORDER.index(each["status"]) if each["status"] in _ORDER else len(_ORDER)
    )
