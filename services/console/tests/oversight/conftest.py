"""The services that money, sources and audits are asked of."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from chassis.testing import running
from gateway.app import GatewayApp
from gateway.settings import Settings as GatewaySettings
from orchestrator.app import build as build_orchestrator
from orchestrator.settings import Settings as OrchestratorSettings
from research.app import build as build_research
from research.settings import Settings as ResearchSettings

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"


@pytest.fixture
async def orchestrator_database_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("orchestrator")


@pytest.fixture
async def orchestrator_url(orchestrator_database_url: str, broker_urls: dict[str, str]) -> AsyncIterator[str]:
    settings = {
        "database_url": orchestrator_database_url,
        "rabbitmq_url": broker_urls["orchestrator"],
        "service_key": KEY,
        "http_port": 0,
    }
    async with running(build_orchestrator(OrchestratorSettings.model_validate(settings))) as app:
        yield f"http://127.0.0.1:{app.port}"


@pytest.fixture
async def gateway(
    make_database: Callable[[str], Awaitable[str]], orchestrator_url: str
) -> AsyncIterator[GatewayApp]:
    settings = {
        "database_url": await make_database("gateway"),
        "service_key": KEY,
        "http_port": 0,
        "orchestrator_url": orchestrator_url,
    }
    async with running(GatewayApp(GatewaySettings.model_validate(settings))) as app:
        yield app


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """The folder of documents that research searches for every brand."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    return folder


@pytest.fixture
async def service_urls(
    make_database: Callable[[str], Awaitable[str]],
    broker_urls: dict[str, str],
    orchestrator_url: str,
    gateway: GatewayApp,
    corpus: Path,
) -> AsyncIterator[dict[str, str]]:
    gateway_url = f"http://127.0.0.1:{gateway.port}"
    settings = {
        "database_url": await make_database("research"),
        "rabbitmq_url": broker_urls["research"],
        "service_key": KEY,
        "http_port": 0,
        "orchestrator_url": orchestrator_url,
        "gateway_url": gateway_url,
        "corpus": corpus,
    }
    async with running(build_research(ResearchSettings.model_validate(settings))) as research:
        yield {
            "orchestrator_url": orchestrator_url,
            "gateway_url": gateway_url,
            "research_url": f"http://127.0.0.1:{research.port}",
        }


@pytest.fixture
async def acme(console: Any) -> None:
    """The brand `acme`."""
    await console.orchestrator.set_brand("acme", name="Acme")


@pytest.fixture
def another(console: Any) -> Callable[..., Any]:
    """Makes a browser without a screen in which Eve is signed in with a role."""

    @asynccontextmanager
    async def sign_in(role: str, brands: list[str] | None = None) -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient(
            base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
        ) as made:
            link = await console.invite("Eve", role, brands)
            answer = await made.post(link, data={"name": "Eve", "password": PASSWORD})
            assert answer.status_code == 303
            yield made

    return sign_in
