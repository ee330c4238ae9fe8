"""The broker and the database server that scenarios run on: shared ones, or a scenario's own that it may kill."""

import secrets
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import asyncpg
import httpx

from chassis.database import grants
from chassis.database.migrations import migrate_package
from envelope.brand import CATALOGUE, SERVICES
from faults.judging.recorder import TABLES
from faults.surroundings.cluster import RabbitMqCluster
from faults.surroundings.nodes import PostgresServer, RabbitMqServer
from messaging import topology
from messaging.storage.migrations import migrate

_EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}


@dataclass
class ServerAddresses:
    """Addresses of administrators, and the nodes themselves where we started them."""

    rabbitmq_url: str
    management_url: str
    postgres_url: str
    broker: RabbitMqServer | None = None
    database: PostgresServer | None = None
    cluster: RabbitMqCluster | None = None
    """Instead of the one broker."""
    owner_role: str = field(default_factory=lambda: f"faults_{secrets.token_hex(4)}")
    """Owns the databases and their tables; as in an installation, another role works with them."""
    _templates: dict[str, str] = field(default_factory=dict)
    _password: str = ""
    """Of both roles, once they are there."""

    @property
    def runtime_role(self) -> str:
        return f"{self.owner_role}_runtime"

    @classmethod
    @asynccontextmanager
    async def launched(
        cls, folder: Path, *, disk: int | None = None, clustered: bool = False
    ) -> AsyncIterator[Self]:
        """New nodes below `folder`, ended and removed with the block.

        Args:
            folder: for their data and logs.
            disk: as in `nodes.PostgresServer`.
            clustered: with a cluster of brokers instead of a single one.
        """
        _make_passable(folder)
        with ExitStack() as cleanup:
            database = PostgresServer(folder / "postgres", disk=disk)
            cleanup.callback(database.close)
            if clustered:
                cluster = await RabbitMqCluster.formed(folder, cleanup)
                await database.ready()
                last = cluster.last
                yield cls(last.url, last.management_url, database.url, None, database, cluster)
                return
            broker = RabbitMqServer(folder / "rabbitmq")
            cleanup.callback(broker.close)
            await database.ready()
            await broker.ready()
            yield cls(broker.url, broker.management_url, database.url, broker, database)

    @asynccontextmanager
    async def vhost(self) -> AsyncIterator[str]:
        """The URL of a new vhost with the whole topology; it goes with the block."""
        name = f"faults-{secrets.token_hex(6)}"
        parts = urlsplit(self.rabbitmq_url)
        async with httpx.AsyncClient(base_url=self.management_url, timeout=30, trust_env=False) as api:
            (await api.put(f"/api/vhosts/{name}")).raise_for_status()
            permissions = f"/api/permissions/{name}/{parts.username}"
            (await api.put(permissions, json=_EVERYTHING)).raise_for_status()
            url = parts._replace(path=f"/{name}").geturl()
            try:
                await topology.declare(self._leading(name) or url, CATALOGUE)
                yield url
            finally:
                # A broker that is down or in distress by now goes as a whole.
                with suppress(httpx.HTTPError):
                    await api.delete(f"/api/vhosts/{name}")

    def _leading(self, vhost: str) -> str | None:
        """Where queues are to have their leaders."""
        return None if self.cluster is None else self.cluster.first.url_of(vhost)

    async def create_database(self, service: str | None = None) -> str:
        """The URL of a new database with the tables of `messaging` (one that takes no messages has none), and of a service or else of the probes.

        The role in it is a service's, which owns nothing.
        """
        name, template = f"faults_{secrets.token_hex(6)}", await self.template(service)
        await self._create(name, template)
        # What a role may do at a database as a whole is not part of the copy.
        await _execute(self.postgres_url, f'grant connect on database "{name}" to {self.runtime_role}')
        return self._as(self.runtime_role, self._url_of(name))

    def owner_url(self, url: str) -> str:
        """The same database for the role that owns its tables."""
        return self._as(self.owner_role, url)

    async def add_tables(self, url: str, sql: str) -> None:
        """Adds tables of a test to a service's database, with grants for the service's role."""
        connection = await asyncpg.connect(self.owner_url(url), timeout=15)
        try:
            await connection.execute(sql)
            await grants.grant(connection, self.runtime_role)
        finally:
            await connection.close()

    async def template(self, service: str | None = None) -> str:
        """The name of the database that those of a service are copied from, made the first time."""
        key = service or "probe"
        if key not in self._templates:
            name = f"template_{key}_{secrets.token_hex(4)}"
            await self._make_roles()
            await self._create(name, "template0")
            url, packages = self.owner_url(self._url_of(name)), [service] if service else []
            if service is not None and service not in SERVICES:  # it takes no messages
                await migrate_package(url, service, self.runtime_role)
            else:
                await migrate(url, packages, runtime_role=self.runtime_role)
            if service is None:
                await self.add_tables(url, TABLES)
            self._templates[key] = name
        return self._templates[key]

    async def drop_database(self, url: str) -> None:
        name = urlsplit(url).path.removeprefix("/")
        await _execute(self.postgres_url, f'drop database if exists "{name}" with (force)')

    async def drop_everything(self) -> None:
        """For servers that stay."""
        self._templates.clear()
        self._password = ""
        connection = await asyncpg.connect(self.postgres_url, timeout=15)
        try:
            owned = (
                "select datname from pg_database join pg_roles on datdba = pg_roles.oid where rolname = $1"
            )
            for row in await connection.fetch(owned, self.owner_role):
                await connection.execute(f'drop database "{row["datname"]}" with (force)')
            for role in (self.runtime_role, self.owner_role):
                await connection.execute(f"drop role if exists {role}")
        finally:
            await connection.close()

    async def _make_roles(self) -> None:
        if not self._password:
            self._password = secrets.token_hex(12)
            for role in (self.owner_role, self.runtime_role):
                await _execute(self.postgres_url, f"create role {role} login password '{self._password}'")

    async def _create(self, name: str, template: str) -> None:
        # The usual strategy writes every page of the copy to the log of the server, which takes five times as long.
        how = f'template "{template}" strategy file_copy owner {self.owner_role}'
        await _execute(self.postgres_url, f'create database "{name}" {how}')
        await _execute(self.postgres_url, f'revoke all on database "{name}" from public')

    def _as(self, role: str, url: str) -> str:
        parts = urlsplit(url)
        return parts._replace(
            netloc=f"{role}:{self._password}@{parts.hostname}:{parts.port or 5432}"
        ).geturl()

    def _url_of(self, database: str) -> str:
        return urlsplit(self.postgres_url)._replace(path=f"/{database}").geturl()


def _make_passable(folder: Path) -> None:
    """PostgreSQL does not run as root, and must get to its data."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url, timeout=15)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
