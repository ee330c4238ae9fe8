"""Fixtures of the gateway's tests: an internet of their own, and the running service."""

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
from cryptography.fernet import Fernet

from chassis.testing import running
from gateway.app import GatewayApp
from gateway.egress import EgressClient
from gateway.egress.addresses import networks
from gateway.settings import Settings
from tests.fixtures.sites import PUBLIC, Names, Site, answer, site

KEY = "test-service-key-0123456789"


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
async def public() -> AsyncIterator[Site]:
    """A site of the internet."""
    async with site() as made:
        yield made


@pytest.fixture
async def private() -> AsyncIterator[Site]:
    """A server inside that no caller may reach through us; a test asserts that it got no request."""
    async with site("127.0.0.1") as made:
        made.pages["/"] = answer(b"secret")
        yield made


@pytest.fixture
async def egress(names: Names) -> AsyncIterator[EgressClient]:
    async with EgressClient(
        "BrandEngine", exceptions=networks(f"{PUBLIC}/32"), resolve=names.resolve
    ) as made:
        yield made


@pytest.fixture
async def gateway(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[GatewayApp]:
    """The service, with nothing connected yet."""
    settings = {
        "database_url": await make_database("gateway"),
        "service_key": KEY,
        "http_port": 0,
        "gateway_keys": Fernet.generate_key().decode(),
    }
    async with running(GatewayApp(Settings.model_validate(settings))) as app:
        yield app


@pytest.fixture
async def api(gateway: GatewayApp) -> AsyncIterator[httpx.AsyncClient]:
    """A client of it with the service key."""
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{gateway.port}",
        headers={"X-Service-Key": KEY},
        trust_env=False,
        timeout=60,
    ) as client:
        yield client
