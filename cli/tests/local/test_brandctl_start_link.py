"""The address of the console that `brandctl run` and `brandctl demo` print, beside a real console."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from brandctl.local.folder import LocalFolder
from brandctl.local.services import ServiceAddresses
from brandctl.local.stack import LocalStack
from brandctl.local.start_link import console_address
from chassis.testing import running
from console.app import ConsoleApp
from console.settings import Settings

KEY = "test-service-key-0123456789"
CONSOLE_URL = "http://console.example/below"


@pytest.fixture
async def stack(
    api: httpx.AsyncClient, make_database: Callable[[str], Awaitable[str]], tmp_path: Path
) -> AsyncIterator[LocalStack]:
    settings = {
        "database_url": await make_database("console"),
        "service_key": KEY,
        "http_port": 0,
        "console_url": CONSOLE_URL,
        "orchestrator_url": str(api.base_url),
    }
    async with running(ConsoleApp(Settings.model_validate(settings))) as app:
        ports = {"console": app.port, "orchestrator": api.base_url.port}
        yield LocalStack(
            LocalFolder(tmp_path),
            Console(quiet=True),
            ServiceAddresses(ports),
            KEY,
            environments={"console": {"CONSOLE_URL": CONSOLE_URL}},
        )


async def keys_of_owners(api: httpx.AsyncClient) -> list[bool]:
    """Whether each of them opens something, the oldest first."""
    keys = (await api.get("/v1/keys")).raise_for_status().json()["items"]
    owners = [key for key in keys if key["name"] == "owner"]
    return [key["revoked_at"] is None for key in sorted(owners, key=lambda key: key["created_at"])]


@pytest.mark.extended
async def test_nobody_owns_the_console_so_each_run_prints_a_new_link(
    stack: LocalStack, api: httpx.AsyncClient
) -> None:
    first = await asyncio.to_thread(console_address, stack)
    second = await asyncio.to_thread(console_address, stack)
    assert first != second
    assert first.startswith(f"{CONSOLE_URL}/start/")
    assert second.startswith(f"{CONSOLE_URL}/start/")
    assert await keys_of_owners(api) == [False, True], "the key of the link that nobody opened is revoked"


async def test_the_link_makes_the_owner_and_then_the_address_is_printed(
    stack: LocalStack, api: httpx.AsyncClient
) -> None:
    link = await asyncio.to_thread(console_address, stack)
    async with httpx.AsyncClient(trust_env=False, timeout=60) as browser:
        accepted = await browser.post(
            link.replace("http://console.example", stack.addresses.url("console")),
            data={"name": "Ada", "password": "correct horse battery staple"},
            headers={"Origin": "http://console.example"},
        )
    assert accepted.status_code == 303, accepted.text
    assert await asyncio.to_thread(console_address, stack) == f"{CONSOLE_URL}/"
    assert await keys_of_owners(api) == [True]
