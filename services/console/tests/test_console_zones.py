"""The time zone of a person: the browser's at first, then chosen from a list with the browser's at its top."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

PASSWORD = "correct horse battery staple"


@pytest.mark.extended
async def test_a_new_person_has_the_zone_of_the_browser_and_is_offered_another(
    console: Any, new_browser_context: Callable[..., Awaitable[Any]]
) -> None:
    context = await new_browser_context(timezone_id="Asia/Tokyo")
    page: Page = await context.new_page()
    await page.goto(await console.invite("Ada"))
    await page.fill("[name=password]", PASSWORD)
    await page.click("main button")
    await page.wait_for_url(f"{console.url}/")
    await page.goto(f"{console.url}/me")
    zone = page.locator("[name=zone]")
    await expect(zone).to_have_value("Asia/Tokyo")
    await zone.fill("Europe/Berlin")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Save language and time zone").click()
    await expect(zone).to_have_value("Europe/Berlin")
    await page.get_by_role("button", name="Asia/Tokyo").click()
    await expect(zone).to_have_value("Asia/Tokyo")
    assert await page.evaluate("document.querySelector('#zones').options[0].value") == "Asia/Tokyo"


async def test_an_unknown_zone_is_refused_with_what_to_do(person: httpx.AsyncClient) -> None:
    refused = await person.post("/me", data={"language": "en", "zone": "Mars/Base"})
    assert refused.status_code == 422
    assert "such as Europe/Berlin" in refused.text
