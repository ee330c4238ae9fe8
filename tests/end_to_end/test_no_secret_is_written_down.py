"""Secrets planted where failures show them: none is in a database, a queue, a log, a span, or before an operator's eyes."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aio_pika
import asyncpg
import httpx
import pytest

from brandctl.local import processes, services
from chassis.testing import eventually
from chassis.testing.spans import SpanReceiver
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import ResearchRequested

pytestmark = pytest.mark.extended

KEY = "canary-of-the-service-key-7f3a"
OPERATORS = "b0d5c5e3f1a94c0e9d7b"

# A handler as bad as they come: it tells everything that it knows, in every form.
PROGRAM = """
import structlog
from chassis import KeyedSettings
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchRequested
from messaging import Service, ServiceSettings, command_line, on_each

class Settings(ServiceSettings, KeyedSettings):
    pass

def build(settings):
    secrets = [settings.rabbitmq_url, settings.database_url, settings.service_key]
    known = " ".join(secret.get_secret_value() for secret in secrets)

    async def tell(message, context):
        structlog.get_logger("a").warning("about to fail", known=known, headers={"Authorization": "canary-logged"})
        try:
            raise ConnectionError(f"https://me:canary-in-a-url@example.org/feed?access_token=canary-in-a-query: {known}")
        except ConnectionError as error:
            raise RuntimeError("refused Authorization: Bearer canary.of-a-bearer.1x9") from error

    service = Service("research", settings, CATALOGUE)
    service.consume("research-commands", on_each(tell, ResearchRequested))
    return service

command_line("research", Settings, build)
"""


@pytest.fixture
def receiver() -> Iterator[SpanReceiver]:
    with SpanReceiver.running() as receiver:
        yield receiver


class Place:
    def __init__(self, folder: Path, urls: dict[str, str], monitor_url: str) -> None:
        self.folder = folder
        self.urls = urls
        self.monitor_url = monitor_url

    async def rows(self) -> str:
        """Everything in every table, except the bodies of dead messages: a replay must send them unchanged."""
        found = []
        for url in self.urls.values():
            connection = await asyncpg.connect(url)
            for table in await connection.fetch(
                "select relname from pg_class join pg_roles on relowner = pg_roles.oid"
                " where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace"
            ):
                query = f"select to_jsonb(t) - 'payload' - 'body' as row from {table['relname']} as t"
                found += [row["row"] for row in await connection.fetch(query)]
            await connection.close()
        return "\n".join(found)

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in self.folder.glob("*.log"))


@pytest.fixture
async def place(
    make_database: Any,
    broker_urls: dict[str, str],
    free_port: Any,
    receiver: SpanReceiver,
    tmp_path: Path,
) -> AsyncIterator[Place]:
    urls = {name: await make_database(name) for name in ("research", "monitor")}
    addresses = services.ServiceAddresses({name: free_port() for name in services.PROCESSES})
    children = []
    for name, command in (
        ("research", [sys.executable, "-c", PROGRAM]),
        ("monitor", [sys.executable, "-m", "monitor"]),
    ):
        environment = services.environment(
            name,
            addresses=addresses,
            rabbitmq_url=broker_urls[name],
            database_url=urls[name],
            service_key=KEY if name == "research" else OPERATORS,
            corpus=tmp_path,
        )
        more = {
            "MAX_ATTEMPTS": "2",
            "RETRY_BASE_SECONDS": "0.1",
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
            "LOG_LEVEL": "debug",
        }
        log = tmp_path / f"{name}.log"
        children.append(processes.start(name, command, log=log, env=environment | more))
    try:
        await asyncio.to_thread(services.wait_until_ready, children, addresses)
        yield Place(tmp_path, urls, addresses.url("monitor"))
    finally:
        await asyncio.to_thread(services.stop, children)


async def test_what_failures_tell_is_told_without_secrets(
    place: Place, broker_urls: dict[str, str], rabbitmq_url: str, receiver: SpanReceiver
) -> None:
    message = DomainMessage(
        event_id=new_event_id(),
        type="research.requested",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        correlation_id="a-chain",
        payload=ResearchRequested(brand_slug="acme", keyword="tea"),
    )
    connection = await aio_pika.connect(rabbitmq_url)
    async with connection, connection.channel() as channel:
        commands = await channel.get_exchange("commands")
        traced = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        ours = aio_pika.Message(encode(message), type=message.type, headers=traced)
        await commands.publish(ours, "research-commands")
        told = {
            "X-Api-Key": "canary-in-a-header",
            "failure-message": "amqp://a:canary-of-a-stranger@b",
            "n": 1,
        }
        await commands.publish(aio_pika.Message(b"no envelope", headers=told), "research-commands")

        client = httpx.AsyncClient(base_url=place.monitor_url, headers={"X-Service-Key": OPERATORS})
        async with client:

            async def letters() -> list[dict[str, Any]]:
                return (await client.get("/v1/dead-letters")).json()["items"]

            await eventually(lambda: _two(letters))
            shown = [(await client.get(f"/v1/dead-letters/{each['id']}")).json() for each in await letters()]
            command = [sys.executable, "-m", "brandctl", "dead-letters", "show", shown[0]["id"]]
            asked = os.environ | {"MONITOR_URL": place.monitor_url, "SERVICE_KEY": OPERATORS}
            seen = await asyncio.to_thread(
                subprocess.run, command, env=asked, capture_output=True, text=True, timeout=60, check=True
            )
    await eventually(lambda: receiver.found("research", {"correlation_id": "a-chain"}))
    kept = {
        "databases": await place.rows(),
        "logs": place.logs(),
        "spans": repr(receiver.spans),
        "API": json.dumps(shown),
        "brandctl": seen.stdout + seen.stderr,
    }
    passwords = [
        url.split("@")[0].rpartition(":")[2] for url in (*place.urls.values(), broker_urls["research"])
    ]
    for where, text in kept.items():
        assert text, where
        for secret in ("canary-", "canary.", *passwords):
            assert secret not in text, where
    # What an operator needs is there.
    assert any(span.complaint == "refused Authorization: ***" for span in receiver.spans)
    failed = next(each for each in shown if each["type"] == "research.requested")
    assert failed["detail"] == "refused Authorization: ***"
    assert "ConnectionError: https://me:***@example.org/feed?access_token=***" in failed["stack"]
    assert "in tell" in failed["stack"]
    foreign = next(each for each in shown if each["type"] is None)
    assert foreign["headers"]["n"] == 1
    assert foreign["headers"]["X-Api-Key"] == "***"


async def _two(letters: Any) -> bool:
    return len(await letters()) == 2
