"""The bar of every page in a real browser: one line on every screen, and menus that go by hand, by key and without scripts."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
from playwright.async_api import Page, expect

from console.people.domain import Role
from console.texts import LANGUAGES

pytestmark = pytest.mark.extended
OPERATIONS: Final = "/audit-log"
"""A screen of the menu that needs no service but the console's own database."""
_LINES: Final = """(selector) => {
    const tops = [];
    for (const each of document.querySelectorAll(selector)) {
        const { top, bottom, height } = each.getBoundingClientRect();
        // Those of one line stand at about one height.
        if (height && !tops.some((line) => Math.abs(line - (top + bottom) / 2) < 12)) tops.push((top + bottom) / 2);
    }
    return tops.length;
}"""
"""In how many lines the elements stand that one sees."""
_SEEN: Final = ".bar > *, .bar .rest > *, .bar nav > *"
_TOO_WIDE: Final = "document.documentElement.scrollWidth - window.innerWidth"
_IN_VIEW: Final = """(list) => {
    const { left, right, top, bottom } = list.getBoundingClientRect();
    return left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
}"""


async def stands_in_one_line(page: Page, width: int) -> bool:
    await page.set_viewport_size({"width": width, "height": 800})
    return await page.evaluate(_LINES, _SEEN) == 1 and await page.evaluate(_TOO_WIDE) <= 0


@pytest.mark.parametrize("language", LANGUAGES)
async def test_it_is_one_line_on_every_screen_and_usable_on_a_phone_in_every_role(
    console: Any, join: Callable[..., Awaitable[Page]], language: str
) -> None:
    await console.orchestrator.set_brand("grind", name="The Daily Grind, Coffee and Tea of Aberystwyth")
    for role in Role:
        page = await join(f"Wilhelmina-Featherstonehaugh-{role}", role, locale=language)
        for address in ("/me", "/b/grind"):
            await page.goto(console.url + address)
            for width in (1280, 1440, 800, 360):
                assert await stands_in_one_line(page, width), (role, address, width)
        brands, rest = page.locator(".bar .switcher"), page.locator(".bar .rest")
        await brands.locator("summary").click()
        assert await brands.locator("ul").evaluate(_IN_VIEW), role
        # It lies over what is below it.
        await page.keyboard.press("Escape")
        await page.locator(".bar .more").click()
        assert await rest.evaluate(_IN_VIEW), role
        for menu in await rest.locator(".menu").all():
            await menu.locator("summary").click()
            assert await rest.evaluate(_IN_VIEW), role
        await expect(rest.locator("form button")).to_be_visible()
        may_operate = role in (Role.OPERATOR, Role.OWNER)
        assert await page.locator(".bar nav .menu").count() == int(may_operate), role


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_screens_of_a_brand_are_one_line_and_rare_ones_in_a_menu(
    console: Any, join: Callable[..., Awaitable[Page]], page_checks: Any, language: str
) -> None:
    await console.orchestrator.set_brand("grind", name="The Daily Grind")
    page = await join("Ada", "owner", locale=language)
    await page.goto(f"{console.url}/b/grind/settings")
    menu = page.locator(".screens .menu")
    summary, entries = menu.locator("summary"), menu.locator("ul")
    for width in (1280, 1440, 360):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate(_LINES, ".screens > *") == 1, width
        assert await page.evaluate(_TOO_WIDE) <= 0
        await summary.click()
        # On a phone it continues the line, which a finger pushes.
        await entries.get_by_role("link").last.scroll_into_view_if_needed()
        assert await entries.get_by_role("link").last.evaluate(_IN_VIEW), width
        assert await page.evaluate(_TOO_WIDE) <= 0
        assert await page_checks.accessibility(page) == []
        await summary.focus()
        await page.keyboard.press("Escape")
        await expect(entries).to_be_hidden()
    assert await summary.get_attribute("aria-current") is None
    await page.set_viewport_size({"width": 1280, "height": 800})
    await summary.focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await expect(entries.get_by_role("link").first).to_be_focused()
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/b/grind/schedules")
    assert await summary.get_attribute("aria-current") == "true"
    assert await entries.locator("[aria-current=page]").count() == 1


async def test_the_menu_of_operators_closes_by_escape_and_on_leaving_and_marks_the_page(
    console: Any, signed_in: Page, page_checks: Any
) -> None:
    page = signed_in
    menu, brands = page.locator(".bar nav .menu"), page.locator(".bar .switcher")
    summary, entries = menu.locator("summary"), menu.locator("ul")
    assert await summary.get_attribute("aria-current") is None
    await summary.focus()
    await page.keyboard.press("Enter")
    await expect(entries).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(entries.get_by_role("link").first).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(entries).to_be_hidden()
    await expect(summary).to_be_focused()

    await page.keyboard.press("Space")
    for _ in range(await entries.get_by_role("link").count()):
        await page.keyboard.press("Tab")
        await expect(entries).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(entries).to_be_hidden()

    await summary.click()
    await page.locator("main").click(position={"x": 5, "y": 5})
    await expect(entries).to_be_hidden()
    await summary.click()
    await brands.locator("summary").click()
    await expect(entries).to_be_hidden()
    await expect(brands.locator("ul")).to_be_visible()

    await summary.click()
    async with page.expect_navigation():
        await entries.get_by_role("link", name="Audit log").click()
    assert page.url == console.url + OPERATIONS
    assert await summary.get_attribute("aria-current") == "true"
    await summary.click()
    marked = menu.locator("[aria-current=page]")
    assert await marked.all_inner_texts() == ["Audit log"]
    assert await page_checks.accessibility(page) == []


@pytest.mark.parametrize("scripts", [True, False])
async def test_on_a_phone_the_menu_opens_by_key_closes_by_escape_and_leads_on(
    console: Any, signed_in: Page, new_browser_context: Callable[..., Awaitable[Any]], scripts: bool
) -> None:
    context = await new_browser_context(
        java_script_enabled=scripts, viewport={"width": 390, "height": 800}, reduced_motion="reduce"
    )
    await context.add_cookies(await signed_in.context.cookies())
    page = await context.new_page()
    await page.goto(f"{console.url}/me")
    button, rest = page.locator(".bar .more"), page.locator(".bar .rest")
    await expect(rest).to_be_hidden()
    await button.focus()
    await page.keyboard.press("Enter")
    await expect(rest).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(rest.get_by_role("link").first).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(rest).to_be_hidden()
    await expect(button).to_be_focused()
    await page.keyboard.press("Enter")
    await rest.locator(".menu summary").click()
    async with page.expect_navigation():
        await rest.get_by_role("link", name="Audit log").click()
    assert page.url == console.url + OPERATIONS


async def test_the_menu_works_without_scripts(
    console: Any, signed_in: Page, new_browser_context: Callable[..., Awaitable[Any]]
) -> None:
    plain = await new_browser_context(java_script_enabled=False)
    await plain.add_cookies(await signed_in.context.cookies())
    page = await plain.new_page()
    await page.goto(f"{console.url}/me")
    menu = page.locator(".bar nav .menu")
    await menu.locator("summary").click()
    await page.locator(".bar .switcher summary").click()
    await expect(menu.locator("ul")).to_be_hidden()
    await menu.locator("summary").click()
    async with page.expect_navigation():
        await menu.get_by_role("link", name="Audit log").click()
    assert page.url == console.url + OPERATIONS
