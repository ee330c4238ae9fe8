"""The commands in the READMEs of the services start each of them, on an empty database and a real broker."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import httpx
import pytest

from brandctl.local import services
from chassis.testing import eventually
from tests.fixtures.command_blocks import ROOT, blocks_run_by

pytestmark = pytest.mark.extended

PAGES: Final = (
    "services/events/README.md",
    "services/gateway/README.md",
    "services/monitor/README.md",
    "services/orchestrator/README.md",
    "services/publisher/README.md",
    "services/research/README.md",
    "services/social/README.md",
)
"""Those with blocks that this test runs."""
WITHIN_SECONDS: Final = 120
"""Time for a command, on a loaded machine."""


@pytest.mark.parametrize("page", PAGES)
async def test_the_commands_of_a_readme_start_its_service(
    page: str, broker_urls: dict[str, str], make_database: Callable[..., Awaitable[str]], tmp_path: Path
) -> None:
    name = Path(page).parent.name
    [block] = blocks_run_by(__file__, page)
    *before, last = block.text.splitlines()
    addresses = services.choose_addresses()
    variables = services.environment(
        name,
        addresses=addresses,
        rabbitmq_url=broker_urls.get(name),
        database_url=await make_database(None),
        service_key="a-key-for-tests-only",
        corpus=tmp_path,
    )
    variables["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for command in before:
        await asyncio.to_thread(
            subprocess.run, ["bash", "-c", command], env=variables, check=True, timeout=WITHIN_SECONDS
        )
    process = await asyncio.create_subprocess_exec("bash", "-c", f"exec {last}", cwd=ROOT, env=variables)
    try:
        async with httpx.AsyncClient(base_url=addresses.url(name), trust_env=False) as client:

            async def ready() -> bool:
                assert process.returncode is None
                try:
                    return (await client.get("/health/ready")).is_success
                except httpx.TransportError:
                    return False

            assert await eventually(ready, within=WITHIN_SECONDS)
    finally:
        process.send_signal(signal.SIGTERM)
        ended = await asyncio.wait_for(process.wait(), WITHIN_SECONDS)
    assert ended == 0
