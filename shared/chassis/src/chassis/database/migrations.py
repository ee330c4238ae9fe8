"""Plain SQL migrations: each file once, in order, under a lock.

During a rollout the old version still works on the same tables, so a migration only adds (`tests/architecture` checks it).
A later one removes what no running version needs.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import asyncpg
import structlog

from chassis.database import grants
from chassis.database.pool import Connection

_ALONE: Final = re.compile(r"^-- outside a transaction\s*$", re.MULTILINE)
_LOCK_POLL_SECONDS: Final = 0.2
_LOCK_SECONDS: Final = 1.0
"""How long a migration waits for a table; all later statements on the table wait behind it."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds between two such waits, doubled each time."""

_PASSING: Final = (
    asyncpg.InterfaceError,  # a transaction whose connection is gone ends in this
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
)
"""Errors from the state of the server or from concurrent work, not from the statement."""

log = structlog.get_logger(__name__)


Step = Callable[[Connection], Awaitable[None]]


class MigrationError(Exception):
    """An applied migration has changed since, or a new one cannot be applied."""


class MigrationInterruptedError(MigrationError):
    """The server lost the connection or ran out of space during a migration; a retry may succeed."""


class NotMigratedError(Exception):
    """The database has no tables; the message names the command that makes them."""


@dataclass(frozen=True, slots=True)
class Migration:
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def alone(self) -> bool:
        """Whether it contains `-- outside a transaction`, which `create index concurrently` needs.

        Such a migration is a single repeatable statement (`if not exists`): it runs again if the process dies right after.
        """
        return _ALONE.search(self.sql) is not None


def of_service(package: str) -> Path:
    """Return the folder of a service's migrations: inside the installed package, or beside `src` in a checkout.

    Raises:
        MigrationError: there is no such folder.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise MigrationError(f"no package {package} is installed")
    home = Path(spec.origin).parent
    for folder in (home / "migrations", home.parents[1] / "migrations"):
        if folder.is_dir():
            return folder
    raise MigrationError(f"{package} has no migrations folder")


def read(prefix: str, folder: Path) -> list[Migration]:
    """Read the migrations of a folder, in order of their file names."""
    return [Migration(f"{prefix}/{path.name}", path.read_text()) for path in sorted(folder.glob("*.sql"))]


async def migrate(
    database_url: str,
    migrations: Iterable[Migration],
    *,
    runtime_role: str | None = None,
    afterwards: Step | None = None,
) -> list[str]:
    """Apply the missing migrations; return their names.

    Safe to run from several places at once. Each migration is one transaction unless it opts out. If a table is in use for
    long, as by a backup, the migration is retried until the table is free. The same goes for `afterwards`, which always runs.

    Args:
        database_url: address with the role that owns the tables.
        migrations: in order.
        runtime_role: the role of the running process, if it is another one; it gets its rights (`chassis.database.grants`).
        afterwards: a further step.

    Raises:
        MigrationError: an applied migration has changed, the database refuses a new one, or the runtime role cannot get
            its rights.
        MigrationInterruptedError: the server stopped or ran out of space, or the runtime role does not exist yet; earlier
            migrations stay applied.
    """
    connection = await asyncpg.connect(database_url, timeout=15)
    try:
        await _take_turn(connection)
        applied = await _applied(connection)
        new = [migration for migration in migrations if not _done(migration, applied)]
        for migration in new:
            if migration.alone:
                await _apply_alone(connection, migration)
            else:
                await _once_free(migration.name, partial(_apply, connection, migration))
        if afterwards is not None:
            await _once_free("afterwards", partial(afterwards, connection))
        if runtime_role is not None:
            await _let_in(connection, runtime_role)
        return [migration.name for migration in new]
    finally:
        await connection.close()


async def migrate_package(database_url: str, package: str, runtime_role: str | None = None) -> list[str]:
    """`migrate` with the migrations of one package.

    Raises:
        MigrationError: as `migrate`, or the package has no migrations.
    """
    return await migrate(database_url, read(package, of_service(package)), runtime_role=runtime_role)


async def _let_in(connection: Connection, role: str) -> None:
    try:
        await grants.grant(connection, role)
    except asyncpg.UndefinedObjectError as error:
        # Whoever makes the roles may still be at it.
        raise MigrationInterruptedError(
            f"{error}: DATABASE_RUNTIME_ROLE names the role that the process runs as; create it first"
        ) from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise MigrationError(
            f"the role {role} cannot be let in: {error}; the role of DATABASE_URL must own the database"
        ) from error


async def _take_turn(connection: Connection) -> None:
    """Waits until no other process migrates this database; the lock ends with the connection."""
    # Asked for again and again: `create index concurrently` waits for every statement that is older than itself, so
    # one that waited for the lock would never come to an end.
    while not await connection.fetchval("select pg_try_advisory_lock(hashtext('schema migrations'))"):  # noqa: ASYNC110
        await asyncio.sleep(_LOCK_POLL_SECONDS)


async def _applied(connection: Connection) -> dict[str, str]:
    await connection.execute(
        """
        create table if not exists schema_migrations (
            name text primary key, checksum text not null, applied_at timestamptz not null default now()
        )
        """
    )
    return {row["name"]: row["checksum"] for row in await connection.fetch("select * from schema_migrations")}


def _done(migration: Migration, applied: dict[str, str]) -> bool:
    if migration.name not in applied:
        return False
    if applied[migration.name] != migration.checksum:
        raise MigrationError(
            f"{migration.name} was applied in another form: leave applied migrations alone, add a new file instead"
        )
    return True


async def _once_free(name: str, step: Callable[[], Awaitable[None]]) -> None:
    """Repeat a step until it gets its locks.

    A statement that waits for a table lock blocks all later ones on the table. During a backup they would wait too, and
    their timeouts would count as failed attempts.
    """
    pause = _FIRST_PAUSE
    while True:
        try:
            return await step()
        except asyncpg.LockNotAvailableError:
            log.warning("migration_waits_for_tables", name=name, retry_seconds=pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


async def _apply(connection: Connection, migration: Migration) -> None:
    try:
        async with connection.transaction():
            await connection.execute(f"set local lock_timeout = '{_LOCK_SECONDS}s'")
            await connection.execute(migration.sql)
            await _note(connection, migration)
    except asyncpg.LockNotAvailableError:
        raise
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise _failure(migration, error) from error


async def _apply_alone(connection: Connection, migration: Migration) -> None:
    try:
        await _drop_failed_indexes(connection, migration)
        await connection.execute(migration.sql)
        await _note(connection, migration)
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise _failure(migration, error) from error


def _failure(migration: Migration, error: asyncpg.PostgresError | asyncpg.InterfaceError) -> MigrationError:
    kind = MigrationInterruptedError if isinstance(error, _PASSING) else MigrationError
    return kind(f"{migration.name}: {error}")


async def _drop_failed_indexes(connection: Connection, migration: Migration) -> None:
    """Drop invalid indexes of failed concurrent builds: "if not exists" would keep them, although no query uses them."""
    invalid = await connection.fetch(
        """
        select relname, quote_ident(relname) as quoted from pg_index join pg_class on oid = indexrelid
        where not indisvalid and relkind = 'i' and pg_table_is_visible(indrelid)
        """
    )
    for row in invalid:
        if re.search(rf"\b{re.escape(row['relname'])}\b", migration.sql):
            await connection.execute(f"drop index concurrently {row['quoted']}")


async def _note(connection: Connection, migration: Migration) -> None:
    await connection.execute(
        "insert into schema_migrations (name, checksum) values ($1, $2)", migration.name, migration.checksum
    )
