"""Fixtures of the tests of accounts: the gateway as it reaches this machine, and a provider that answers."""

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
from cryptography.fernet import Fernet

from chassis.testing import running, serving
from gateway.app import GatewayApp
from gateway.settings import Settings
from tests.fixtures.accounts.other_side import KEY, OtherSide, client


@pytest.fixture
async def other() -> AsyncIterator[OtherSide]:
    made = OtherSide()
    async with serving(made) as url:
        made.url = url
        yield made


@pytest.fixture
def settings(database_url: str) -> Callable[[], Settings]:
    """Of replicas of one gateway."""
    keys = Fernet.generate_key().decode()

    def make() -> Settings:
        given = {
            "database_url": database_url,
            "service_key": KEY,
            "http_port": 0,
            "gateway_keys": keys,
            "egress_reachable_networks": "127.0.0.1/32",
        }
        return Settings.model_validate(given)

    return make


@pytest.fixture
async def database_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("gateway")


@pytest.fixture
async def gateway(settings: Callable[[], Settings]) -> AsyncIterator[GatewayApp]:
    async with running(GatewayApp(settings())) as app:
        yield app


@pytest.fixture
async def api(gateway: GatewayApp) -> AsyncIterator[httpx.AsyncClient]:
    async with client(gateway) as made:
        yield made
