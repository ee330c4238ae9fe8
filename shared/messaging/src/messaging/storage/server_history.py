"""Detects that the database has lost commits, because a lagging standby or a backup has replaced its server.

One row identifies the server and says when it was seen last. A replacement has that row as of the last commit that reached it. So
commits up to that time are there, and later ones may be lost.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import asyncpg

from chassis import Connection
from chassis.database.pool import DatabaseUnavailableError

SYNCHRONOUS_FAIL_OVER: Final = timedelta(minutes=2)
"""The row's age at most for a fail-over to a synchronous standby. An older row may come from a backup."""

_SERVER: Final = """
    select (select system_identifier from pg_control_system()) || '/'
               || (select oid from pg_database where datname = current_database()) as system_identifier,
           case when not pg_is_in_recovery() then substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as timeline,
           current_setting('synchronous_standby_names') <> ''
               and current_setting('synchronous_commit') not in ('off', 'local') as is_synchronous,
           clock_timestamp() as now
"""


_SAYS_NOTHING: Final = (
    asyncpg.InsufficientPrivilegeError,
    asyncpg.FeatureNotSupportedError,
    asyncpg.ObjectNotInPrerequisiteStateError,
    asyncpg.UndefinedFunctionError,
)
"""Errors of databases that do not identify their server."""


@dataclass(frozen=True, slots=True)
class CommitLoss:
    """Commits of a database that may be lost: those between these two times, by the database's clock."""

    kept_until: datetime
    noticed_at: datetime


class UnknownServerError(Exception):
    """The database does not identify its server; some managed services do not."""


async def note_server(connection: Connection) -> CommitLoss | None:
    """Records the server. Returns the loss if it has replaced another one since; each loss is returned once.

    The row is locked until the caller's transaction ends.

    Raises:
        DatabaseUnavailableError: the server is a standby.
        UnknownServerError: the database does not identify its server.
    """
    try:
        async with connection.transaction():
            server = await connection.fetchrow(_SERVER)
    except _SAYS_NOTHING as error:
        raise UnknownServerError(str(error)) from error
    assert server is not None
    if server["timeline"] is None:
        raise DatabaseUnavailableError("the server is a standby")
    seen = await connection.fetchrow("select * from server_history for update")
    if seen is None:
        await _insert(connection, server)
        return None
    loss = _loss(seen, server)
    await connection.execute(
        """
        update server_history set system_identifier = $1, timeline = $2, is_synchronous = $3, seen_at = $4,
               kept_until = coalesce($5, kept_until), noticed_at = coalesce($6, noticed_at)
        """,
        server["system_identifier"],
        server["timeline"],
        server["is_synchronous"],
        server["now"],
        loss and loss.kept_until,
        loss and loss.noticed_at,
    )
    return loss


async def last_commit_loss(connection: Connection) -> CommitLoss | None:
    """The last detected loss of commits; None if there was none."""
    row = await connection.fetchrow(
        "select kept_until, noticed_at from server_history where noticed_at is not null"
    )
    return None if row is None else CommitLoss(row["kept_until"], row["noticed_at"])


async def is_loss_unnoticed(connection: Connection) -> bool:
    """Whether the server has replaced another one, and `note_server` has not run since."""
    try:
        async with connection.transaction():
            return bool(
                await connection.fetchval(
                    f"""
                    select exists (
                        select from server_history as seen, ({_SERVER}) as server
                        where (seen.system_identifier, seen.timeline)
                              is distinct from (server.system_identifier, server.timeline))
                    """  # noqa: S608  (a constant of this module)
                )
            )
    except _SAYS_NOTHING:
        return False


async def _insert(connection: Connection, server: asyncpg.Record) -> None:
    await connection.execute(
        """
        insert into server_history (system_identifier, timeline, is_synchronous, seen_at) values ($1, $2, $3, $4)
        on conflict do nothing
        """,
        server["system_identifier"],
        server["timeline"],
        server["is_synchronous"],
        server["now"],
    )


def _loss(seen: asyncpg.Record, server: asyncpg.Record) -> CommitLoss | None:
    is_same_system = seen["system_identifier"] == server["system_identifier"]
    if is_same_system and seen["timeline"] == server["timeline"]:
        return None
    was_synchronous = (
        seen["is_synchronous"] and is_same_system and server["now"] - seen["seen_at"] < SYNCHRONOUS_FAIL_OVER
    )
    return None if was_synchronous else CommitLoss(seen["seen_at"], server["now"])
