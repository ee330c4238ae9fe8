"""When the last backup was made, for the alert on its age.

The script that makes a backup writes into a file when it began, in seconds since 1970, once the backup is whole. Whoever makes backups in another
way may write that file as well.
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
"""That a time may have; for thirty thousand years."""


class BackupAge(Collector):
    """When the last finished backup began, and how old it may become.

    Args:
        families: make metrics with the name of the system.
        record: the file with the time; without one nothing is shown.
        max_age_hours: from which age on people hear of it; without one nobody does.
    """

    def __init__(self, families: Families, record: Path | None, max_age_hours: float | None) -> None:
        self._families = families
        self._record = record
        self._max_age_hours = max_age_hours

    def collect(self) -> Iterator[Metric]:
        """The file is read for each scrape, since it has one short line."""
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
    """Seconds since 1970; `NEVER` where the file is missing or holds no time, so that the alert fires then."""
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
            "backup_record_unreadable", record=str(record), error=f"{text!a} is no time in seconds since 1970"
        )
        return NEVER
    return float(text)
