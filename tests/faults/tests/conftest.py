"""The servers of the test session, for scenarios that do not break them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import httpx
import pytest

from faults import scenarios
from faults.judging.results import ScenarioResult
from faults.playing import scenario
from faults.surroundings.servers import ServerAddresses

Play = Callable[..., Awaitable[ScenarioResult]]

_AT_ONCE = 2
"""Scenarios side by side: most of their time they wait, for a lease to end or for a process to start."""


@pytest.fixture(scope="session")
def servers(
    rabbitmq_admin_url: str, rabbitmq_api: httpx.Client, postgres_url: str
) -> Iterator[ServerAddresses]:
    management = str(rabbitmq_api.base_url).rstrip("/")
    servers = ServerAddresses(rabbitmq_admin_url, management, postgres_url)
    yield servers
    asyncio.run(servers.drop_everything())


@pytest.fixture
async def play(servers: ServerAddresses, tmp_path: Path) -> Play:
    """Plays a scenario by name, in its small size; several may be asked for at once."""
    await servers.template()  # or those at once would each make one
    turns = asyncio.Semaphore(_AT_ONCE)

    async def play(name: str, *, mutation: str = "") -> ScenarioResult:
        wanted = scenarios.load()[name]
        # A missing guarantee leaves something missing for good: there is no point in a long wait for it.
        patience = 10.0 if mutation else None
        folder = tmp_path / f"{name} {mutation}".replace(" ", "-")
        async with turns:
            return await scenario.play(
                wanted, servers, folder, seed=7, fast=True, mutation=mutation, patience=patience
            )

    return play
