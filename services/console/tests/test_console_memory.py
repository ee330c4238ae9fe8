"""The memory of the process as it is deployed: idle, and after passwords were checked."""

import asyncio
import os
import sys
from asyncio.subprocess import create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest

from chassis.testing import eventually
from console.sealing import MEMORY_KIB
from tests.fixtures.memory import memory_of

KEY = "test-service-key-0123456789"
LEAST_SPARED = 5_000_000
"""Bytes below what is allowed for a service with a queue."""
FROM_ONE_ADDRESS = 5


@pytest.fixture
async def process(
    make_database: Callable[[str], Awaitable[str]],
    free_port: Callable[[], int],
    as_in_an_image: dict[str, str],
) -> AsyncIterator[tuple[int, httpx.AsyncClient]]:
    """The process's id, and its client."""
    port = free_port()
    environment = os.environ | {
        "DATABASE_URL": await make_database("console"),
        "SERVICE_KEY": KEY,
        "HTTP_PORT": str(port),
        "LOG_LEVEL": "error",
        **as_in_an_image,
    }
    url = f"http://127.0.0.1:{port}"
    started = await create_subprocess_exec(sys.executable, "-m", "console", env=environment)
    try:
        async with httpx.AsyncClient(
            base_url=url, headers={"Origin": url}, timeout=60, trust_env=False
        ) as client:
            await eventually(lambda: _ready(client))
            yield started.pid, client
        started.terminate()
        assert await started.wait() == 0
    finally:
        if started.returncode is None:
            started.kill()
            await started.wait()


async def _ready(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/health/ready")).status_code == 200
    except httpx.TransportError:
        return False


async def test_the_idle_process_is_small_and_keeps_no_memory_of_passwords(
    process: tuple[int, httpx.AsyncClient], resting_memory: int
) -> None:
    pid, client = process
    assert memory_of(pid) < resting_memory - LEAST_SPARED
    assert (await client.get("/sign-in")).status_code == 200

    async def try_password(number: int) -> int:
        form = {"name": f"Nobody {number}", "password": "a wrong password"}
        return (await client.post("/sign-in", data=form)).status_code

    assert await try_password(0) == 401
    before = memory_of(pid)
    # Two at a time, so that both threads have had theirs.
    for number in range(1, FROM_ONE_ADDRESS, 2):
        answers = await asyncio.gather(try_password(number), try_password(number + 1))
        assert answers == [401, 401]
    assert memory_of(pid) - before < MEMORY_KIB * 1024 // 2
