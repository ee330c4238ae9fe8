"""Fixtures for every test folder: a private RabbitMQ and a private PostgreSQL per test session, started when first asked for.

`RABBITMQ_URL` (with `RABBITMQ_API_URL`) and `POSTGRES_URL`, where set, name servers to use instead; all must be
administrators' URLs.

Databases
    `database_url`     str: a fresh, empty database for this test.
    `make_database`    async factory: `url = await make_database("research")` gives a fresh database with the tables of
                       `messaging` and of that service; `await make_database()` one with those of `messaging` only;
                       `await make_database(None)` an empty one. Call it as often as databases are needed. The role in
                       the URL owns the database and is no superuser.
    `postgres_url`     str: the server's superuser, on the database `postgres`.

Broker
    `rabbitmq_url`     str: a fresh vhost for this test with the whole topology declared.
    `broker_urls`      dict: for each service the URL of the same vhost for a user of its own, which may do what the
                       service needs and nothing else.
    `make_vhost`       async factory: `url = await make_vhost()` as above; `await make_vhost(topology=False)` an empty one.
    `rabbitmq_api`     httpx.Client on the management HTTP API (credentials set): `rabbitmq_api.get("/api/queues/" + vhost)`;
                       the vhost of a URL is `url.rpartition("/")[2]`. Its figures lag up to 5 s behind;
                       a passive declare tells the truth at once.
    `rabbitmq_api_url`    str: the base of that API, with an administrator's credentials.
    `rabbitmq_admin_url`  str: the administrator on the vhost `/`.

Ports and processes
    `free_port`        factory: `free_port()` is a TCP port nobody listens on.
"""

import asyncio
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urlsplit

import asyncpg
import httpx
import pytest

import benchmarks  # noqa: F401
from brandctl.local import broker_users, ports, postgres, rabbitmq, services

# The folder of this member has the name of its package: imported first, or pytest would take the folder for the package.
from envelope.brand import CATALOGUE
from messaging import topology
from messaging.storage.migrations import migrate
from messaging.topology import users
from messaging.topology.users import Credentials

_OWNER = "tester"


class MakeDatabase(Protocol):
    async def __call__(self, service: str | None = "messaging") -> str: ...


class MakeVhost(Protocol):
    async def __call__(self, *, topology: bool = True) -> str: ...


class _Servers:
    """What the session has started; the folder and everything in it go at the end."""

    def __init__(self, cleanup: ExitStack) -> None:
        self._cleanup = cleanup
        self._folder: Path | None = None

    def folder(self) -> Path:
        if self._folder is None:
            name = self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="brand-engine-tests-"))
            self._folder = Path(name)
            # PostgreSQL does not run as root and must be able to pass through.
            self._folder.chmod(0o711)
        return self._folder

    def postgres(self) -> str:
        node = postgres.launch(self.folder() / "postgres", durable=False)
        self._cleanup.callback(node.stop)
        node.wait()
        return node.url

    def rabbitmq(self) -> tuple[str, str]:
        node = rabbitmq.launch(self.folder() / "rabbitmq", management=True)
        self._cleanup.callback(node.stop)
        node.wait()
        assert node.management_url is not None
        return node.url, node.management_url


@pytest.fixture(scope="session")
def _servers() -> Iterator[_Servers]:
    with ExitStack() as cleanup:
        yield _Servers(cleanup)


@pytest.fixture(scope="session")
def postgres_url(_servers: _Servers) -> str:
    return os.environ.get("POSTGRES_URL") or _servers.postgres()


@pytest.fixture(scope="session")
def _rabbitmq(_servers: _Servers) -> tuple[str, str]:
    """AMQP URL and base of the HTTP API."""
    if given := os.environ.get("RABBITMQ_URL"):
        parts = urlsplit(given)
        guess = f"http://{parts.username}:{parts.password}@{parts.hostname}:15672"
        return given, os.environ.get("RABBITMQ_API_URL", guess)
    return _servers.rabbitmq()


@pytest.fixture(scope="session")
def rabbitmq_admin_url(_rabbitmq: tuple[str, str]) -> str:
    return _rabbitmq[0]


@pytest.fixture(scope="session")
def rabbitmq_api_url(_rabbitmq: tuple[str, str]) -> str:
    return _rabbitmq[1]


@pytest.fixture(scope="session")
def rabbitmq_api(rabbitmq_api_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=rabbitmq_api_url, timeout=30) as client:
        yield client


@pytest.fixture
async def make_vhost(rabbitmq_admin_url: str, rabbitmq_api: httpx.Client) -> AsyncIterator[MakeVhost]:
    parts = urlsplit(rabbitmq_admin_url)
    made: list[str] = []

    async def make(*, topology: bool = True) -> str:
        name = f"test-{secrets.token_hex(6)}"
        rabbitmq_api.put(f"/api/vhosts/{name}").raise_for_status()
        made.append(name)
        everything = {"configure": ".*", "write": ".*", "read": ".*"}
        rabbitmq_api.put(f"/api/permissions/{name}/{parts.username}", json=everything).raise_for_status()
        url = parts._replace(path=f"/{name}").geturl()
        if topology:
            await _declare(url)
        return url

    yield make
    for name in made:
        rabbitmq_api.delete(f"/api/vhosts/{name}")


async def _declare(url: str) -> None:
    await topology.declare(url, CATALOGUE)


@pytest.fixture
async def rabbitmq_url(make_vhost: MakeVhost) -> str:
    return await make_vhost()


@pytest.fixture
def broker_urls(rabbitmq_url: str, rabbitmq_api_url: str) -> Iterator[dict[str, str]]:
    # Users belong to the whole server, which need not be ours alone.
    vhost = broker_users.vhost_of(rabbitmq_url)
    credentials = {name: Credentials(f"{vhost}-{name}", secrets.token_hex(12)) for name in services.NAMES}
    users.renew(CATALOGUE, rabbitmq_api_url, vhost, credentials)
    yield {name: broker_users.url_of(rabbitmq_url, each) for name, each in credentials.items()}
    users.remove(rabbitmq_api_url, credentials)


class _Templates:
    """Databases that were migrated once and are copied for every test."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._password = secrets.token_hex(12)
        self._owner: str | None = None
        self._migrated: dict[str, str] = {}
        self._suffix = secrets.token_hex(4)

    async def create(self, service: str | None) -> str:
        """The URL of a new database."""
        template = "template0" if service is None else await self._template(service)
        return await self._create(f"test_{secrets.token_hex(6)}", template)

    async def drop_all(self, urls: list[str]) -> None:
        connection = await asyncpg.connect(self._url)
        try:
            for url in urls:
                name = urlsplit(url).path.removeprefix("/")
                await connection.execute(f'drop database if exists "{name}" with (force)')
        finally:
            await connection.close()

    async def drop(self) -> None:
        """The templates themselves, and the role: for a server that stays."""
        await self.drop_all([self._url_of(name) for name in self._migrated.values()])
        if self._owner is not None:
            await self._execute(f'drop role "{self._owner}"')

    async def _template(self, service: str) -> str:
        if service not in self._migrated:
            name = f"template_{service}_{self._suffix}"
            url = await self._create(name, "template0")
            await migrate(url, [] if service == "messaging" else [service])
            self._migrated[service] = name
        return self._migrated[service]

    async def _create(self, name: str, template: str) -> str:
        if self._owner is None:
            owner = f"{_OWNER}_{self._suffix}"
            await self._execute(f"create role \"{owner}\" login password '{self._password}'")
            self._owner = owner
        await self._execute(f'create database "{name}" template "{template}" owner "{self._owner}"')
        return self._url_of(name)

    def _url_of(self, name: str) -> str:
        parts = urlsplit(self._url)
        address = f"{self._owner}:{quote(self._password)}@{parts.hostname}:{parts.port or 5432}"
        return parts._replace(netloc=address, path=f"/{name}").geturl()

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self._url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


@pytest.fixture(scope="session")
def _templates(postgres_url: str) -> Iterator[_Templates]:
    templates = _Templates(postgres_url)
    yield templates
    asyncio.run(templates.drop())


@pytest.fixture
async def make_database(_templates: _Templates) -> AsyncIterator[MakeDatabase]:
    made: list[str] = []

    async def make(service: str | None = "messaging") -> str:
        made.append(await _templates.create(service))
        return made[-1]

    yield make
    await _templates.drop_all(made)


@pytest.fixture
async def database_url(make_database: MakeDatabase) -> str:
    return await make_database(None)


@pytest.fixture
def free_port() -> Callable[[], int]:
    return ports.free_port
