"""Assistants at the console's address, by the official client of the Model Context Protocol; and requests that get no further."""

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.async_api import Page

from chassis.api_keys import ApiKey
from chassis.testing import running
from console.app import ConsoleApp
from console.assistants.endpoint import MAX_BODY_BYTES
from console.assistants.routes import TOOLS
from console.settings import Settings

KEY = "test-service-key-0123456789"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPTS = {"Accept": "application/json, text/event-stream"}


async def make_key(console: Any, name: str, *scopes: str, brands: list[str] | None = None) -> str:
    key: str = (await console.orchestrator.create_key(name=name, scopes=scopes, brands=brands))["key"]
    return key


@asynccontextmanager
async def connected(url: str, key: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return answer.structured_content


async def test_an_assistant_works_with_its_own_key(console: Any) -> None:
    await console.orchestrator.set_brand("acme", name="Acme")
    await console.orchestrator.set_brand("rival", name="Rival")
    key = await make_key(console, "assistant", "read", "submit", brands=["acme"])
    async with connected(console.url, key) as client:
        listed = {each.name for each in (await client.list_tools()).tools}
        assert listed == {name for _, names in TOOLS for name in names}
        assert (await told(client, "list_brands"))["brands"] == [{"slug": "acme", "name": "Acme"}]
        wanted = {"brand": "acme", "keywords": ["cold brew"], "request_id": "request-1"}
        for _ in range(2):
            await told(client, "submit_keywords", **wanted)
        refused = await client.call_tool(
            "submit_keywords", {**wanted, "brand": "rival", "request_id": "request-2"}
        )
        assert refused.is_error
    (cycle,) = (await console.orchestrator.list_cycles(brand="acme"))["items"]
    assert cycle["total"] == 1
    logged = (await console.orchestrator.list_audit_log(brand="acme"))["items"]
    assert "assistant" in {each["caller"] for each in logged}
    # From the next call of a tool on.
    (about,) = [
        each for each in (await console.orchestrator.list_keys())["items"] if each["name"] == "assistant"
    ]
    async with connected(console.url, key) as client:
        await console.orchestrator.revoke_key(about["key_id"])
        assert (await client.call_tool("list_brands", {})).is_error


@pytest.fixture
async def assistant(console: Any) -> AsyncIterator[httpx.AsyncClient]:
    headers = {**ACCEPTS, "Authorization": f"Bearer {await make_key(console, 'robot', 'read')}"}
    async with httpx.AsyncClient(
        base_url=console.url, headers=headers, timeout=60, trust_env=False
    ) as client:
        yield client


async def test_others_get_no_further(console: Any, assistant: httpx.AsyncClient) -> None:
    assert (await assistant.post("/mcp", json=PING)).json()["result"] == {}
    for key in ("", "Bearer", f"Bearer {KEY}", "Basic x", f"Bearer {ApiKey.make().written()}", "Bearer be_x"):
        answer = await assistant.post("/mcp", json=PING, headers={"Authorization": key})
        assert (answer.status_code, answer.headers["www-authenticate"][:6]) == (401, "Bearer"), key
    for origin in ("https://evil.example", "null", console.url.replace("127.0.0.1", "localhost")):
        answer = await assistant.post("/mcp", json=PING, headers={"Origin": origin})
        assert answer.status_code == 403, origin
    for method in ("GET", "PUT", "DELETE"):
        answer = await assistant.request(method, "/mcp")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    large = {**PING, "params": {"x": "0" * MAX_BODY_BYTES}}
    assert (await assistant.post("/mcp", json=large)).status_code == 413

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 10_000 + 1):
            yield b"0" * 10_000

    assert (await assistant.post("/mcp", content=pieces())).status_code == 413
    assert (
        await assistant.post("/mcp", content=b"{", headers={"Content-Type": "application/json"})
    ).status_code == 400
    # A session of the console opens nothing here, and such a key no page.
    assert (await assistant.get("/", follow_redirects=False)).status_code == 303
    assert (await assistant.get("/mcp/x")).status_code == 404


async def test_an_operator_turns_them_off(
    make_database: Callable[[str], Awaitable[str]], service_urls: dict[str, str]
) -> None:
    settings = {
        "database_url": await make_database("console"),
        "service_key": KEY,
        "http_port": 0,
        "assistants": False,
        **service_urls,
    }
    async with (
        running(ConsoleApp(Settings.model_validate(settings))) as app,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        headers = {**ACCEPTS, "Authorization": f"Bearer {ApiKey.make().written()}"}
        answer = await client.post(f"http://127.0.0.1:{app.port}/mcp", json=PING, headers=headers)
        assert (answer.status_code, "ASSISTANTS" in answer.text) == (404, True)


async def test_an_orchestrator_that_is_away_is_no_wrong_key(
    make_database: Callable[[str], Awaitable[str]], free_port: Callable[[], int]
) -> None:
    settings = {
        "database_url": await make_database("console"),
        "service_key": KEY,
        "http_port": 0,
        "orchestrator_url": f"http://127.0.0.1:{free_port()}",
    }
    async with (
        running(ConsoleApp(Settings.model_validate(settings))) as app,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        headers = {**ACCEPTS, "Authorization": f"Bearer {ApiKey.make().written()}"}
        answer = await client.post(f"http://127.0.0.1:{app.port}/mcp", json=PING, headers=headers)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")


def test_the_package_of_the_protocol_is_not_loaded_before_an_assistant_comes() -> None:
    code = "import sys, console.app; print(sorted({'mcp', 'mcp_types', 'assistants'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.extended
async def test_the_page_says_how_to_connect_one(
    console: Any, signed_in: Page, page_checks: Any, join: Callable[..., Any]
) -> None:
    page = signed_in
    await page.get_by_text("Operations", exact=True).click()
    await page.get_by_role("link", name="Assistants").click()
    await page.wait_for_url("**/assistants")
    text = await page.inner_text("main")
    assert '"url": "http://127.0.0.1:8016/mcp"' in text
    assert "reached without encryption" in text
    for width in (360, 1280):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        assert await page_checks.accessibility(page) == []
    editor = await join("Eve", "editor")
    answer = await editor.goto(f"{console.url}/assistants")
    assert answer.status == 403
