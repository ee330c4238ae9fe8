"""A service that reaches broker and database with TLS alone, and trusts no other certificate."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aio_pika
import asyncpg
import httpx
import pytest

from brandctl.local import ports, postgres, rabbitmq
from envelope.brand import CATALOGUE
from messaging import topology

pytestmark = pytest.mark.extended


@dataclass(frozen=True, slots=True)
class Servers:
    broker: rabbitmq.RabbitNode
    database: postgres.PostgresNode
    amqps_port: int
    ca: Path
    strangers_ca: Path


def openssl(*arguments: str, folder: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


def authority(folder: Path, name: str) -> None:
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", f"{name}.key")
    # Python 3.13 and later hold certificates to RFC 5280 by default.
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    openssl("req", "-x509", *key, *usage, "-subj", f"/CN={name}", "-out", f"{name}.crt", folder=folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the servers, which all tests of this file share."""
    return tmp_path_factory.mktemp("encrypted")


@pytest.fixture(scope="module")
def certificates(place: Path) -> Path:
    """`ca.crt`; `server.crt` and `server.key` for localhost by that; `stranger.crt`, which has signed nothing."""
    folder = place / "certificates"
    folder.mkdir()
    authority(folder, "ca")
    authority(folder, "stranger")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", "server.key")
    openssl("req", *key, "-subj", "/CN=server", "-out", "server.csr", folder=folder)
    (folder / "extensions").write_text(
        "subjectAltName = DNS:localhost\nsubjectKeyIdentifier = hash\nauthorityKeyIdentifier = keyid\n"
    )
    signing = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "extensions")
    openssl("x509", "-req", "-in", "server.csr", *signing, "-out", "server.crt", folder=folder)
    return folder


@pytest.fixture(scope="module")
def servers(certificates: Path, place: Path) -> Iterator[Servers]:
    amqps = ports.free_port()
    broker = rabbitmq.launch(
        place / "rabbitmq",
        settings={
            "listeners.ssl.local": f"127.0.0.1:{amqps}",
            "ssl_options.cacertfile": str(certificates / "ca.crt"),
            "ssl_options.certfile": str(certificates / "server.crt"),
            "ssl_options.keyfile": str(certificates / "server.key"),
        },
    )
    try:
        database = postgres.launch(place / "postgres", durable=False)
        try:
            database.wait()
            broker.wait()
            yield Servers(broker, database, amqps, certificates / "ca.crt", certificates / "stranger.crt")
        finally:
            database.stop()
    finally:
        broker.stop()


def give_certificate(data: Path, certificates: Path) -> None:
    owner = data.stat()
    for name in ("server.crt", "server.key"):
        copy = Path(shutil.copy(certificates / name, data / name))
        os.chown(copy, owner.st_uid, owner.st_gid)
        copy.chmod(0o600)
    rules = (data / "pg_hba.conf").read_text()
    (data / "pg_hba.conf").write_text(f"hostnossl all orchestrator all reject\n{rules}")


@pytest.fixture(scope="module")
def encrypted(servers: Servers, certificates: Path) -> Servers:
    """The database takes the role `orchestrator` with TLS alone, as in the manifests."""
    give_certificate(servers.database.folder, certificates)
    asyncio.run(prepare(servers))
    return servers


async def prepare(servers: Servers) -> None:
    connection = await asyncpg.connect(servers.database.url)
    await connection.execute("alter system set ssl = on")
    await connection.execute("create role orchestrator login password 'a-password'")
    await connection.execute("create database orchestrator owner orchestrator")
    await connection.execute("select pg_reload_conf()")
    await connection.close()
    await topology.declare(servers.broker.url, CATALOGUE)


def environment(servers: Servers, port: int, ca: Path) -> dict[str, str]:
    return {
        **os.environ,
        "RABBITMQ_URL": f"amqps://{rabbitmq.USER}:{servers.broker.password}@localhost:{servers.amqps_port}/%2F?cafile={ca}",
        "DATABASE_URL": f"postgresql://orchestrator:a-password@localhost:{servers.database.port}/orchestrator",
        # As in the manifests: the driver reads these.
        "PGSSLMODE": "verify-full",
        "PGSSLROOTCERT": str(ca),
        "SERVICE_KEY": "test-service-key-0123456789",
        "RESEARCH_URL": "http://127.0.0.1:1",
        "HTTP_PORT": str(port),
    }


def url(settings: dict[str, str]) -> str:
    return f"http://127.0.0.1:{settings['HTTP_PORT']}"


async def answer(
    process: subprocess.Popen[bytes], settings: dict[str, str], wanted: Callable[[httpx.Response], bool]
) -> httpx.Response:
    """Of the readiness page, once it is the one that is wanted."""
    async with asyncio.timeout(60), httpx.AsyncClient() as client:
        while process.poll() is None:
            with suppress(httpx.TransportError):
                response = await client.get(f"{url(settings)}/health/ready")
                if wanted(response):
                    return response
            await asyncio.sleep(0.05)
    raise AssertionError("the service has ended")


def migrate(settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "orchestrator", "migrate"],
        env=settings,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


@contextmanager
def running(settings: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", "orchestrator"], env=settings, stdout=output, stderr=output
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


async def test_it_consumes_and_publishes(
    encrypted: Servers, free_port: Callable[[], int], tmp_path: Path
) -> None:
    settings = environment(encrypted, free_port(), encrypted.ca)
    assert migrate(settings).returncode == 0
    connection = await aio_pika.connect(encrypted.broker.url)
    async with connection, connection.channel() as channel:
        with running(settings, tmp_path / "log") as process:
            await answer(process, settings, lambda it: it.status_code == httpx.codes.OK)
            headers = {"X-Service-Key": settings["SERVICE_KEY"]}
            async with httpx.AsyncClient(base_url=url(settings), headers=headers) as api:
                (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
                asked = await api.post("/v1/brands/acme/research", json={"keywords": ["cold brew"]})
                asked.raise_for_status()
            # Published.
            await arrival(await channel.get_queue("research-commands", ensure=False))
            # Consumed: what is no command ends as a dead letter.
            await channel.default_exchange.publish(aio_pika.Message(b"{}"), "orchestrator-commands")
            await arrival(await channel.get_queue("orchestrator-commands-dlq", ensure=False))


async def arrival(queue: aio_pika.abc.AbstractQueue) -> None:
    async with asyncio.timeout(60):
        while await queue.get(no_ack=True, fail=False) is None:  # noqa: ASYNC110 - the broker is asked
            await asyncio.sleep(0.05)


async def test_a_certificate_by_somebody_else_is_not_believed(
    encrypted: Servers, free_port: Callable[[], int], tmp_path: Path
) -> None:
    right = environment(encrypted, free_port(), encrypted.ca)
    wrong = environment(encrypted, free_port(), encrypted.strangers_ca)
    refused = migrate(wrong)
    assert refused.returncode == 1
    assert "certificate verify failed" in refused.stderr
    # The broker's alone, with the database's right one.
    assert migrate(right).returncode == 0
    settings = right | {"RABBITMQ_URL": wrong["RABBITMQ_URL"]}
    log = tmp_path / "log"
    with running(settings, log) as process:
        async with asyncio.timeout(60):
            while "CERTIFICATE_VERIFY_FAILED" not in log.read_text():
                assert process.poll() is None
                await asyncio.sleep(0.05)
        response = await answer(process, settings, lambda _: True)
        assert response.status_code == httpx.codes.SERVICE_UNAVAILABLE
