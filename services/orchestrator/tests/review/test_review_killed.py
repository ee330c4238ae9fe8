"""A replica is killed between an approval and what follows from it: the approved version is published, once."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import aio_pika
import httpx
import pytest

from chassis.testing import eventually

SERVICE_KEY = "test-service-key-0123456789"


@pytest.fixture
def replica(orchestrator_url: str, broker_urls: dict[str, str], free_port: Callable[[], int]) -> Any:
    """Runs the service as a process, with such settings; gives it and a client once it is ready."""

    @asynccontextmanager
    async def run(**environment: str) -> AsyncIterator[tuple[subprocess.Popen[bytes], httpx.AsyncClient]]:
        port = free_port()
        settings = {
            "DATABASE_URL": orchestrator_url,
            "RABBITMQ_URL": broker_urls["orchestrator"],
            "SERVICE_KEY": SERVICE_KEY,
            "HTTP_PORT": str(port),
        }
        process = subprocess.Popen(  # noqa: ASYNC220  (it returns at once)
            [sys.executable, "-m", "orchestrator"], env=os.environ | settings | environment
        )
        try:
            async with httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", headers={"X-Service-Key": SERVICE_KEY}, timeout=60
            ) as client:
                await eventually(lambda: _ready(client))
                yield process, client
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait, 60)

    return run


async def _ready(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/health/ready")).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.parametrize(
    "place", ["relay.publishing", pytest.param("relay.confirmed", marks=pytest.mark.extended)]
)
async def test_an_approval_outlives_whoever_took_it(
    waiting: Any, replica: Any, rabbitmq_url: str, place: str
) -> None:
    path = f"/v1/drafts/{waiting.content_id}"
    async with waiting.database.connection() as connection:
        # What dies is to die of the approval, and not of a reminder.
        await connection.execute("update brands set reminded_at = now()")
    async with replica(FAIL_POINTS=f"{place}=kill") as (process, client):
        # It may be killed before or after it has answered.
        with suppress(httpx.TransportError):
            await client.post(f"{path}/approve", json={"version": 1})
        assert await asyncio.to_thread(process.wait, 60) == -signal.SIGKILL
    async with waiting.database.connection() as connection:
        # The replica may have routed the event to itself before it died: the command to publish is then there too.
        assert await connection.fetchval("select count(*) from outbox where type = 'content.generated'") == 1
        # Its lease is over: tests do not wait for that.
        await connection.execute("update outbox set due_at = now()")

    async with replica() as (_, client):
        again = await client.post(f"{path}/approve", json={"version": 1})
        assert (again.status_code, again.json()["state"]) == (200, "approved")
        await client.post(f"{path}/edit", json={"version": 1, "title": "Afterwards"})

        async def settled() -> bool:
            async with waiting.database.connection() as connection:
                handled = await connection.fetchval(
                    "select count(*) from processed_events where type = 'content.generated'"
                )
                return handled == 1 and not await connection.fetchval("select count(*) from outbox")

        await eventually(settled)
        assert (await client.get(f"/v1/content/{waiting.content_id}")).json()["title"] == "Cold brew"

    connection = await aio_pika.connect(rabbitmq_url)
    async with connection:
        queue = await (await connection.channel()).get_queue("publisher-commands", ensure=False)
        first = await queue.get(fail=False)
        assert first is not None
        assert json.loads(first.body)["payload"]["content_id"] == str(waiting.content_id)
        assert await queue.get(fail=False) is None
        await first.ack()


@pytest.mark.extended
async def test_what_has_a_time_is_published_once_though_whoever_kept_it_was_killed(
    waiting: Any, replica: Any, rabbitmq_url: str
) -> None:
    path = f"/v1/drafts/{waiting.content_id}"
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    await waiting.decide("approve", version=1, publish_at=tomorrow)
    await waiting.sent()
    async with waiting.database.connection() as connection:
        # What dies is to die of the publication, and not of a reminder.
        await connection.execute("update brands set reminded_at = now()")
    async with replica(FAIL_POINTS="relay.confirmed=kill") as (process, client):
        assert (await client.get(path)).json()["state"] == "scheduled"
        async with waiting.database.connection() as connection:
            await connection.execute("update appointments set publish_at = now()")
        assert await asyncio.to_thread(process.wait, 60) == -signal.SIGKILL
    async with waiting.database.connection() as connection:
        assert await connection.fetch("select ended_as from appointments") == [("kept",)]
        # Its lease is over: tests do not wait for that.
        await connection.execute("update outbox set due_at = now()")

    async with replica() as (_, client):

        async def settled() -> bool:
            async with waiting.database.connection() as connection:
                handled = await connection.fetchval(
                    "select count(*) from processed_events where type = 'content.generated'"
                )
                return handled == 1 and not await connection.fetchval("select count(*) from outbox")

        await eventually(settled)
        decisions = (await client.get(f"{path}/decisions")).json()["items"]
    assert [each["decision"] for each in decisions] == ["approved", "scheduled"]
    connection = await aio_pika.connect(rabbitmq_url)
    async with connection:
        queue = await (await connection.channel()).get_queue("publisher-commands", ensure=False)
        first = await queue.get(fail=False)
        assert first is not None
        assert await queue.get(fail=False) is None
        await first.ack()
