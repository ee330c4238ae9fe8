"""Daily partitions of the inbox: created ahead of time, dropped after the retention period.

A partition's bounds are the plain UUIDs of its first and last millisecond, `milliseconds << 80`. So the primary key is the partition
key, and a duplicate is found at any time. A database function that runs as the owner of the tables creates and drops partitions: the
role of a service owns none.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg

from chassis.database.pool import Connection

RETENTION: Final = timedelta(days=7)
"""How long duplicates are recognised; the function `maintain_processed_events` has the same value."""


def lower_bound(day: date) -> UUID:
    """The smallest UUIDv7 of a day (UTC)."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return UUID(int=(int(midnight.timestamp()) * 1000) << 80)


def partition_name(day: date) -> str:
    return f"processed_events_{day:%Y%m%d}"


async def maintain(connection: Connection) -> None:
    """Creates the partitions of the coming days and drops the expired ones; may run anywhere, at any time.

    Raises:
        asyncpg.LockNotAvailableError: the tables are too busy right now; try again later.
    """
    await connection.execute("select maintain_processed_events()")


BUSY = asyncpg.LockNotAvailableError
