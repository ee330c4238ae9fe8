"""The service as it is deployed: a process of its own, with its settings in the environment."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import aio_pika
import asyncpg
import httpx
import pytest
from yarl import URL

from chassis.testing import eventually
from envelope import DomainMessage, encode, new_event_id
from envelope.brand.payloads import SocialCreate
from tests.fixtures.databases import Roles
from tests.fixtures.memory import memory_of


@pytest.fixture
async def environment(
    make_database: Callable[[None], Awaitable[str]],
    database_roles: Roles,
    broker_urls: dict[str, str],
    free_port: Callable[[], int],
) -> dict[str, str]:
    owner_url = await make_database(None)
    migration = {"DATABASE_URL": owner_url, "DATABASE_RUNTIME_ROLE": database_roles.runtime_role}
    command = [sys.executable, "-m", "social", "migrate"]
    migrating = await asyncio.create_subprocess_exec(*command, env=os.environ | migration)
    assert await migrating.wait() == 0
    return {
        **os.environ,
        "RABBITMQ_URL": broker_urls["social"],
        "DATABASE_URL": database_roles.runtime(owner_url),
        "HTTP_PORT": str(free_port()),
        "SERVICE_KEY": "test-service-key-0123456789",
    }


@pytest.mark.extended
def test_it_starts_idles_lean_and_stops_when_asked(
    environment: dict[str, str], as_in_an_image: dict[str, str], resting_memory: int
) -> None:
    command = [sys.executable, "-m", "social"]
    url = f"http://127.0.0.1:{environment['HTTP_PORT']}"
    with subprocess.Popen(command, env=environment | as_in_an_image) as process:
        try:
            _wait_until_ready(process, url)
            httpx.get(url).raise_for_status()
            assert memory_of(process.pid) < resting_memory
        finally:
            process.terminate()
            assert process.wait(60) == 0


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/health/ready").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError("the service did not become ready")


@pytest.mark.extended
@pytest.mark.parametrize("place", ["relay.publishing", "relay.confirmed"])
async def test_a_post_is_out_once_though_whoever_took_the_approval_was_killed(
    environment: dict[str, str],
    rabbitmq_url: str,
    broker_urls: dict[str, str],
    new_command: Callable[..., SocialCreate],
    place: str,
) -> None:
    url = f"http://127.0.0.1:{environment['HTTP_PORT']}"
    key = {"X-Service-Key": environment["SERVICE_KEY"]}
    command = new_command(approval="everything")
    approval = {"version": 1}
    async with (
        await aio_pika.connect(rabbitmq_url) as connection,
        await aio_pika.connect(broker_urls["orchestrator"]) as orchestrator,
        httpx.AsyncClient(base_url=url, headers=key, timeout=60) as api,
        asyncpg.create_pool(environment["DATABASE_URL"], min_size=1, max_size=1) as pool,
    ):
        channel = await connection.channel()
        events = await channel.get_queue("orchestrator-events")
        message = DomainMessage[SocialCreate](
            event_id=new_event_id(),
            type="social.create",
            source="orchestrator",
            timestamp=datetime.now(UTC),
            payload=command,
        )
        exchange = await (await orchestrator.channel()).get_exchange("commands", ensure=False)
        # Social may send itself commands: an unsigned one could be its own.
        signed = aio_pika.Message(encode(message), user_id=URL(broker_urls["orchestrator"]).user)
        with _process(environment, url):
            await exchange.publish(signed, "social-commands")
            waits = await _taken(events)
            assert (waits["type"], waits["payload"]["reason"]) == ("social.failed", "needs_review")
        post = str(await pool.fetchval("select post_id from pending_posts"))
        with _process(environment | {"FAIL_POINTS": f"{place}=kill"}, url) as process:
            # It may be killed before or after it has answered.
            with suppress(httpx.TransportError):
                await api.post(f"/v1/posts/{post}/approve", json=approval)
            assert await asyncio.to_thread(process.wait, 60) == -signal.SIGKILL
        # Its lease is over: tests do not wait for that.
        await pool.execute("update outbox set due_at = now()")
        with _process(environment, url):
            again = await api.post(f"/v1/posts/{post}/approve", json=approval)
            assert (again.status_code, again.json()["state"]) == (200, "posted")
            told = [await _taken(events)]
            await eventually(lambda: _is_empty(pool))
            while (more := await events.get(fail=False)) is not None:
                await more.ack()
                told.append(json.loads(more.body))
            assert {(each["type"], each["payload"]["post_url"]) for each in told} == {
                ("social.posted", again.json()["post_url"])
            }
            # What comes twice is one message: whoever takes it knows.
            assert len({each["event_id"] for each in told}) == 1
            assert await pool.fetchval("select count(*) from posts") == 1


@contextmanager
def _process(environment: dict[str, str], url: str) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-m", "social"], env=environment) as process:
        try:
            _wait_until_ready(process, url)
            yield process
        finally:
            process.terminate()
            process.wait(60)


async def _taken(queue: aio_pika.abc.AbstractQueue) -> dict[str, Any]:
    async with asyncio.timeout(60), queue.iterator() as deliveries:
        delivery = await anext(deliveries)
        await delivery.ack()
    found: dict[str, Any] = json.loads(delivery.body)
    return found


async def _is_empty(pool: asyncpg.Pool) -> bool:
    return not await pool.fetchval("select count(*) from outbox")
