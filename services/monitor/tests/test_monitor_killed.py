"""A monitor that is killed while it sends many dead letters again, and the one that comes after it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import pytest
from pydantic import SecretStr

from chassis.testing import eventually, running
from envelope import DomainMessage
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentPublish
from messaging import Context, Record, Service, ServiceSettings, Transaction, on_each
from messaging.storage import origins
from messaging.testing import Broker
from monitor.app import build
from monitor.settings import Settings

KEY = "test-service-key-0123456789"
LIST = "/v1/dead-letters"
LETTERS = 350
"""More than are published at once."""


@asynccontextmanager
async def monitor(database_url: str, broker_url: str) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(
        rabbitmq_url=SecretStr(broker_url),
        database_url=SecretStr(database_url),
        service_key=SecretStr(KEY),
        http_port=0,
    )
    async with running(build(settings)) as service, _client(service.port) as client:
        yield client


@asynccontextmanager
async def doomed_monitor(
    database_url: str, broker_url: str, port: int, log: Path, where: str
) -> AsyncIterator[tuple["subprocess.Popen[bytes]", httpx.AsyncClient]]:
    """A process that ends as soon as it reaches that place."""
    environment = os.environ | {
        "DATABASE_URL": database_url,
        "RABBITMQ_URL": broker_url,
        "SERVICE_KEY": KEY,
        "HTTP_PORT": str(port),
        "FAIL_POINTS": where,
    }
    with log.open("wb") as file:
        child = subprocess.Popen(  # noqa: ASYNC220  (it returns at once)
            [sys.executable, "-m", "monitor"], env=environment, stdout=file, stderr=file
        )
    try:
        async with _client(port) as client:

            async def ready() -> bool:
                assert child.poll() is None, await asyncio.to_thread(log.read_text)
                try:
                    return (await client.get("/health/ready")).is_success
                except httpx.TransportError:
                    return False

            await eventually(ready, within=110)
            yield child, client
    finally:
        child.kill()
        await asyncio.to_thread(child.wait)


def _client(port: int) -> httpx.AsyncClient:
    headers = {"X-Service-Key": KEY}
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False, timeout=60
    )


@asynccontextmanager
async def publisher(database_url: str, broker_url: str) -> AsyncIterator[list[UUID | None]]:
    """What took effect, by the dead message that each stands for."""
    handled: list[UUID | None] = []

    async def handle(message: DomainMessage[ContentPublish], _: Context) -> Record | None:
        # Of two copies that come at almost the same time both may get this far: the inbox decides which has an effect.
        async def record(_: Transaction) -> None:
            handled.append(message.causation_id)

        return record

    settings = ServiceSettings(
        rabbitmq_url=SecretStr(broker_url),
        database_url=SecretStr(database_url),
        service_key=SecretStr(KEY),
        http_port=0,
    )
    service = Service("publisher", settings, CATALOGUE)
    service.consume("publisher-commands", on_each(handle, ContentPublish))
    async with running(service):
        yield handled


async def _note_dead(database_url: str, dead: list[UUID]) -> None:
    """As the consumer that dead-lettered them: it takes replays of nothing else."""
    connection = await asyncpg.connect(database_url)
    try:
        await origins.accept(connection, dead)
    finally:
        await connection.close()


async def _end_leases(database_url: str) -> None:
    """Messages that a process has claimed for publishing are free again after half a minute; here at once."""
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute("update outbox set due_at = clock_timestamp()")
    finally:
        await connection.close()


async def _count(api: httpx.AsyncClient, **filters: str) -> int:
    found: dict[str, Any] = (await api.get(LIST, params={"limit": "1", **filters})).raise_for_status().json()
    return int(found["matching"])


@pytest.mark.extended
@pytest.mark.parametrize(
    "where",
    [
        "relay.publishing=kill",
        "relay.sent=kill",
        # Some are published and forgotten, others published and still in the outbox.
        "relay.confirmed=kill@2",
    ],
)
async def test_many_that_are_sent_again_by_a_process_that_is_killed_are_handled_once_each(
    make_database: Callable[..., Awaitable[str]],
    rabbitmq_url: str,
    broker_urls: dict[str, str],
    new_envelope: Callable[..., bytes],
    free_port: Callable[[], int],
    tmp_path: Path,
    where: str,
) -> None:
    url, dead = await make_database("monitor"), [uuid4() for _ in range(LETTERS)]
    facts = {"failure-reason": "exhausted", "failure-message": "it was away for an hour"}
    async with Broker.connected(rabbitmq_url) as broker:
        await asyncio.gather(
            *(
                broker.publish("dead-letters", "publisher-commands", new_envelope(event_id), headers=facts)
                for event_id in dead
            )
        )
    async with monitor(url, broker_urls["monitor"]) as api:

        async def recorded() -> bool:
            return await _count(api, state="open") == LETTERS

        await eventually(recorded)

    asked = {"queue": "publisher-commands", "limit": 500}
    async with doomed_monitor(url, broker_urls["monitor"], free_port(), tmp_path / "monitor.log", where) as (
        child,
        client,
    ):
        # It ends before it answers, or while it does.
        with suppress(httpx.TransportError):
            await client.post(f"{LIST}/replay", json=asked)
        assert await asyncio.to_thread(child.wait, 60) == -9
    await _end_leases(url)

    consumer_url = await make_database()
    await _note_dead(consumer_url, dead)
    async with (
        publisher(consumer_url, broker_urls["publisher"]) as handled,
        monitor(url, broker_urls["monitor"]) as api,
    ):
        # Whoever got no answer asks again. All of them were marked with what is to be sent, so that nothing is left to do.
        again = await api.post(f"{LIST}/replay", json=asked)
        assert again.raise_for_status().json()["replayed"] == 0

        async def settled() -> bool:
            return await _count(api, state="resolved") == LETTERS

        await eventually(settled)
        assert sorted(handled, key=str) == sorted(dead, key=str)
