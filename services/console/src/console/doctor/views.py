"""What the doctor's page shows, made from the services' answers. Pure: no I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
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
NEW_SECONDS: Final = 10
"""Age of the newest report that a service can be asked for: several who ask at once share a run."""
KNOWN_SECONDS: Final = 300
"""Age of a report that is shown without a new run, which costs more than every other page."""
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


def oldest_seconds(since: str, now: datetime) -> int:
    """Age at which a report is too old, if somebody asked for new ones at the time `since` (ISO 8601; else empty)."""
    try:
        asked_at = datetime.fromisoformat(since)
    except ValueError:
        return KNOWN_SECONDS
    if asked_at.tzinfo is None:
        asked_at = asked_at.replace(tzinfo=UTC)
    return min(max(int((now - asked_at).total_seconds()) + NEW_SECONDS, NEW_SECONDS), KNOWN_SECONDS)
