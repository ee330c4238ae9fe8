"""The memory of the console's process while it takes and imports a large archive."""

import io
import os
import sys
from asyncio.subprocess import create_subprocess_exec
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from zipfile import ZIP_DEFLATED, ZipFile

import httpx
import pytest

from chassis.testing import eventually
from client import Address
from client.services.orchestrator import AsyncOrchestrator
from console.people.domain import SCOPES, Role
from tests.fixtures.memory import memory_of

from .test_brand_import import KEY, PASSWORD, archive, ended, former, press, service_urls, upload

__all__ = ["archive", "former", "service_urls"]
FILES = 20_000
LARGE = 60_000_000
MOST_GROWTH = 24_000_000
"""Bytes: a piece, the clients of the thread, and what comes with any page; 8 MB were seen."""


@pytest.fixture
async def process(
    make_database: Callable[[str], Awaitable[str]],
    free_port: Callable[[], int],
    as_in_an_image: dict[str, str],
    service_urls: dict[str, str],
) -> AsyncIterator[tuple[int, str]]:
    port = free_port()
    environment = os.environ | {
        "DATABASE_URL": await make_database("console"),
        "SERVICE_KEY": KEY,
        "HTTP_PORT": str(port),
        "LOG_LEVEL": "error",
        "SERVICE_SECONDS": "60",
        **{name.upper(): url for name, url in service_urls.items()},
        **as_in_an_image,
    }
    url = f"http://127.0.0.1:{port}"
    started = await create_subprocess_exec(sys.executable, "-m", "console", env=environment)
    try:
        async with httpx.AsyncClient(trust_env=False) as client:

            async def is_ready() -> bool:
                try:
                    return (await client.get(f"{url}/health/ready")).status_code == 200
                except httpx.TransportError:
                    return False

            await eventually(is_ready)
        yield started.pid, url
    finally:
        started.kill()
        await started.wait()


@asynccontextmanager
async def owner_of(url: str, orchestrator_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A browser without a screen, in which an owner is signed in."""
    scopes = sorted(SCOPES[Role.OWNER])
    async with (
        AsyncOrchestrator(Address(orchestrator_url, KEY)) as orchestrator,
        httpx.AsyncClient(trust_env=False, headers={"X-Service-Key": KEY}, timeout=60) as api,
    ):
        key = (await orchestrator.create_key(name="ada", scopes=scopes, per_minute=6000))["key"]
        body = {"name": "Ada", "role": "owner", "brands": None, "key": key}
        invited = await api.post(f"{url}/v1/people/invitations", json=body)
    link = invited.json()["url"].replace("http://127.0.0.1:8016", url)
    async with httpx.AsyncClient(
        base_url=url, headers={"Origin": url}, timeout=120, trust_env=False
    ) as client:
        answer = await client.post(link, data={"name": "Ada", "password": PASSWORD})
        assert answer.status_code == 303, answer.text
        yield client


@pytest.mark.extended
async def test_a_large_archive_makes_no_large_process(
    process: tuple[int, str], archive: bytes, service_urls: dict[str, str]
) -> None:
    pid, url = process
    file = io.BytesIO(archive)
    with ZipFile(file, "a", ZIP_DEFLATED) as opened:
        for number in range(FILES):
            opened.writestr(f"articles/an-article-of-some-length-{number:06}/version-001.json", b"{}")
        opened.writestr("articles/large.bin", os.urandom(LARGE))
    content = file.getvalue()
    assert len(content) > LARGE
    async with owner_of(url, service_urls["orchestrator_url"]) as person:
        assert (await person.get("/import")).status_code == 200
        before = memory_of(pid)
        address = await upload(person, content)
        taken = memory_of(pid) - before
        await press(person, address, "b1")
        await ended(person, address, "Imported")
        grown = memory_of(pid) - before
    assert max(taken, grown) < MOST_GROWTH, (taken, grown)
