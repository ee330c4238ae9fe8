"""One database and one role for each service, and no way from one to another."""

import asyncio
from collections.abc import Callable, Sequence
from urllib.parse import quote, urlsplit

import asyncpg


def url_of(server: str, name: str, password: str) -> str:
    """The URL of the database `name` for the role of the same name, on the server of an administrator's URL."""
    parts = urlsplit(server)
    host = parts.hostname or "127.0.0.1"
    address = f"[{host}]" if ":" in host else host
    netloc = f"{quote(name, safe='')}:{quote(password, safe='')}@{address}:{parts.port or 5432}"
    return parts._replace(netloc=netloc, path=f"/{quote(name, safe='')}").geturl()


def create(server: str, names: Sequence[str], password_of: Callable[[str], str], *, private: bool) -> None:
    """Creates what is missing of the databases and roles `names`, and sets the roles' passwords.

    Args:
        server: an administrator's URL.
        names: plain lower-case identifiers; each is a database and the role that owns it.
        password_of: the password of a role.
        private: the server is ours alone, so that its own databases can be closed to the roles too.

    Raises:
        asyncpg.PostgresError, OSError: the server refused or is away.
    """
    asyncio.run(_create(server, names, password_of, private=private))


async def _create(
    server: str, names: Sequence[str], password_of: Callable[[str], str], *, private: bool
) -> None:
    connection = await asyncpg.connect(server, timeout=15)
    try:
        roles = {row["rolname"] for row in await connection.fetch("select rolname from pg_roles")}
        databases = {row["datname"] for row in await connection.fetch("select datname from pg_database")}
        for name in names:
            role, verb = f'"{name}"', "alter" if name in roles else "create"
            literal = await connection.fetchval("select quote_literal($1::text)", password_of(name))
            await connection.execute(f"{verb} role {role} login password {literal}")
            if name not in databases:
                # Only an administrator who is no superuser must be a member to give a database away.
                await connection.execute(f"grant {role} to current_user")
                await connection.execute(
                    f"create database {role} owner {role} encoding 'UTF8' template template0"
                )
            # Anybody may connect to a new database unless told otherwise.
            await connection.execute(f"revoke all on database {role} from public")
        if private:
            await connection.execute("revoke all on database postgres from public")
            await connection.execute("revoke all on database template1 from public")
    finally:
        await connection.close()
