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

from envelope.brand import CATALOGUE
from faults.judging.recorder import TABLES
from faults.surroundings.cluster import Cluster
from faults.surroundings.nodes import Postgres, RabbitMq
from messaging import topology
from messaging.storage.migrations import migrate

_EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}


@dataclass
class Servers:
    """Addresses of administrators, and the nodes themselves where we started them."""

    rabbitmq_url: str
    management_url: str
    postgres_url: str
    broker: RabbitMq | None = None
    database: Postgres | None = None
    cluster: Cluster | None = None
    """Instead of the one broker."""
    _templates: dict[str, str] = field(default_factory=dict)

    @classmethod
    @asynccontextmanager
    async def launched(
        cls, folder: Path, *, disk: int | None = None, clustered: bool = False
    ) -> AsyncIterator[Self]:
        """New nodes below `folder`, ended and removed with the block.

        Args:
            folder: for their data and logs.
            disk: as in `nodes.Postgres`.
            clustered: with a cluster of brokers instead of a single one.
        """
        _make_passable(folder)
        with ExitStack() as cleanup:
            database = Postgres(folder / "postgres", disk=disk)
            cleanup.callback(database.close)
            if clustered:
                cluster = await Cluster.formed(folder, cleanup)
                await database.ready()
                last = cluster.last
                yield cls(last.url, last.management_url, database.url, None, database, cluster)
                return
            broker = RabbitMq(folder / "rabbitmq")
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
        """The URL of a new database with the tables of `messaging`, and of a service or else of the probes."""
        return await self._create(f"faults_{secrets.token_hex(6)}", await self.template(service))

    async def template(self, service: str | None = None) -> str:
        """The name of the database that those of a service are copied from, made the first time."""
        key = service or "probe"
        if key not in self._templates:
            name = f"template_{key}_{secrets.token_hex(4)}"
            url = await self._create(name, "template0")
            await migrate(url, [service] if service else [])
            if service is None:
                await _execute(url, TABLES)
            self._templates[key] = name
        return self._templates[key]

    async def drop_database(self, url: str) -> None:
        name = urlsplit(url).path.removeprefix("/")
        await _execute(self.postgres_url, f'drop database if exists "{name}" with (force)')

    async def drop_templates(self) -> None:
        """For servers that stay."""
        for name in self._templates.values():
            await self.drop_database(self._url_of(name))
        self._templates.clear()

    async def _create(self, name: str, template: str) -> str:
        # The usual strategy writes every page of the copy to the log of the server, which takes five times as long.
        await _execute(
            self.postgres_url, f'create database "{name}" template "{template}" strategy file_copy'
        )
        return self._url_of(name)

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
