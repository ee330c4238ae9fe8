"""Probes of the service's own database, with the service's own role. They only read."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import asyncpg

from chassis.database.migrations import MigrationError
from chassis.database.pool import Connections
from messaging.doctor.findings import Finding, Probe, Status
from messaging.storage import migrations

OLDEST_SERVER: Final = 15
NEWEST_SERVER: Final = 18
CLOCK_WARNING: Final = timedelta(seconds=2)
CLOCK_FAILURE: Final = timedelta(seconds=5)
"""Messages carry the time of their sender, and the inbox files them by it; signatures and leases compare times, too."""
LAG_WARNING: Final = timedelta(seconds=30)
LAG_FAILURE: Final = timedelta(minutes=5)
_MOST_REPLICAS: Final = 50
_MOST_NAMED: Final = 5
_SAYS_NOTHING: Final = (
    asyncpg.InsufficientPrivilegeError,
    asyncpg.FeatureNotSupportedError,
    asyncpg.UndefinedFunctionError,
    asyncpg.UndefinedObjectError,
)
"""Errors of servers that do not show this to the role."""

_CONNECTIONS: Final = """
    select current_setting('max_connections')::int
               - current_setting('superuser_reserved_connections')::int
               - coalesce(current_setting('reserved_connections', true)::int, 0) as server_limit,
           count(*) as server_used,
           (select rolconnlimit from pg_roles where rolname = current_user) as role_limit,
           count(*) filter (where usename = current_user) as role_used,
           (select datconnlimit from pg_database where datname = current_database()) as database_limit,
           count(*) filter (where datname = current_database()) as database_used
    -- A role without further rights sees whose connections there are, and nothing else of them.
    from pg_stat_activity where datid is not null and usesysid is not null
"""
_REPLICAS: Final = """
    select coalesce(nullif(application_name, ''), 'without a name') as name, state, replay_lag,
           pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint as bytes
    from pg_stat_replication order by replay_lag desc nulls last limit $1
"""
_PARTITIONS: Final = """
    select array_agg(to_char(day, 'YYYY-MM-DD') order by day) filter (where name is null) as missing,
           bool_or(name is null and day = today) as is_todays_missing
    from (select today, day, to_regclass('processed_events_' || to_char(day, 'YYYYMMDD')) as name
          from (select (now() at time zone 'utc')::date as today) as now,
               generate_series(today, today + 2, interval '1 day') as day) as days
"""


def database_probes(
    connections: Connections, service: str, now: Callable[[], datetime]
) -> Sequence[tuple[str, Probe]]:
    """The probes in their order, by name; the first is the connection itself.

    `now` is the clock of this process.
    """
    probes: dict[str, Callable[[Connections, str], Awaitable[Finding]]] = {
        "database": _check_server,
        "database_clock": partial(_check_clock, now=now),
        "database_connections": _check_connections,
        "database_role": _check_role,
        "replication": _check_replication,
        "migrations": partial(_check_migrations, service=service),
        "inbox_partitions": partial(_check_partitions, service=service),
    }
    return [(name, partial(probe, connections, name)) for name, probe in probes.items()]


async def _check_server(connections: Connections, name: str) -> Finding:
    async with connections.connection() as connection:
        row = await connection.fetchrow(
            "select current_setting('server_version_num')::int / 10000 as major, current_setting('server_version') as text"
        )
    assert row is not None
    found = f"PostgreSQL {row['text']} answers."
    supported = f"versions {OLDEST_SERVER} to {NEWEST_SERVER} are supported"
    if row["major"] < OLDEST_SERVER:
        return Finding(
            name, Status.FAILED, f"{found} It is too old: {supported}.", "Upgrade the database server."
        )
    if row["major"] > NEWEST_SERVER:
        return Finding(
            name,
            Status.WARNING,
            f"{found} It is newer than what was tested: {supported}.",
            "Use a supported version, or a newer version of this software.",
        )
    return Finding(name, Status.OK, found)


async def _check_clock(connections: Connections, name: str, *, now: Callable[[], datetime]) -> Finding:
    clock = asyncio.get_running_loop().time
    async with connections.connection() as connection:
        await connection.execute("select 1")  # so that waiting for a connection does not count
        ours, began = now(), clock()
        theirs = await connection.fetchval("select clock_timestamp()")
        on_the_way = timedelta(seconds=clock() - began)
    # The server looked at its clock at some time between the question and the answer.
    ahead, behind = ours - theirs, theirs - (ours + on_the_way)
    difference = max(ahead, behind, timedelta())
    text = f"{difference.total_seconds():,.1f} seconds"
    if difference < CLOCK_WARNING:
        return Finding(name, Status.OK, f"The clocks of the service and of the database agree within {text}.")
    direction = "ahead of" if ahead > behind else "behind"
    return Finding(
        name,
        Status.FAILED if difference > CLOCK_FAILURE else Status.WARNING,
        f"The clock of the service is {text} {direction} that of the database.",
        "Synchronise the clocks of both machines, for example with chrony, and look at which of them is wrong.",
    )


async def _check_connections(connections: Connections, name: str) -> Finding:
    async with connections.connection() as connection:
        row = await connection.fetchrow(_CONNECTIONS)
    assert row is not None
    limits = [
        ("The server", "raise max_connections of the server", row["server_limit"], row["server_used"]),
        (
            "The role of the service",
            "raise the connection limit of the role",
            row["role_limit"],
            row["role_used"],
        ),
        (
            "The database",
            "raise the connection limit of the database",
            row["database_limit"],
            row["database_used"],
        ),
    ]
    more = connections.unopened
    wishes = f"the pool of this process may open {more} more"
    for who, remedy, limit, used in limits:
        # Below zero: unlimited.
        if limit is not None and 0 <= limit < used + more:
            return Finding(
                name,
                Status.WARNING,
                f"{who} allows {limit} connections; {used} are open, and {wishes}.",
                f"Lower DATABASE_CONNECTIONS, or {remedy}.",
            )
    return Finding(
        name,
        Status.OK,
        f"The server allows {row['server_limit']} connections; {row['server_used']} are open, and {wishes}.",
    )


async def _check_role(connections: Connections, name: str) -> Finding:
    async with connections.connection() as connection:
        row = await connection.fetchrow(
            """
            select current_user as role, rolsuper or rolcreaterole or rolcreatedb as is_administrator,
                   exists (select from pg_class where oid = to_regclass('processed_events')
                                                  and pg_has_role(current_user, relowner, 'usage')) as is_owner
            from pg_roles where rolname = current_user
            """
        )
    assert row is not None
    if row["is_administrator"]:
        return Finding(
            name,
            Status.WARNING,
            f"The role {row['role']} may administer the database server.",
            "Give the service a role without such rights: migrate with DATABASE_RUNTIME_ROLE.",
        )
    owns = (
        "owns the tables: one role migrates and works"
        if row["is_owner"]
        else "may change rows, and owns no table"
    )
    return Finding(name, Status.OK, f"The role {row['role']} {owns}.")


async def _check_replication(connections: Connections, name: str) -> Finding:
    try:
        async with connections.connection() as connection:
            rows = await connection.fetch(_REPLICAS, _MOST_REPLICAS)
    except _SAYS_NOTHING as error:
        return Finding(
            name, Status.SKIPPED, f"The database does not show its replicas: {type(error).__name__}."
        )
    if not rows:
        return Finding(name, Status.OK, "No replica is connected to the database server.")
    if all(row["state"] is None for row in rows):
        return Finding(
            name,
            Status.SKIPPED,
            f"Replicas: {len(rows)}. How far they are behind is not shown to the role of the service.",
            "To see it here, grant pg_read_all_stats to the role.",
        )
    # An idle server has no lag to report.
    lag = max(row["replay_lag"] or timedelta() for row in rows)
    found = f"Replicas: {len(rows)}. The slowest, {rows[0]['name']}, is {lag.total_seconds():,.1f} seconds behind."
    if lag < LAG_WARNING:
        return Finding(name, Status.OK, found)
    return Finding(
        name,
        Status.FAILED if lag > LAG_FAILURE else Status.WARNING,
        found,
        "Look at the load and the disk of that replica: a fail-over to it now would lose or delay that much.",
    )


async def _check_migrations(connections: Connections, name: str, *, service: str) -> Finding:
    try:
        expected = {each.name: each.checksum for each in migrations.needed([service])}
    except MigrationError as error:
        return Finding(name, Status.SKIPPED, f"This version has no list of migrations: {error}.")
    async with connections.connection() as connection:
        rows = await connection.fetch("select name, checksum from schema_migrations")
    applied = {row["name"]: row["checksum"] for row in rows}
    missing = [each for each in expected if each not in applied]
    changed = [each for each, checksum in expected.items() if applied.get(each, checksum) != checksum]
    if missing:
        return Finding(
            name, Status.FAILED, f"Missing: {_some(missing)}.", f"Run `python -m {service} migrate`."
        )
    if changed:
        return Finding(
            name,
            Status.FAILED,
            f"Applied in another form: {_some(changed)}.",
            "Install the released version: applied migrations never change.",
        )
    newer = len(applied.keys() - expected.keys())
    ahead = f" The database has {newer} more, from a newer version." if newer else ""
    return Finding(name, Status.OK, f"All {len(expected)} migrations of this version are applied.{ahead}")


async def _check_partitions(connections: Connections, name: str, *, service: str) -> Finding:
    async with connections.connection() as connection:
        row = await connection.fetchrow(_PARTITIONS)
    assert row is not None
    if not row["missing"]:
        return Finding(
            name, Status.OK, "The inbox has partitions for today and for the two days after today."
        )
    return Finding(
        name,
        Status.FAILED if row["is_todays_missing"] else Status.WARNING,
        f"The inbox has no partition for {', '.join(row['missing'])}.",
        "The service creates them each hour: look for `inbox_maintenance_postponed` and `background_task_failed`"
        f" in its log, and run `python -m {service} migrate`, which creates them, too.",
    )


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
