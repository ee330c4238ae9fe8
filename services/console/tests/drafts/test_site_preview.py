"""The preview of a brand's site: its first page at three widths, without running scripts."""

from typing import Any, Literal

import pytest
from playwright.async_api import Page


@pytest.mark.extended
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
async def test_a_page_is_shown_at_three_widths_with_the_saved_settings(
    console: Any,
    drafts: list[str],
    signed_in: Page,
    page_checks: Any,
    width: int,
    scheme: Literal["light", "dark"],
) -> None:
    page = signed_in
    await page.set_viewport_size({"width": width, "height": 900})
    await page.emulate_media(color_scheme=scheme)
    await page.goto(f"{console.url}/b/acme/site")
    await page.fill("[name=menu]", "Grace | /")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Save the settings of the site").click()
    frames = page.locator("iframe")
    assert await frames.count() == 3
    for at, wide in enumerate((360, 768, 1280)):
        await frames.nth(at).scroll_into_view_if_needed()
        box = await frames.nth(at).bounding_box()
        assert box is not None
        assert wide <= box["width"] <= wide + 4
        inside = page.frame_locator("iframe").nth(at)
        await inside.locator("h1").wait_for()
        assert "Grace" in await inside.locator("body").inner_text()
    assert await page.evaluate("window.hacked") is None
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert await page_checks.accessibility(page) == []
