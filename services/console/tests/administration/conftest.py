"""The services that the administration of an installation asks. Publisher, research and social are away."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import asyncpg
import httpx
import pytest
from cryptography.fernet import Fernet
from playwright.async_api import Page

from chassis.testing import running
from gateway.app import GatewayApp
from gateway.settings import Settings as GatewaySettings
from monitor.app import build as build_monitor
from monitor.settings import Settings as MonitorSettings
from orchestrator.app import build as build_orchestrator
from orchestrator.settings import Settings as OrchestratorSettings

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"
NOWHERE = "http://127.0.0.1:9"
HOSTILE = '<script>window.hit = 1</script>"><img src=x onerror="window.hit = 1">'
WIDTHS = (1280, 360)


@pytest.fixture
async def monitor_database_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("monitor")


@pytest.fixture
async def gateway_database_url(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("gateway")


@pytest.fixture
def monitor_settings() -> dict[str, str]:
    """Further settings of the monitor; a test's own fixture of the name has some."""
    return {}


@pytest.fixture
async def service_urls(
    make_database: Callable[[str], Awaitable[str]],
    broker_urls: dict[str, str],
    monitor_database_url: str,
    gateway_database_url: str,
    monitor_settings: dict[str, str],
) -> AsyncIterator[dict[str, str]]:
    async def settings(name: str, **more: Any) -> dict[str, Any]:
        return {"database_url": await make_database(name), "service_key": KEY, "http_port": 0, **more}

    async with running(
        build_orchestrator(
            OrchestratorSettings.model_validate(
                await settings("orchestrator", rabbitmq_url=broker_urls["orchestrator"])
            )
        )
    ) as orchestrator:
        url = f"http://127.0.0.1:{orchestrator.port}"
        of_gateway = await settings(
            "gateway",
            orchestrator_url=url,
            gateway_keys=Fernet.generate_key().decode(),
            egress_reachable_networks="127.0.0.1/32",
        ) | {"database_url": gateway_database_url}
        async with running(GatewayApp(GatewaySettings.model_validate(of_gateway))) as gateway:
            of_monitor = {
                "database_url": monitor_database_url,
                "service_key": KEY,
                "http_port": 0,
                "rabbitmq_url": broker_urls["monitor"],
                "orchestrator_url": url,
                "gateway_url": f"http://127.0.0.1:{gateway.port}",
                **monitor_settings,
            }
            async with running(build_monitor(MonitorSettings.model_validate(of_monitor))) as monitor:
                yield {
                    "orchestrator_url": url,
                    "gateway_url": f"http://127.0.0.1:{gateway.port}",
                    "monitor_url": f"http://127.0.0.1:{monitor.port}",
                    **{f"{name}_url": NOWHERE for name in ("publisher", "research", "social")},
                }


@pytest.fixture
def signed_in_as(console: Any) -> Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]:
    """The browser of a further person, without a screen."""

    @asynccontextmanager
    async def open_as(
        name: str, role: str, brands: list[str] | None = None
    ) -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient(
            base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
        ) as client:
            link = await console.invite(name, role, brands)
            await client.post(link, data={"name": name, "password": PASSWORD})
            yield client

    return open_as


@pytest.fixture
def forget_passwords(console: Any) -> Callable[[], Awaitable[None]]:
    """As if all people had given the password an hour ago."""

    async def forget() -> None:
        connection = await asyncpg.connect(console.database_url)
        try:
            await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
        finally:
            await connection.close()

    return forget


@pytest.fixture
def look_at(console: Any, page_checks: Any) -> Callable[[Page, str], Awaitable[None]]:
    """Looks at a page at both widths: nothing hostile runs, nothing is too wide, and axe finds nothing."""

    async def look(page: Page, path: str) -> None:
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 900})
            answer = await page.goto(console.url + path)
            assert answer is not None
            assert answer.status == 200, path
            assert await page.evaluate("window.hit") is None, path
            assert await page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
            assert await page_checks.accessibility(page) == [], path

    return look
