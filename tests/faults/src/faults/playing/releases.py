"""The services of two releases on the same broker and the same databases, each set up by its own commands."""

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote, urlsplit

import asyncpg
import httpx

from brandctl.local import databases, processes, services
from faults.playing.stack import AUDIT, AUDITED, CORPUS, KEY, PATIENCE, ServiceStack
from faults.playing.world import FaultHarness

_FORMER: Final = "FORMER_RELEASE"
_CATALOGUE: Final = "envelope.brand"
_VHOST: Final = "releases"
_COMMAND_SECONDS: Final = 180.0
_MAKE_DATABASES: Final = """
import os
from brandctl.local import databases
databases.create(os.environ["SERVER"], os.environ["NAMES"].split(), lambda role: os.environ["PASSWORD"], private=True)
"""
# What has changed from release to release, and matters to whoever sets one up.
_TRAITS: Final = """
from brandctl.local import databases
from envelope.brand.catalogue import EVENTS_QUEUE
print(hasattr(databases, "runtime_role"), EVENTS_QUEUE)
"""
# Whoever inserts a row notes it, under whichever role a release works.
_OPEN_AUDIT: Final = "grant all on audit, audit_n_seq to public"


def why_no_former_release() -> str | None:
    """Why there is nothing to upgrade from; None if there is."""
    if not os.environ.get(_FORMER):
        return f"{_FORMER} names no checkout of a former release: git worktree add FOLDER TAG, and make setup there"
    python = _python_of(Path(os.environ[_FORMER]))
    return None if python.exists() else f"{python} is not there: run make setup in {_FORMER}"


def _python_of(checkout: Path) -> Path:
    return checkout.resolve() / ".venv" / "bin" / "python"


@dataclass(frozen=True, slots=True)
class InstalledRelease:
    """An installed version."""

    name: str
    python: Path
    own_role: bool = True
    """Whether its services work with their tables as roles that do not own them."""
    events_queue: str = ""
    """What it calls the queue of the events."""

    @classmethod
    async def former(cls) -> Self:
        return await cls._installed("former", Path(os.environ[_FORMER]))

    @classmethod
    async def present(cls) -> Self:
        return await cls._installed("present", Path(__file__).parents[5])

    @classmethod
    async def _installed(cls, name: str, checkout: Path) -> Self:
        release = cls(name, _python_of(checkout))
        own_role, events_queue = (await release.run("-c", _TRAITS, environment={})).split()
        return replace(release, own_role=own_role == "True", events_queue=events_queue)

    async def run(self, *arguments: str, environment: Mapping[str, str]) -> str:
        """Runs `python …` of this release to its end; returns what it printed.

        Raises:
            StartError: it failed; with what it printed.
        """
        process = await asyncio.create_subprocess_exec(
            self.python,
            *arguments,
            env={**os.environ, **environment},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(_COMMAND_SECONDS):
            said, _ = await process.communicate()
        if process.returncode:
            what = f"{' '.join(arguments[:3])} of the {self.name} release"
            raise processes.StartError(f"{what} ended with {process.returncode}:\n{said.decode()}")
        return said.decode()


@dataclass
class ReleasedStack(ServiceStack):
    """A `ServiceStack` that starts each service from a given release."""

    release: InstalledRelease = field(kw_only=True)
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @classmethod
    @asynccontextmanager
    async def released(cls, world: FaultHarness, release: InstalledRelease) -> AsyncIterator[Self]:
        """All services of a release, set up as an installation is."""
        stack = cls(world, services.choose_addresses(), {}, release=release)
        await stack._make_vhost()
        await stack.set_up(release)
        for name, table in AUDITED.items():
            connection = await asyncpg.connect(stack._database_url(name, None))
            await connection.execute(AUDIT.format(table=table) + _OPEN_AUDIT)
            await connection.close()
        try:
            for name in services.NAMES:
                stack.start(name)
            await stack.ready()
            await stack.make_brands()
            yield stack
        finally:
            await asyncio.to_thread(services.stop, list(stack.children.values()))

    async def set_up(self, release: InstalledRelease) -> None:
        """Prepares the start of a release's services; safe while another release's services run."""
        self.release = release
        names = {"SERVER": self.world.servers.postgres_url, "NAMES": " ".join(services.NAMES)}
        await release.run("-c", _MAKE_DATABASES, environment={**names, "PASSWORD": self.password})
        for name in services.NAMES:
            environment = {
                "DATABASE_URL": self._database_url(name, name),
                "DATABASE_RUNTIME_ROLE": databases.runtime_role(name),
            }
            await release.run("-m", name, "migrate", environment=environment)
            self.environments[name] = self._environment(name)
        await self.move_queues(release)
        passwords = {f"{name.upper()}_BROKER_PASSWORD": self.password for name in services.NAMES}
        await release.run("-m", "messaging", "users", _CATALOGUE, environment=self._broker() | passwords)

    async def move_queues(self, release: InstalledRelease, *arguments: str) -> None:
        said = await release.run(
            "-m", "messaging", "topology", _CATALOGUE, *arguments, environment=self._broker()
        )
        self.world.history.note("topology", release=release.name, arguments=arguments, said=said.splitlines())

    async def replace_all(self, release: InstalledRelease) -> None:
        """One service after another is stopped in order and started from another release."""
        self.release = release
        for name in services.NAMES:
            self.environments[name] = self._environment(name)
            await asyncio.to_thread(services.stop, [self.children[name]])
            self.start(name)
            await self.ready()

    def start(self, name: str) -> None:
        log = self.world.folder / f"{name}-{self.release.name}-{time.monotonic_ns()}.log"
        command: list[str | Path] = [self.release.python, "-m", name]
        self.children[name] = processes.start(name, command, log=log, env=self.environments[name])

    # -- addresses ---------------------------------------------------------------------------------------------------

    def _environment(self, name: str) -> dict[str, str]:
        role = databases.runtime_role(name) if self.release.own_role else name
        environment = (
            services.environment(
                name,
                addresses=self.addresses,
                rabbitmq_url=self._rabbitmq_url(name),
                database_url=self._database_url(name, role),
                service_key=KEY,
                corpus=CORPUS,
            )
            | PATIENCE
            # A release may want it where another does not.
            | {"SERVICE_KEY": KEY}
        )
        # Releases are mixed here for long, and one before knows no keys of pairs.
        return {name: value for name, value in environment.items() if "_TO_" not in name}

    def _database_url(self, database: str, role: str | None) -> str:
        """For a role; for the administrator if it is None."""
        server = self.world.servers.postgres_url
        if role is None:
            return urlsplit(server)._replace(path=f"/{database}").geturl()
        return databases.url_of(server, database, role, self.password)

    def _rabbitmq_url(self, user: str | None = None) -> str:
        parts = urlsplit(self.world.servers.rabbitmq_url)
        given = parts.netloc.rpartition("@")
        netloc = parts.netloc if user is None else f"{user}:{quote(self.password, safe='')}@{given[2]}"
        return parts._replace(netloc=netloc, path=f"/{_VHOST}").geturl()

    def _broker(self) -> dict[str, str]:
        return {
            "RABBITMQ_URL": self._rabbitmq_url(),
            "RABBITMQ_API_URL": self.world.servers.management_url,
            "RABBITMQ_VHOST": _VHOST,
        }

    async def _make_vhost(self) -> None:
        user = urlsplit(self.world.servers.rabbitmq_url).username
        everything = {"configure": ".*", "write": ".*", "read": ".*"}
        base = self.world.servers.management_url
        async with httpx.AsyncClient(base_url=base, timeout=30, trust_env=False) as api:
            (await api.put(f"/api/vhosts/{_VHOST}")).raise_for_status()
            (await api.put(f"/api/permissions/{_VHOST}/{user}", json=everything)).raise_for_status()
