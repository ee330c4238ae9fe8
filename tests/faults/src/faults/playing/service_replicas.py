"""Several replicas of every service, and what the database server logs of them: statements, and waits for locks."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self
from urllib.parse import urlsplit

import asyncpg
import httpx

from brandctl.local import ports, processes, services
from chassis.testing import eventually
from faults.playing.stack import ServiceStack
from faults.playing.world import FaultHarness

_WAITS_AFTER: Final = "50ms"
"""A wait for a lock that is longer is logged."""
_STATEMENT: Final = re.compile(
    r"^\[(?P<database>[^|]*)\|\d+\] LOG: (?:statement|execute [^:]+): (?P<text>.*)"
)
_WAIT: Final = re.compile(
    r"^\[(?P<database>[^|]*)\|\d+\] LOG: process \d+ still waiting for \S+ on (?P<what>advisory lock|\w+)"
)
_COUNT: Final = re.compile(
    r"^brand_engine_(?:messages_)?(?P<name>processed|published)_total(?:\{.*\})? (?P<value>[\d.e+]+)$"
)
_LONGEST: Final = 1_000
_SHOWN: Final = 120
_OURS: Final = "from audit"
"""A part of what the harness itself asks the databases."""


@dataclass(frozen=True, slots=True)
class DatabaseWork:
    """What a service's database did in a span of the log."""

    statements: int
    waits: Counter[str] = field(default_factory=Counter)
    """Kind of lock → waits of more than 50 ms."""
    texts: Counter[str] = field(default_factory=Counter)
    """Statement → how often, its beginning."""


@dataclass
class StatementLog:
    """The server's log, read in spans."""

    path: Path
    databases: dict[str, str]
    """Name of the database → service."""
    _read: int = 0

    @classmethod
    async def of(cls, world: FaultHarness, databases: dict[str, str]) -> Self:
        """Switches logging on, for all connections from now on."""
        assert world.servers.database is not None, "this scenario has no database server of its own"
        connection = await asyncpg.connect(world.servers.postgres_url, timeout=15)
        try:
            for setting, value in {
                "log_statement": "all",
                "log_line_prefix": "[%d|%p] ",
                "log_lock_waits": "on",
                "deadlock_timeout": _WAITS_AFTER,
            }.items():
                await connection.execute(f"alter system set {setting} = '{value}'")
            await connection.execute("select pg_reload_conf()")
        finally:
            await connection.close()
        return cls(world.servers.database.log, databases)

    def span(self) -> dict[str, DatabaseWork]:
        """Service → what was logged since the last time."""
        with self.path.open("rb") as file:
            file.seek(self._read)
            content = file.read()
        whole = content.rfind(b"\n") + 1
        self._read += whole
        return work_of(content[:whole].decode(errors="replace").splitlines(), self.databases)


def work_of(lines: Iterable[str], databases: dict[str, str]) -> dict[str, DatabaseWork]:
    """Service → what these lines of the log say of its database."""
    texts: dict[str, Counter[str]] = {service: Counter() for service in databases.values()}
    waits: dict[str, Counter[str]] = {service: Counter() for service in databases.values()}
    for entry in _entries(lines):
        if _OURS in entry:
            continue
        if (found := _STATEMENT.match(entry)) and found["database"] in databases:
            texts[databases[found["database"]]][found["text"][:_SHOWN]] += 1
        elif (found := _WAIT.match(entry)) and found["database"] in databases:
            waits[databases[found["database"]]][found["what"]] += 1
    return {
        service: DatabaseWork(counted.total(), waits[service], counted) for service, counted in texts.items()
    }


def _entries(lines: Iterable[str]) -> Iterator[str]:
    """The entries of the log in one line each; a statement may have many, which begin with a tab."""
    entry = ""
    for line in lines:
        if line.startswith("\t"):
            entry += f" {line}" if len(entry) < _LONGEST else ""
            continue
        yield " ".join(entry.split())
        entry = line
    yield " ".join(entry.split())


class ReplicatedServices:
    """A stack with more processes of each service beside the first.

    Attributes:
        stack: through whose first replicas everything is asked.
        log: what the databases do.
    """

    def __init__(self, stack: ServiceStack, log: StatementLog, metrics_of: dict[str, list[int]]) -> None:
        self.stack = stack
        self.log = log
        self._metrics_of = metrics_of

    @classmethod
    @asynccontextmanager
    async def running(cls, world: FaultHarness, replicas: int) -> AsyncIterator[Self]:
        """So many of each service, ready."""
        metrics_of = {name: [ports.free_port() for _ in range(replicas)] for name in services.NAMES}
        first = {name: {"METRICS_PORT": str(found[0])} for name, found in metrics_of.items()}
        async with AsyncExitStack() as cleanup:
            stack = await cleanup.enter_async_context(
                ServiceStack.running(world, further=MappingProxyType(first))
            )
            databases = {
                urlsplit(environment["DATABASE_URL"]).path[1:]: name
                for name, environment in stack.environments.items()
            }
            log = await StatementLog.of(world, databases)
            more: list[processes.ChildProcess] = []
            cleanup.push_async_callback(asyncio.to_thread, services.stop, more)
            for name, found in metrics_of.items():
                for number, metrics in enumerate(found[1:], 2):
                    environment = stack.environments[name] | {
                        "HTTP_PORT": str(ports.free_port()),
                        "METRICS_PORT": str(metrics),
                    }
                    more.append(
                        services.start(name, environment, world.folder / f"{name}-{number}-of-{replicas}")
                    )
            made = cls(stack, log, metrics_of)
            await eventually(made._all_answer, within=services.READY_WITHIN_SECONDS)
            yield made

    async def shares(self) -> dict[str, list[Counter[str]]]:
        """Service → of each replica, how many messages it has handled and published so far."""
        async with httpx.AsyncClient(timeout=10, trust_env=False) as client:
            return {
                name: [await _counts(client, port) for port in found]
                for name, found in self._metrics_of.items()
            }

    async def _all_answer(self) -> bool:
        try:
            await self.shares()
        except httpx.HTTPError:
            return False
        return True


async def _counts(client: httpx.AsyncClient, port: int) -> Counter[str]:
    answer = await client.get(f"http://{ports.LOOPBACK}:{port}/metrics")
    answer.raise_for_status()
    counts: Counter[str] = Counter()
    for line in answer.text.splitlines():
        if found := _COUNT.match(line):
            counts[found["name"]] += int(float(found["value"]))
    return counts
