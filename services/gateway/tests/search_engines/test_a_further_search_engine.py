"""The recipe in CONTRIBUTING.md: two files, those in `orchard/`, add a search engine to the gateway and to the command."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import gateway
import integrations
from chassis.testing import eventually, serving
from gateway.providers.model_providers import MODEL_CLIENTS
from gateway.providers.search_engines import SEARCH_ENGINE_CLIENTS
from integrations.model_providers import MODEL_PROVIDERS
from integrations.search_engines import SEARCH_ENGINES
from tests.fixtures.providers import FakeProvider

KEY = "test-service-key-0123456789"
ORCHARD_KEY = "orchard-key-0123456789abcdef"
FILES = Path(__file__).with_name("orchard")


class FakeOrchard(FakeProvider):
    """The third file of the recipe: the engine's own server, with its errors."""

    def __init__(self) -> None:
        super().__init__("/find", "POST")

    def usual(self, request: Request) -> Response:
        if request.headers.get("Authorization") != f"Bearer {ORCHARD_KEY}":
            return JSONResponse({"fault": "key"}, 400)
        asked = self.bodies[-1]
        pages = [
            {"address": f"https://example.org/{number}", "name": asked["question"], "about": "<b>Ripe</b>"}
            for number in range(asked["most"])
        ]
        return JSONResponse({"pages": pages})


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """The packages with the two files added, as they are in a branch with this engine."""
    for package in (gateway, integrations):
        folder = Path(package.__path__[0])
        shutil.copytree(folder, tmp_path / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(FILES, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@asynccontextmanager
async def running_gateway(sources: Path, url: str, port: int) -> AsyncIterator[httpx.AsyncClient]:
    settings = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(sources),
        "DATABASE_URL": url,
        "SERVICE_KEY": KEY,
        "HTTP_PORT": str(port),
        "GATEWAY_KEYS": Fernet.generate_key().decode(),
        "LOG_LEVEL": "warning",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "gateway", env=settings)
    try:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", headers={"X-Service-Key": KEY}, trust_env=False, timeout=60
        ) as api:

            async def is_ready() -> bool:
                assert process.returncode is None
                try:
                    return (await api.get("/health/ready")).is_success
                except httpx.TransportError:
                    return False

            await eventually(is_ready)
            yield api
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def brandctl(sources: Path, *arguments: str, typed: str = "", **settings: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "brandctl", "providers", *arguments,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(sources), "SERVICE_KEY": KEY, **settings},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    told, _ = await process.communicate(typed.encode())
    return process.returncode or 0, told.decode()


@pytest.mark.extended
async def test_two_files_add_a_search_engine(
    sources: Path, make_database: Callable[[str], Awaitable[str]], free_port: Callable[[], int]
) -> None:
    database, orchard = await make_database("gateway"), FakeOrchard()
    async with (
        serving(orchard) as address,
        running_gateway(sources, database, free_port()) as api,
    ):
        code, told = await brandctl(
            sources, "connect", "orchard", "--url", address, "--per-minute", "60000", "--together", "100",
            typed=ORCHARD_KEY, GATEWAY_URL=str(api.base_url),
        )  # fmt: skip
        assert (code, told) == (0, "orchard is connected\n")

        async def search(text: str) -> tuple[int, dict[str, Any]]:
            answer = await api.post("/v1/search", json={"query": text, "brand": "acme", "count": 2})
            return answer.status_code, answer.json()

        status, found = await search("cold brew")
        assert (status, found["provider"], found["spent"]) == (200, "orchard", 2000)
        assert [(page["url"], page["title"], page["description"]) for page in found["results"]] == [
            ("https://example.org/0", "cold brew", "Ripe"),
            ("https://example.org/1", "cold brew", "Ripe"),
        ]
        orchard.next_answers = [
            JSONResponse({"fault": "key"}, 400),
            JSONResponse({"seconds": 1}, 500),
            JSONResponse({"pages": 1}),
            JSONResponse({"fault": "hurry", "seconds": 1800}, 400),
        ]
        problems = [(await search(f"another {number}"))[1]["type"] for number in range(5)]
        assert problems == [
            "provider.key_refused",
            "provider.away",
            "provider.unusable_answer",
            "provider.limited",
            "provider.limited",
        ]
        document = (await api.get("/openapi.json")).json()["components"]["schemas"]
        assert document["ConnectProvider"]["properties"]["kind"]["enum"] == [
            "brave",
            "orchard",
            "searxng",
            "model",
        ]
        said = document["SearchRequest"]["properties"]["provider"]["description"]
        assert said.endswith("left out: Brave Search, else Orchard, else SearXNG.")
    code, told = await brandctl(sources, "connect", "nothing")
    assert (code, "'brave', 'orchard', 'searxng', 'model'" in told) == (2, True), told


def test_every_provider_has_a_client_and_a_row_for_operators() -> None:
    assert set(SEARCH_ENGINE_CLIENTS) == set(SEARCH_ENGINES)
    assert set(MODEL_CLIENTS) == set(MODEL_PROVIDERS)
    rows = (Path(__file__).parents[4] / "docs" / "gateway.md").read_text().splitlines()
    for name, provider in {**SEARCH_ENGINES, **MODEL_PROVIDERS}.items():
        (row,) = [row for row in rows if row.startswith(f"| `{name}` |")]
        assert provider.asks in row
    for name, engine in SEARCH_ENGINES.items():
        (row,) = [row for row in rows if row.startswith(f"| `{name}` |")]
        assert f"`price` of a search ({engine.price})" in row or f"`price` ({engine.price})" in row
