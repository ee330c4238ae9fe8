"""Exports the time of the last backup, for the alert on its age.

After a complete backup, the backup script writes its start time into a file, in seconds since 1970. Other backup tools may write
the same file.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import structlog
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from chassis.observing.metrics import Families

log = structlog.get_logger(__name__)

NEVER: Final = 0.0
_DIGITS: Final = 12
"""Most digits of a time; enough for thirty thousand years."""


class BackupAge(Collector):
    """Metrics: the start of the last complete backup, and the age at which the alert fires.

    Args:
        families: make metrics with the name of the system.
        record: the file with the time; None: no metrics.
        max_age_hours: age at which the alert fires; None: it never does.
    """

    def __init__(self, families: Families, record: Path | None, max_age_hours: float | None) -> None:
        self._families = families
        self._record = record
        self._max_age_hours = max_age_hours

    def collect(self) -> Iterator[Metric]:
        """Reads the file anew for each scrape; it has one short line."""
        if self._record is None:
            return
        yield self._families.value(
            "last_backup_timestamp_seconds",
            "When the last finished backup began; 0 if none is known.",
            last_backup(self._record),
        )
        if self._max_age_hours is not None:
            yield self._families.value(
                "backup_max_age_seconds",
                "How old the last backup may become, by BACKUP_MAX_AGE_HOURS.",
                self._max_age_hours * 3600,
            )


def last_backup(record: Path) -> float:
    """Seconds since 1970; `NEVER` if the file is missing or holds no time, so that the alert fires."""
    try:
        with record.open() as file:
            text = file.read(2 * _DIGITS).strip()
    except FileNotFoundError:
        return NEVER
    except (OSError, ValueError) as error:
        log.warning("backup_record_unreadable", record=str(record), error=str(error))
        return NEVER
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        log.warning(
            "backup_record_unreadable",
            record=str(record),
            error=f"{text!a} is not a time in seconds since 1970",
        )
        return NEVER
    return float(text)
