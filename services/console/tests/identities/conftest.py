"""An identity provider, and the gateway that asks it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet

from brandctl.local.ports import free_port
from chassis.testing import running, serving
from gateway.app import GatewayApp
from gateway.settings import Settings as GatewaySettings
from tests.fixtures.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProvider

KEY = "test-service-key-0123456789"


@pytest.fixture
async def provider() -> AsyncIterator[IdentityProvider]:
    made = IdentityProvider()
    async with serving(made.app()) as url:
        made.url = url
        yield made


@pytest.fixture
def oidc(provider: IdentityProvider) -> dict[str, str]:
    """Settings of the gateway; a test of another provider has its own."""
    return {
        "oidc_issuer": provider.url,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
    }


@pytest.fixture
def console_port() -> int:
    return free_port()


@pytest.fixture
async def service_urls(
    make_database: Callable[[str], Awaitable[str]],
    orchestrator_url: str,
    provider: IdentityProvider,
    oidc: dict[str, str],
    console_port: int,
) -> AsyncIterator[dict[str, Any]]:
    console_url = f"http://127.0.0.1:{console_port}"
    provider.redirect_uris = {f"{console_url}/sign-in/callback"}
    settings = {
        "database_url": await make_database("gateway"),
        "service_key": KEY,
        "http_port": 0,
        "orchestrator_url": orchestrator_url,
        "gateway_keys": Fernet.generate_key().decode(),
        **oidc,
    }
    async with running(GatewayApp(GatewaySettings.model_validate(settings))) as gateway:
        yield {
            "orchestrator_url": orchestrator_url,
            "gateway_url": f"http://127.0.0.1:{gateway.port}",
            "console_url": console_url,
            "http_port": console_port,
            "oidc_name": "Acme ID",
        }


@pytest.fixture
def browser(console: Any) -> Callable[[], AbstractAsyncContextManager[httpx.AsyncClient]]:
    """A browser without a screen."""

    @asynccontextmanager
    async def open_one() -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient(
            base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
        ) as client:
            yield client

    return open_one
