"""The site's settings beside a real publisher, and the pages in a real browser."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import Page

from client import Address
from client.services.publisher import AsyncPublisher

KEY = "test-service-key-0123456789"
PASSWORD = "correct horse battery staple"
SITE = "/b/acme/site"
FIELDS = {"accent": "#1f6154", "typefaces": "sans", "was-typefaces": "serif", "tags": "espresso\ntea"}


@pytest.fixture
async def publisher(service_urls: dict[str, str]) -> AsyncIterator[AsyncPublisher]:
    async with AsyncPublisher(Address(service_urls["publisher_url"], KEY)) as client:
        yield client


async def test_settings_are_saved_once_and_what_others_changed_stays(
    acme: None, person: httpx.AsyncClient, publisher: AsyncPublisher
) -> None:
    assert "The site has no logo." in (await person.get(SITE)).text
    await publisher.update_site_settings("acme", author={"name": "Ada"})
    saved, again = [await person.post(SITE, data={"once": "s1", **FIELDS}) for _ in range(2)]
    assert saved.headers["location"] == again.headers["location"] == f"{SITE}?done=saved"
    found = await publisher.get_site_settings("acme")
    assert (found["accent"], found["typefaces"], found["tags"]) == ("#1f6154", "sans", ["espresso", "tea"])
    assert found["author"] == {"name": "Ada", "about": ""}
    shown = await person.get(saved.headers["location"])
    assert 'value="#1f6154"' in shown.text


async def test_a_refused_form_keeps_what_was_typed(acme: None, person: httpx.AsyncClient) -> None:
    answer = await person.post(SITE, data={"once": "s1", "address": "http://<b>", "author": "Ada <i>"})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert 'value="http://&lt;b&gt;"' in answer.text
    assert 'value="Ada &lt;i&gt;"' in answer.text


async def test_defaults_are_restored_only_after_the_password(
    console: Any, acme: None, person: httpx.AsyncClient, publisher: AsyncPublisher
) -> None:
    await publisher.update_site_settings("acme", accent="#1f6154")
    connection = await asyncpg.connect(console.database_url)
    try:
        await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
    finally:
        await connection.close()
    for path in ("reset", "logo/remove"):
        asked = await person.post(f"{SITE}/{path}", data={"once": path})
        assert asked.status_code == 403
    assert (await publisher.get_site_settings("acme"))["accent"] == "#1f6154"
    await person.post(f"{SITE}/reset", data={"once": "r1", "password_again": PASSWORD})
    assert (await publisher.get_site_settings("acme"))["accent"] is None


async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    console: Any, acme: None, publisher: AsyncPublisher
) -> None:
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as eve:
        link = await console.invite("Eve", "viewer")
        await eve.post(link, data={"name": "Eve", "password": PASSWORD})
        shown = (await eve.get(SITE)).text
        assert "<fieldset disabled" in shown
        assert "Save the settings" not in shown
        assert "Restore all defaults" not in shown
        for path in (SITE, f"{SITE}/reset", f"{SITE}/logo/remove"):
            assert (await eve.post(path, data={"once": "x", **FIELDS})).status_code == 403, path
    assert (await publisher.get_site_settings("acme"))["accent"] is None


@pytest.mark.extended
@pytest.mark.parametrize("width", [1280, 360])
async def test_a_person_saves_in_a_browser_and_axe_finds_nothing(
    console: Any,
    acme: None,
    signed_in: Page,
    publisher: AsyncPublisher,
    page_checks: Any,
    width: int,
) -> None:
    page = signed_in
    await page.set_viewport_size({"width": width, "height": 900})
    await page.goto(console.url + SITE)
    await page.fill("[name=accent]", "#1f6154")
    await page.fill("[name=author]", "<script>window.hit = 1</script>")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Save the settings of the site").click()
    await page.goto(f"{console.url}/b/acme/accounts")
    await page.fill("[name=name]", "company-blog")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Set up this target").click()
    await page.select_option("[name=kind]", "ghost")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Save the settings of company-blog").click()
    assert "The settings are saved." in await page.inner_text("main")
    assert (await publisher.get_target("acme", "company-blog"))["settings"]["kind"] == "ghost"
    for path in (SITE, "/b/acme/accounts", "/b/acme/accounts/targets/company-blog"):
        await page.goto(console.url + path)
        await page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
        assert await page.evaluate("window.hit") is None
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert await page_checks.accessibility(page) == [], path
