"""The job that makes the databases' roles (deploy/compose/databases.sh), on a server of its own."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from brandctl.local import postgres, services

SCRIPT = Path(__file__).parents[2] / "deploy/compose/databases.sh"
PASSWORD = "a-password-for-tests"


def environment_for(port: int) -> dict[str, str]:
    """The environment of the script's container, for a server on this machine."""
    return {
        f"{name.upper()}_{kind}_PASSWORD": PASSWORD
        for name in services.PROCESSES
        for kind in ("DATABASE", "RUNTIME")
    } | {
        "PATH": f"{postgres.find_binaries()}:{os.environ['PATH']}",
        "PGHOST": "127.0.0.1",
        "PGPORT": str(port),
        "PGUSER": "postgres",
        "PGPASSWORD": PASSWORD,
    }


@pytest.mark.extended
async def test_a_role_that_changed_itself_is_as_it_was_after_the_next_run(tmp_path: Path) -> None:
    """PostgreSQL lets every role change its own password and settings: one intruder could shut its service out."""
    server = postgres.launch(tmp_path / "postgres", durable=False)
    try:
        await asyncio.to_thread(server.wait)
        admin = await asyncpg.connect(server.url)
        await admin.execute(f"create role postgres superuser login password '{PASSWORD}'")
        environment = environment_for(server.port)

        async def run() -> None:
            await asyncio.to_thread(
                subprocess.run, ["sh", str(SCRIPT)], env=environment, check=True, stdout=subprocess.DEVNULL
            )

        async def as_research() -> asyncpg.Connection:
            return await asyncpg.connect(
                host="127.0.0.1",
                port=server.port,
                user="research_runtime",
                password=PASSWORD,
                database="research",
            )

        await run()
        # As a migration lets it in.
        await admin.execute("grant connect on database research to research_runtime")
        intruder = await as_research()
        await intruder.execute("alter role research_runtime set default_transaction_read_only = on")
        await intruder.execute("alter role research_runtime in database research set search_path = pg_temp")
        await intruder.execute("alter role research_runtime password 'another'")
        await intruder.close()
        with pytest.raises(asyncpg.InvalidPasswordError):
            await as_research()

        await run()
        service = await as_research()
        assert await service.fetchval("show default_transaction_read_only") == "off"
        assert await service.fetchval("show search_path") == '"$user", public'
        await service.close()
        await admin.close()
    finally:
        server.stop()


@pytest.mark.extended
async def test_a_server_that_has_just_been_started_is_waited_for(tmp_path: Path) -> None:
    """Docker checks health seldom, so the script itself waits for the server."""
    server = postgres.launch(tmp_path / "postgres", durable=False)
    # As the server's own, but for the first two times.
    asking = tmp_path / "pg_isready"
    asking.write_text(
        f'#!/bin/sh\necho asked >>"{tmp_path}/asked"\n'
        f'[ "$(wc -l <"{tmp_path}/asked")" -gt 2 ] && exec {postgres.find_binaries()}/pg_isready "$@"\nexit 2\n'
    )
    asking.chmod(0o755)
    try:
        await asyncio.to_thread(server.wait)
        admin = await asyncpg.connect(server.url)
        await admin.execute(f"create role postgres superuser login password '{PASSWORD}'")
        environment = environment_for(server.port)
        done = await asyncio.to_thread(
            subprocess.run,
            ["sh", str(SCRIPT)],
            env=environment | {"PATH": f"{tmp_path}:{environment['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert len((tmp_path / "asked").read_text().splitlines()) == 3
        assert await admin.fetchval("select count(*) from pg_database where datname = 'social'") == 1
        await admin.close()
    finally:
        server.stop()


def test_a_server_that_never_answers_is_named_at_the_end(free_port: Callable[[], int]) -> None:
    done = subprocess.run(
        ["sh", str(SCRIPT)],
        env=environment_for(free_port()) | {"WAIT_SECONDS": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr == "PostgreSQL does not answer within 0 s\n"
