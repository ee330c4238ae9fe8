"""A private RabbitMQ and a private PostgreSQL, both durable, with a fresh database and vhost for every round."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx

from benchmarks.accounting import CpuSeconds, cpu_seconds
from benchmarks.servers import statements
from benchmarks.servers.sql import Sql
from benchmarks.servers.statements import StatementAccount
from brandctl.local import postgres, rabbitmq

POSTGRES_SETTINGS: Final = {
    # Commit times are the clock of every measurement.
    "track_commit_timestamp": "on",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "bgwriter_lru_maxpages": "100",
    "autovacuum_naptime": "15s",
}
RABBITMQ_SETTINGS: Final = {
    # The vendor's default; brandctl keeps a quarter of it, to spare small machines.
    "raft.wal_max_size_bytes": "536870912",
    # The HTTP API only creates vhosts; its statistics would slow the measured system.
    "management.disable_stats": "true",
    "management_agent.disable_metrics_collector": "true",
}


RUNTIME_ROLE: Final = "bench_runtime"


@dataclass(frozen=True, slots=True)
class FreshServers:
    """An unused database and vhost."""

    database_url: str
    """The administrator's URL: most systems create and clear their tables during a run."""
    runtime_url: str
    """The URL of our service's role, which its migration creates."""
    rabbitmq_url: str

    def environment(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.database_url,
            "RUNTIME_URL": self.runtime_url,
            "DATABASE_RUNTIME_ROLE": RUNTIME_ROLE,
            "RABBITMQ_URL": self.rabbitmq_url,
        }


class Nodes:
    """The servers of one run."""

    def __init__(self, rabbit: rabbitmq.RabbitNode, database: postgres.PostgresNode, folder: Path) -> None:
        self._rabbit = rabbit
        self._postgres = database
        self.folder = folder
        """For message files and logs."""

    @contextmanager
    def place(self, *, template: str | None = None) -> Iterator[FreshServers]:
        """A fresh database (or a copy of `template`) and a fresh vhost, deleted when the block ends."""
        name = f"bench_{secrets.token_hex(5)}"
        vhost = f"/api/vhosts/{name}"
        with self._management() as api:
            api.put(vhost).raise_for_status()
            everything = {"configure": ".*", "write": ".*", "read": ".*"}
            api.put(f"/api/permissions/{name}/{rabbitmq.USER}", json=everything).raise_for_status()
        try:
            with self.database(template=template) as database_url:
                yield FreshServers(database_url, self.runtime_url(database_url), self._rabbit.url_of(name))
        finally:
            with self._management() as api:
                api.delete(vhost)

    @contextmanager
    def database(self, *, template: str | None = None) -> Iterator[str]:
        """The URL of a fresh database, or of a copy of `template`."""
        name = f"bench_{secrets.token_hex(5)}"
        with Sql(self._postgres.url) as admin:
            # A file copy with a checkpoint, so that no writes of the copy are left for the round.
            how = "strategy file_copy" if template else ""
            admin.execute(f'create database "{name}" template "{template or "template0"}" {how}')
        try:
            yield self.database_url(name)
        finally:
            with Sql(self._postgres.url) as admin:
                admin.execute(f'drop database "{name}" with (force)')
                # Later rounds must not pay for this round's pending writes.
                admin.execute("checkpoint")

    def database_url(self, name: str) -> str:
        return urlsplit(self._postgres.url)._replace(path=f"/{name}").geturl()

    def runtime_url(self, database_url: str) -> str:
        parts = urlsplit(database_url)
        netloc = f"{RUNTIME_ROLE}:{self._postgres.password}@{parts.hostname}:{parts.port}"
        return parts._replace(netloc=netloc).geturl()

    def administrator_url(self, url: str) -> str:
        """The administrator's URL of the database that a service uses as its role."""
        return self.database_url(urlsplit(url).path[1:])

    def statement_account(self) -> StatementAccount:
        """The database's own account of what statements cost. See [benchmarks.servers.statements][].

        Raises:
            MeasurementError: PostgreSQL's contrib modules are not installed.
        """
        return StatementAccount(self._postgres.url)

    def make_runtime_role(self) -> None:
        with Sql(self._postgres.url) as admin:
            admin.execute(f"create role {RUNTIME_ROLE} login password '{self._postgres.password}'")

    def cpu(self, workers: list[int]) -> CpuSeconds:
        """Processor time of the servers and the given workers so far."""
        return CpuSeconds(
            broker=cpu_seconds([self._rabbit.child.process.pid]),
            database=cpu_seconds([self._postgres.child.process.pid]),
            python=cpu_seconds(workers),
        )

    def versions(self) -> dict[str, str]:
        with self._management() as api, Sql(self._postgres.url) as admin:
            broker = api.get("/api/overview").json()
            return {
                "rabbitmq": broker["rabbitmq_version"],
                "erlang": broker["erlang_version"],
                "postgresql": admin.value("show server_version"),
            }

    def _management(self) -> httpx.Client:
        assert self._rabbit.management_url is not None
        return httpx.Client(base_url=self._rabbit.management_url, timeout=30, trust_env=False)


@contextmanager
def running(folder: Path) -> Iterator[Nodes]:
    """Starts both servers in `folder`, which must exist; ends them and removes their data afterwards.

    Call it from the main thread: the servers are bound to its life.
    """
    folder.chmod(0o711)  # PostgreSQL does not run as root and must be able to pass through.
    with ExitStack() as cleanup:
        database = postgres.launch(
            folder / "postgres",
            log=folder / "postgres.log",
            settings=POSTGRES_SETTINGS | statements.settings(),
        )
        cleanup.callback(database.stop)
        rabbit = rabbitmq.launch(folder / "rabbitmq", management=True, settings=RABBITMQ_SETTINGS)
        cleanup.callback(rabbit.stop)
        database.wait()
        rabbit.wait()
        nodes = Nodes(rabbit, database, folder)
        nodes.make_runtime_role()
        yield nodes
