"""Noticing that the database has lost commits: a standby that was behind, or a backup, has taken the place of its server.

One row says which server it was, and when it was seen last. Whatever takes the server's place has that row as it was when the last of the old
server's commits arrived there. So what was committed up to that time is there, and what was committed later may be gone.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import asyncpg

from chassis import Connection
from chassis.database.pool import DatabaseUnavailableError

SYNCHRONOUS_FAIL_OVER: Final = timedelta(minutes=2)
"""So old the row may be for a synchronous standby to have taken over. What is older may have come from a backup."""

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
"""What a database raises that does not say which server it is."""


@dataclass(frozen=True, slots=True)
class CommitLoss:
    """Commits of a database that may be gone: those between these two times, by the database's clock."""

    kept_until: datetime
    noticed_at: datetime


class UnknownServerError(Exception):
    """The database does not say which server it is, as some that are no PostgreSQL of their own do not."""


async def note_server(connection: Connection) -> CommitLoss | None:
    """Notes that the server is there. Returns the loss if it has taken another's place since; each loss is returned once.

    The row is locked until the caller's transaction ends.

    Raises:
        DatabaseUnavailableError: the server is a standby.
        UnknownServerError: the database does not say which server it is.
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
    """The last loss of commits that was noticed; None if there was none."""
    row = await connection.fetchrow(
        "select kept_until, noticed_at from server_history where noticed_at is not null"
    )
    return None if row is None else CommitLoss(row["kept_until"], row["noticed_at"])


async def is_loss_unnoticed(connection: Connection) -> bool:
    """Whether the server has taken another's place, and `note_server` has not been called since."""
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
