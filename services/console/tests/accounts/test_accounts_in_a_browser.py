"""An account is connected, refused, connected again and removed in a real browser, on a desktop and on a phone."""

from typing import Any

import pytest
from playwright.async_api import Page
from starlette.responses import JSONResponse

WHO = "GET /api/v1/accounts/verify_credentials"
ACCOUNTS = "/b/acme/accounts"
TOKEN = "token-of-acme-0123456789"


async def press(page: Page, name: str) -> None:
    async with page.expect_navigation():
        await page.get_by_role("button", name=name).click()


async def check(page: Page, page_checks: Any) -> None:
    for width in (360, 1280):
        await page.set_viewport_size({"width": width, "height": 800})
        wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{page.url} is {wide} px too wide at {width}"
        assert await page_checks.accessibility(page) == [], page.url


@pytest.mark.extended
async def test_a_person_connects_tests_and_removes_an_account(
    console: Any, acme: None, signed_in: Page, other: Any, page_checks: Any
) -> None:
    page = signed_in
    await page.goto(f"{console.url}{ACCOUNTS}")
    await check(page, page_checks)
    await page.get_by_role("link", name="Connect Mastodon").first.click()
    await page.wait_for_url("**/connect/mastodon")
    await check(page, page_checks)
    other.answer(WHO, JSONResponse({"error": "The access token is invalid"}, 401))
    await page.get_by_label("Address").fill(other.url)
    await page.get_by_label("Access token").fill(TOKEN)
    await press(page, "Connect Mastodon and test it")
    assert page.url.endswith("/acme-mastodon?done=refused")
    told = await page.inner_text("main")
    assert "The access token is invalid" in told
    assert "What to do:" in told
    await check(page, page_checks)

    other.answer(WHO, {"id": "1", "acct": "acme", "username": "acme", "url": f"{other.url}/@acme"})
    await page.get_by_role("link", name="Connect acme-mastodon again").click()
    await page.wait_for_url("**/connect/mastodon?name=acme-mastodon")
    assert await page.get_by_label("Address").input_value() == other.url
    assert await page.get_by_label("Access token").input_value() == ""
    await page.get_by_label("Access token").fill(TOKEN)
    await press(page, "Connect Mastodon and test it")
    assert "The account answered and works." in await page.inner_text("main")
    await check(page, page_checks)
    await press(page, "Test acme-mastodon now")
    assert page.url.endswith("?done=works")

    await page.get_by_role("link", name="All about Mastodon").click()
    await page.wait_for_url("**/help/connect/mastodon")
    await check(page, page_checks)
    await page.goto(f"{console.url}{ACCOUNTS}/connect/x")
    await page.get_by_label("Client id of the app").fill("acme-app")
    await press(page, "Save the app of X")
    await check(page, page_checks)
    await press(page, "Begin the login at X")
    assert await page.get_by_role("link", name="Log in at X").is_visible()
    await check(page, page_checks)

    await page.goto(f"{console.url}{ACCOUNTS}/acme-mastodon")
    await press(page, "Remove acme-mastodon")
    assert "The account is removed." in await page.inner_text("main")
