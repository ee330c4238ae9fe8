"""Daily partitions of the inbox: made ahead of time, dropped past retention.

A partition's bounds are the plain UUIDs of its first and last millisecond, `milliseconds << 80`, so the primary key
is the partition key and a duplicate is found whenever it comes.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Final
from uuid import UUID

import asyncpg

from chassis.database.pool import Connection

RETENTION: Final = timedelta(days=7)
"""How long a duplicate is recognised."""
DAYS_AHEAD: Final = 3
_PREFIX: Final = "processed_events_"


def lower_bound(day: date) -> UUID:
    """The smallest UUIDv7 of a day (UTC)."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return UUID(int=(int(midnight.timestamp()) * 1000) << 80)


def partition_name(day: date) -> str:
    return f"{_PREFIX}{day:%Y%m%d}"


async def maintain(connection: Connection) -> None:
    """Makes the partitions of the coming days and drops the expired ones; safe to run anywhere, any time.

    Raises:
        asyncpg.LockNotAvailableError: the tables are too busy right now; try again later.
    """
    async with connection.transaction():
        await connection.execute("set local lock_timeout = '3s'")
        # One replica at a time; the others find nothing left to do.
        await connection.execute("select pg_advisory_xact_lock(hashtext('processed_events partitions'))")
        today = await connection.fetchval("select (now() at time zone 'utc')::date")
        existing = await _existing(connection)
        wanted = [today + timedelta(days=offset) for offset in range(-RETENTION.days, DAYS_AHEAD + 1)]
        for day in wanted:
            if partition_name(day) not in existing:
                await _create(connection, day)
        oldest = partition_name(wanted[0])
        for name in existing:
            if name < oldest:
                await connection.execute(f"drop table {name}")
        await connection.execute(
            "delete from processed_events_default where processed_at < now() - $1::interval", RETENTION
        )


async def _existing(connection: Connection) -> list[str]:
    rows = await connection.fetch(
        """
        select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid
        where inhparent = 'processed_events'::regclass and child.relname ~ '^processed_events_[0-9]{8}$'
        """
    )
    return [row["name"] for row in rows]


async def _create(connection: Connection, day: date) -> None:
    first, last = lower_bound(day), lower_bound(day + timedelta(days=1))
    # Messages of senders whose clock runs ahead may sit in the default partition already; they must move, or the
    # new partition is refused.
    # Columns by name: the version after this one may have added others.
    early = await connection.fetch(
        """
        delete from processed_events_default where event_id >= $1 and event_id < $2
        returning event_id, type, queue, outcome, processed_at
        """,
        first,
        last,
    )
    await connection.execute(
        f"create table {partition_name(day)} partition of processed_events for values from ('{first}') to ('{last}')"
    )
    if early:
        await connection.executemany(
            "insert into processed_events (event_id, type, queue, outcome, processed_at) values ($1, $2, $3, $4, $5)",
            [tuple(row) for row in early],
        )


BUSY = asyncpg.LockNotAvailableError
