"""One database and two roles for each service, without access to other databases.

The role with the database's name owns it, and only migrations use it. The service runs as the other role, which owns
nothing; a migration grants its permissions.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

import asyncpg

from chassis import Connection

CONNECTIONS: Final = 50
"""The most connections of a role, so that no service can use up those of others."""


class Database(NamedTuple):
    """The URLs of a service's database."""

    owner_url: str
    """For `python -m <service> migrate`."""
    runtime_url: str
    """For the service."""
    runtime_role: str

    @property
    def migration(self) -> dict[str, str]:
        """The variables of `python -m <service> migrate`."""
        return {"DATABASE_URL": self.owner_url, "DATABASE_RUNTIME_ROLE": self.runtime_role}


def runtime_role(name: str) -> str:
    return f"{name}_runtime"


def url_of(server: str, name: str, role: str, password: str) -> str:
    """The URL of a database for a role, on the server of an administrator's URL."""
    parts = urlsplit(server)
    host = parts.hostname or "127.0.0.1"
    address = f"[{host}]" if ":" in host else host
    netloc = f"{quote(role, safe='')}:{quote(password, safe='')}@{address}:{parts.port or 5432}"
    return parts._replace(netloc=netloc, path=f"/{quote(name, safe='')}").geturl()


def create(
    server: str, names: Sequence[str], password_of: Callable[[str], str], *, private: bool
) -> dict[str, Database]:
    """Creates missing databases and roles, and sets the roles' passwords; returns the databases by name.

    Args:
        server: an administrator's URL.
        names: plain lower-case identifiers; each is a database and the role that owns it.
        password_of: the password of a role.
        private: whether the server is ours alone; then its own databases are closed to the roles, too.

    Raises:
        asyncpg.PostgresError, OSError: the server refused or is away.
    """
    asyncio.run(_create(server, names, password_of, private=private))
    return {
        name: Database(
            url_of(server, name, name, password_of(name)),
            url_of(server, name, runtime_role(name), password_of(runtime_role(name))),
            runtime_role(name),
        )
        for name in names
    }


async def _create(
    server: str, names: Sequence[str], password_of: Callable[[str], str], *, private: bool
) -> None:
    connection = await asyncpg.connect(server, timeout=15)
    try:
        databases = {row["datname"] for row in await connection.fetch("select datname from pg_database")}
        for name in names:
            for role in (name, runtime_role(name)):
                await _make_role(connection, role, password_of(role))
            if name not in databases:
                # An administrator without superuser rights must be a member to give a database away.
                await connection.execute(f'grant "{name}" to current_user')
                await connection.execute(
                    f'create database "{name}" owner "{name}" encoding \'UTF8\' template template0'
                )
            # By default, every role may connect to a new database.
            await connection.execute(f'revoke all on database "{name}" from public')
        if private:
            await connection.execute("revoke all on database postgres from public")
            await connection.execute("revoke all on database template1 from public")
    finally:
        await connection.close()


async def _make_role(connection: Connection, name: str, password: str) -> None:
    there = await connection.fetchval("select count(*) > 0 from pg_roles where rolname = $1", name)
    literal = await connection.fetchval("select quote_literal($1::text)", password)
    await connection.execute(
        f'{"alter" if there else "create"} role "{name}" login password {literal} connection limit {CONNECTIONS}'
    )
