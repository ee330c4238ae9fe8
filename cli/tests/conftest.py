"""What tests of commands share: an orchestrator to ask, without a broker, which knows the brand `acme`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from chassis import ServiceKey
from chassis.database.pool import Connections
from chassis.testing import running, serving
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from orchestrator.api import http_api
from orchestrator.app import build
from orchestrator.settings import Settings
from tests.fixtures.commands.brandctl import Operator

KEY = "test-service-key-0123456789"


@pytest.fixture
async def orchestrator_database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    connections = Connections(await make_database("orchestrator"), name="orchestrator test", size=4)
    await connections.open()
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="none"))
    yield Database(connections, relay, "orchestrator", CATALOGUE)
    await connections.close()


@pytest.fixture
async def api(orchestrator_database: Database) -> AsyncIterator[httpx.AsyncClient]:
    """Asks the orchestrator."""
    async with (
        serving(http_api(orchestrator_database, ServiceKey(SecretStr(KEY)))) as url,
        httpx.AsyncClient(base_url=url, headers={"X-Service-Key": KEY}, trust_env=False) as client,
    ):
        (await client.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
        yield client


@pytest.fixture
def brandctl(api: httpx.AsyncClient, tmp_path: Path) -> Operator:
    """Runs any command with that orchestrator."""
    return Operator(tmp_path, {"ORCHESTRATOR_URL": str(api.base_url), "SERVICE_KEY": KEY})


@pytest.fixture
async def lone_orchestrator(
    make_database: Callable[[str], Awaitable[str]], broker_urls: dict[str, str], tmp_path: Path
) -> AsyncIterator[Operator]:
    """Runs any command with a whole orchestrator, its broker included; the other services are away."""
    settings: dict[str, Any] = {
        "database_url": await make_database("orchestrator"),
        "rabbitmq_url": broker_urls["orchestrator"],
        "service_key": KEY,
        "http_port": 0,
    }
    async with running(build(Settings.model_validate(settings))) as service:
        away = {
            f"{name}_URL": "http://127.0.0.1:9"
            for name in ("RESEARCH", "PUBLISHER", "SOCIAL", "MONITOR", "EVENTS")
        }
        url = f"http://127.0.0.1:{service.port}"
        yield Operator(tmp_path, {"ORCHESTRATOR_URL": url, "SERVICE_KEY": KEY, **away})
