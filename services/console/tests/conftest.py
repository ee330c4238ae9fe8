"""The running console beside a real orchestrator, and a browser in which an owner is signed in."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from playwright.async_api import Page

from chassis.http import introspection
from chassis.testing import running
from client import Address
from client.services.orchestrator import AsyncOrchestrator
from console.app import ConsoleApp
from console.settings import Settings
from orchestrator.app import build as build_orchestrator
from orchestrator.settings import Settings as OrchestratorSettings

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"


@dataclass(frozen=True)
class RunningConsole:
    url: str
    database_url: str
    orchestrator: AsyncOrchestrator
    """With the service key."""
    api: httpx.AsyncClient
    """Of the console, with the service key."""
    pages: FastAPI
    """The application of its screens."""

    async def invite(
        self, name: str, role: str = "owner", brands: list[str] | None = None, **more: Any
    ) -> str:
        """Makes an API key with the service key, as for a first person, and returns the link."""
        scopes = {
            "viewer": ["read"],
            "author": ["read", "submit"],
            "editor": ["read", "submit", "review"],
            "operator": ["read", "operate", "repair", "submit", "review"],
            "owner": ["read", "submit", "review", "operate", "repair", "admin"],
        }[role]
        made = await self.orchestrator.create_key(
            name=name.lower(), scopes=scopes, brands=brands, per_minute=6000
        )  # type: ignore[arg-type]
        body = {"name": name, "role": role, "brands": brands, "key": made["key"], **more}
        answer = await self.api.post("/v1/people/invitations", json=body)
        assert answer.status_code == 201, answer.text
        url: str = answer.json()["url"]
        return url.replace("http://127.0.0.1:8016", self.url)


@pytest.fixture(autouse=True)
def _patient_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is slow to look up a key's owner; no service counts as away for that."""
    monkeypatch.setattr(introspection, "_ASKING_SECONDS", 60.0)


@pytest.fixture
async def orchestrator_database(make_database: Callable[[str], Awaitable[str]]) -> str:
    return await make_database("orchestrator")


@pytest.fixture
async def orchestrator_url(orchestrator_database: str, broker_urls: dict[str, str]) -> AsyncIterator[str]:
    settings = {
        "database_url": orchestrator_database,
        "rabbitmq_url": broker_urls["orchestrator"],
        "service_key": KEY,
        "http_port": 0,
    }
    async with running(build_orchestrator(OrchestratorSettings.model_validate(settings))) as app:
        yield f"http://127.0.0.1:{app.port}"


@pytest.fixture
def service_urls(orchestrator_url: str) -> dict[str, str]:
    """Settings with the addresses of services; a folder's own fixture of the name adds more of them."""
    return {"orchestrator_url": orchestrator_url}


@pytest.fixture
async def console(
    make_database: Callable[[str], Awaitable[str]], service_urls: dict[str, str]
) -> AsyncIterator[RunningConsole]:
    database_url = await make_database("console")
    settings = {
        "database_url": database_url,
        "service_key": KEY,
        "http_port": 0,
        # A busy machine makes no service away.
        "service_seconds": 60,
        **service_urls,
    }
    async with running(ConsoleApp(Settings.model_validate(settings))) as app:
        url = f"http://127.0.0.1:{app.port}"
        async with (
            AsyncOrchestrator(Address(service_urls["orchestrator_url"], KEY)) as orchestrator,
            httpx.AsyncClient(
                base_url=url, headers={"X-Service-Key": KEY}, timeout=60, trust_env=False
            ) as api,
        ):
            yield RunningConsole(url, database_url, orchestrator, api, app.pages)


@pytest.fixture
def join(console: RunningConsole, new_browser_context: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """Signs a person in, in a browser of their own."""

    async def joined(name: str, role: str = "editor", **options: Any) -> Page:
        context = await new_browser_context(**options)
        page: Page = await context.new_page()
        await page.goto(await console.invite(name, role))
        await page.fill("[name=password]", PASSWORD)
        await page.click("main button")
        await page.wait_for_url(f"{console.url}/")
        return page

    return joined


@pytest.fixture
async def signed_in(console: RunningConsole, new_browser_context: Callable[..., Awaitable[Any]]) -> Page:
    """A page on which the owner Ada has come from the link to her brands."""
    context = await new_browser_context()
    page: Page = await context.new_page()
    await page.goto(await console.invite("Ada"))
    await page.fill("[name=password]", PASSWORD)
    await page.click("main button")
    await page.wait_for_url(f"{console.url}/")
    return page


@pytest.fixture
async def person(console: RunningConsole) -> AsyncIterator[httpx.AsyncClient]:
    """The owner Ada's browser without a screen: keeps cookies, and sends what browsers send."""
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as client:
        link = await console.invite("Ada")
        answer = await client.post(link, data={"name": "Ada", "password": PASSWORD})
        assert answer.status_code == 303, answer.text
        yield client
