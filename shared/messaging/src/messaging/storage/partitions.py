"""Daily partitions of the inbox: made ahead of time, dropped past retention.

A partition's bounds are the plain UUIDs of its first and last millisecond, `milliseconds << 80`, so the primary key
is the partition key and a duplicate is found whenever it comes. Which partitions there are is decided in the database,
by a function that runs as the owner of the tables: the role that a service runs as owns none.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg

from chassis.database.pool import Connection

RETENTION: Final = timedelta(days=7)
"""How long a duplicate is recognised; the function `maintain_processed_events` has the same."""


def lower_bound(day: date) -> UUID:
    """The smallest UUIDv7 of a day (UTC)."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return UUID(int=(int(midnight.timestamp()) * 1000) << 80)


def partition_name(day: date) -> str:
    return f"processed_events_{day:%Y%m%d}"


async def maintain(connection: Connection) -> None:
    """Makes the partitions of the coming days and drops the expired ones; safe to run anywhere, any time.

    Raises:
        asyncpg.LockNotAvailableError: the tables are too busy right now; try again later.
    """
    await connection.execute("select maintain_processed_events()")


BUSY = asyncpg.LockNotAvailableError
