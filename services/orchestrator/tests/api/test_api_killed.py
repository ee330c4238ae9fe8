"""A process that is killed between the commit of a request and its answer, and another one that is asked again."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import httpx
import pytest

from chassis.testing import eventually

KEY = {"X-Service-Key": "test-service-key-0123456789"}
RESEARCH = "/v1/brands/acme/research"


@asynccontextmanager
async def process(
    database_url: str, port: int, folder: Path, **variables: str
) -> AsyncIterator[tuple["subprocess.Popen[bytes]", httpx.AsyncClient]]:
    """An orchestrator, once its API answers; no broker is there, so that what it sends stays in the outbox to be seen."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {
        "DATABASE_URL": database_url,
        "RABBITMQ_URL": "amqp://nobody@127.0.0.1:1/",
        "SERVICE_KEY": KEY["X-Service-Key"],
        "HTTP_PORT": str(port),
        "SHUTDOWN_GRACE_SECONDS": "0",
    }
    with (folder / f"{port}.log").open("wb") as log:
        child = subprocess.Popen(  # noqa: ASYNC220  (it returns at once)
            [sys.executable, "-m", "orchestrator"], env=environment | variables, stdout=log, stderr=log
        )
    try:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", headers=KEY, trust_env=False, timeout=60
        ) as client:

            async def answers() -> bool:
                assert child.poll() is None, (folder / f"{port}.log").read_text()
                try:
                    return (await client.put("/v1/brands/acme", json={"name": "Acme"})).is_success
                except httpx.TransportError:
                    return False

            await eventually(answers, within=110)
            yield child, client
    finally:
        child.kill()
        await asyncio.to_thread(child.wait)


@pytest.mark.extended
async def test_a_request_whose_process_is_killed_before_it_answers_is_done_once(
    make_database: Callable[[str], Awaitable[str]], free_port: Callable[[], int], tmp_path: Path
) -> None:
    url = await make_database("orchestrator")
    wanted, named = {"keywords": ["tea", "coffee"]}, {"Idempotency-Key": "campaign 1"}
    async with process(url, free_port(), tmp_path, FAIL_POINTS="answer.committed=kill") as (child, client):
        try:
            answer = await client.post(RESEARCH, json=wanted, headers=named)
        except httpx.TransportError:
            assert await asyncio.to_thread(child.wait, 30) == -9
        else:
            raise AssertionError(f"it was to be killed, and answered {answer.status_code}")
    async with process(url, free_port(), tmp_path) as (_, client):
        again = await client.post(RESEARCH, json=wanted, headers=named)
        cycle = await client.get(again.headers["location"])
    assert (again.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    assert cycle.json()["total"] == 2
    connection = await asyncpg.connect(url)
    try:
        done = await connection.fetchrow(
            "select (select count(*) from cycles) as cycles, (select count(*) from outbox) as sent"
        )
    finally:
        await connection.close()
    assert done is not None
    assert (done["cycles"], done["sent"]) == (1, 2)


@pytest.mark.extended
async def test_a_command_whose_process_is_killed_before_it_answers_is_done_once(
    make_database: Callable[[str], Awaitable[str]], free_port: Callable[[], int], tmp_path: Path
) -> None:
    url = await make_database("orchestrator")
    command = {
        "specversion": "1.0",
        "id": "order-4711",
        "source": "/shop",
        "type": "cycle.start",
        "time": datetime.now(UTC).isoformat(),
        "data": {"brand_slug": "acme", "keywords": ["tea"]},
    }
    async with process(url, free_port(), tmp_path) as (_, client):
        pass  # the brand
    armed = {"FAIL_POINTS": "answer.committed=kill"}
    async with process(url, free_port(), tmp_path, **armed) as (child, client):
        # The fail point is in the transaction of a request with such a key.
        with suppress(httpx.TransportError):
            await client.post("/v1/messages", json=command, headers={"Idempotency-Key": "once"})
        assert await asyncio.to_thread(child.wait, 30) == -9
    async with process(url, free_port(), tmp_path) as (_, client):
        (again,) = (await client.post("/v1/messages", json=command)).json()["results"]
        cycle = await client.get(again["location"])
    assert (again["status"], cycle.json()["total"]) == ("duplicate", 1)
