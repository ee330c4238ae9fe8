"""The service as it is deployed: a process of its own, with its settings in the environment."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import httpx
import psutil
import pytest

from tests.fixtures.databases import Roles


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
    }


def test_it_starts_idles_lean_and_stops_when_asked(
    environment: dict[str, str], as_in_an_image: dict[str, str], resting_memory: int
) -> None:
    command = [sys.executable, "-m", "social"]
    url = f"http://127.0.0.1:{environment['HTTP_PORT']}"
    with subprocess.Popen(command, env=environment | as_in_an_image) as process:
        try:
            _wait_until_ready(process, url)
            httpx.get(url).raise_for_status()
            assert psutil.Process(process.pid).memory_info().rss < resting_memory
        finally:
            process.terminate()
            assert process.wait(30) == 0


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str) -> None:
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/health/ready").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError("the service did not become ready")
