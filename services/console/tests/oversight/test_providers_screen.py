"""Providers beside a real gateway: connected with a key that no page shows again, tried, removed; refused without the right."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest
from cryptography.fernet import Fernet
from playwright.async_api import Page

from chassis.testing import running, serving
from gateway.app import GatewayApp
from gateway.settings import Settings as GatewaySettings
from tests.fixtures.providers import FakeModel

KEY = "sk-model-key-0123456789abcdef"
PAGE = "/providers"


@pytest.fixture
async def gateway(make_database: Any, orchestrator_url: str) -> AsyncIterator[GatewayApp]:
    """One that can seal keys, and is configured to let addresses of this machine in."""
    settings = {
        "database_url": await make_database("gateway"),
        "service_key": "test-service-key-0123456789",
        "http_port": 0,
        "orchestrator_url": orchestrator_url,
        "gateway_keys": Fernet.generate_key().decode(),
        "egress_reachable_networks": "127.0.0.1/32",
    }
    async with running(GatewayApp(GatewaySettings.model_validate(settings))) as app:
        yield app


@pytest.fixture
async def model() -> AsyncIterator[tuple[FakeModel, str]]:
    fake = FakeModel({KEY})
    async with serving(fake) as url:
        yield fake, f"{url}/v1"


@pytest.fixture
async def acme(console: Any) -> None:
    await console.orchestrator.set_brand("acme", name="Acme & <b>sons</b>")


async def forget_the_password(console: Any) -> None:
    connection = await asyncpg.connect(console.database_url)
    try:
        await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
    finally:
        await connection.close()


@pytest.mark.extended
@pytest.mark.parametrize("width", [1280, 360])
async def test_a_model_is_connected_tried_and_removed_in_a_browser(
    console: Any, acme: None, model: tuple[FakeModel, str], signed_in: Page, page_checks: Any, width: int
) -> None:
    page, (fake, address) = signed_in, model
    await page.set_viewport_size({"width": width, "height": 800})
    await page.goto(console.url + PAGE)
    assert "Nothing is connected" in await page.inner_text("main")
    assert await page_checks.accessibility(page) == []
    await page.get_by_role("link", name="Model", exact=True).click()
    await page.fill("[name=url]", address)
    await page.fill("[name=model]", "small-1")
    await page.fill("[name=read_price]", "a lot")
    await page.fill("[name=provider_password]", "sk-wrong")
    await page.get_by_role("button", name="Connect Model").click()
    assert "read_price" in await page.inner_text("[role=alert]")
    assert await page.input_value("[name=model]") == "small-1"
    assert await page.input_value("[name=provider_password]") == ""
    await page.fill("[name=read_price]", "0.15")
    await page.fill("[name=written_price]", "0.6")
    await page.fill("[name=provider_password]", "sk-wrong-0123456789")
    await page.get_by_role("button", name="Connect Model").click()
    assert "The provider is connected." in await page.inner_text(".notice-good")
    assert "sk-wrong" not in await page.content()

    await page.get_by_role("button", name="Try model").click()
    assert "model does not work" in await page.inner_text("[role=alert]")
    await page.goto(f"{console.url}{PAGE}?kind=model")
    await page.fill("[name=url]", address)
    await page.fill("[name=model]", "small-1")
    await page.fill("[name=read_price]", "0.15")
    await page.fill("[name=provider_password]", KEY)
    await page.get_by_role("button", name="Connect Model").click()
    await page.get_by_role("button", name="Try model").click()
    assert "model works. It answered" in await page.inner_text(".notice-good")
    assert await page_checks.accessibility(page) == []
    wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0
    assert len(fake.bodies) == 2
    await page.get_by_role("button", name="Remove model").click()
    assert "Nothing is connected" in await page.inner_text("main")


@pytest.mark.extended
async def test_a_double_click_tries_once_and_the_password_is_asked_again(
    console: Any, acme: None, model: tuple[FakeModel, str], person: httpx.AsyncClient
) -> None:
    fake, address = model
    form = {"kind": "model", "name": "drafts", "url": address, "model": "small-1", "provider_password": KEY}
    made = await person.post(f"{PAGE}/connect", data={"once": "c1", **form})
    assert made.headers["location"] == f"{PAGE}?done=connected"
    for _ in range(2):
        tried = await person.post(f"{PAGE}/drafts/check", data={"once": "t1", "brand": "acme"})
        assert "drafts works." in tried.text
    assert len(fake.bodies) == 1
    await forget_the_password(console)
    asked = await person.post(f"{PAGE}/drafts/remove", data={"once": "r1"})
    assert asked.status_code == 403
    assert "drafts" in (await person.get(PAGE)).text


async def test_an_owner_connects_no_private_address_that_the_configuration_does_not_name(
    console: Any, acme: None, gateway: GatewayApp, person: httpx.AsyncClient
) -> None:
    url = "http://10.0.0.5:11434/v1"
    form = {"kind": "model", "name": "inside", "url": url, "model": "small-1", "provider_password": KEY}
    refused = await person.post(f"{PAGE}/connect", data={"once": "c1", **form})
    assert refused.status_code == 422
    assert "EGRESS_REACHABLE_NETWORKS" in refused.text
    assert f'value="{url}"' in refused.text
    assert KEY not in refused.text
    # The operator, with the service key, may; then an owner may change the rest, but not the address.
    operators = {"X-Service-Key": "test-service-key-0123456789"}
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{gateway.port}", headers=operators, timeout=60, trust_env=False
    ) as operator:
        body = {"kind": "model", "settings": {"url": url, "model": "small-1"}, "key": KEY}
        assert (await operator.put("/v1/providers/inside", json=body)).status_code == 204
    changed = await person.post(f"{PAGE}/connect", data={"once": "c2", **form, "model": "small-2"})
    assert changed.headers["location"] == f"{PAGE}?done=connected"
    elsewhere = {**form, "url": "http://10.0.0.6:11434/v1"}
    assert (await person.post(f"{PAGE}/connect", data={"once": "c3", **elsewhere})).status_code == 422


@pytest.mark.extended
@pytest.mark.parametrize(("role", "sees"), [("operator", 200), ("editor", 403)])
async def test_who_may_not_sees_no_buttons_and_is_refused(
    console: Any, acme: None, role: str, sees: int
) -> None:
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as eve:
        link = await console.invite("Eve", role)
        await eve.post(link, data={"name": "Eve", "password": "correct horse battery staple"})
        shown = await eve.get(PAGE)
        assert shown.status_code == sees
        assert "<form" not in shown.text.partition("<main")[2].partition("</main>")[0]
        for path in ("connect", "drafts/check", "drafts/remove"):
            refused = await eve.post(f"{PAGE}/{path}", data={"once": path, "kind": "model"})
            assert refused.status_code == 403
