"""The five services behind PgBouncer in transaction mode: keywords become articles and posts, over fewer connections than processes hold."""

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from brandctl.local import ports, services
from chassis.testing import eventually
from tests.fixtures.running_services import running_services

KEY = "a-key-for-tests-only"
KEYWORDS = ["pour-over coffee", "grind size", "water quality for coffee"]
SERVER_CONNECTIONS = 2
"""Of each database."""
OLDEST = (1, 21)
"""Older ones lose prepared statements in this mode."""


async def _program() -> list[str]:
    """PgBouncer: `PGBOUNCER` is a command line, else it is the program of that name. Skips the test without one that is new enough."""
    command = os.environ.get("PGBOUNCER", "").split() or [shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"]
    if shutil.which(command[0]) is None:
        pytest.skip("there is no PgBouncer; PGBOUNCER names one")
    process = await asyncio.create_subprocess_exec(*command, "--version", stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    found = re.search(rb"PgBouncer (\d+)\.(\d+)", out)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        pytest.skip(f"PgBouncer is older than {'.'.join(map(str, OLDEST))}: {out.decode().splitlines()[:1]}")
    return command


@pytest.fixture
async def pooled_database(
    make_database: Callable[..., Awaitable[str]], tmp_path: Path
) -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Makes databases like `make_database`, with addresses that lead through PgBouncer."""
    command = await _program()
    # All services' roles of a test run have one name and password.
    server = urlsplit(await make_database("research"))
    port, users, settings = ports.free_port(), tmp_path / "users.txt", tmp_path / "pgbouncer.ini"
    users.write_text(f'"{server.username}" "{server.password}"\n')
    settings.write_text(
        f"[databases]\n* = host={server.hostname} port={server.port}\n"
        f"[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port={port}\nunix_socket_dir=\n"
        f"auth_type=plain\nauth_file={users}\n"
        f"pool_mode=transaction\ndefault_pool_size={SERVER_CONNECTIONS}\nmax_client_conn=1000\n"
        "max_prepared_statements=500\nignore_startup_parameters=jit,extra_float_digits\n"
        # As root it does not run.
        + ("user=nobody\n" if os.getuid() == 0 else "")
    )
    for each in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        each.chmod(0o755)
    process = await asyncio.create_subprocess_exec(*command, str(settings))

    async def make(service: str) -> str:
        url = urlsplit(await make_database(service))
        return url._replace(netloc=f"{url.username}:{url.password}@127.0.0.1:{port}").geturl()

    async def listens() -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        writer.close()
        await writer.wait_closed()
        return True

    try:
        await eventually(listens)
        yield make
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.real
async def test_keywords_become_articles_and_posts_over_two_connections_of_each_database(
    broker_urls: dict[str, str], pooled_database: Callable[..., Awaitable[str]], tmp_path: Path
) -> None:
    async with (
        running_services(
            services.NAMES,
            broker_urls=broker_urls,
            make_database=pooled_database,
            service_key=KEY,
            folder=tmp_path,
        ) as stack,
        httpx.AsyncClient(
            headers={"X-Service-Key": KEY}, base_url=stack.url("orchestrator"), timeout=60
        ) as api,
    ):
        (await api.put("/v1/brands/daily-grind", json={"name": "The Daily Grind"})).raise_for_status()
        submitted = await api.post("/v1/brands/daily-grind/research", json={"keywords": KEYWORDS})
        assert submitted.status_code == 202, submitted.text

        async def ended() -> dict[str, Any] | None:
            cycle: dict[str, Any] = (await api.get(f"/v1/cycles/{submitted.json()['cycle_id']}")).json()
            return cycle if cycle["percent"] == 100 else None

        cycle = await eventually(ended)
        assert (cycle["completed"], cycle["failed"]) == (3, 0)
        assert [len(each["posts"]) for each in cycle["keywords"]] == [1, 1, 1]
        for each in cycle["keywords"]:
            assert (await api.get(each["published_url"])).status_code == 200
