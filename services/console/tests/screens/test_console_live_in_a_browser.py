"""A person types, selects and opens while events stream, and loses nothing."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, expect

pytestmark = pytest.mark.extended


async def submit(console: Any, keyword: str) -> None:
    await console.orchestrator.submit_keywords("grind", keyword.encode(), content_type="text/plain")


async def test_what_a_person_selects_and_types_stays_while_the_page_renews_itself(
    console: Any, signed_in: Page, page_checks: Any
) -> None:
    page = signed_in
    await console.orchestrator.set_brand("grind", name="Daily Grind")
    await submit(console, "pour over")
    await page.goto(f"{console.url}/b/grind/keywords")
    await page.mouse.move(0, 0)
    await submit(console, "cold brew")
    await expect(page.locator("#keyword-list")).to_contain_text("cold brew")

    # Typing in the filters goes on while the list below is renewed.
    await page.locator("[name=q][type=search]").press_sequentially("half a wo")
    await submit(console, "grind size")
    await expect(page.locator("#keyword-list")).to_contain_text("grind size")
    await expect(page.locator("[name=q][type=search]")).to_have_value("half a wo")
    await expect(page.locator("[name=q][type=search]")).to_be_focused()
    await page.locator("[name=q][type=search]").press_sequentially("rd")
    await expect(page.locator("[name=q][type=search]")).to_have_value("half a word")

    # What is selected in the list stays; the page says that something new waits.
    await page.evaluate(
        "() => { document.activeElement.blur();"
        " document.getSelection().selectAllChildren(document.querySelector('#keyword-list tbody th')) }"
    )
    selected = await page.evaluate("document.getSelection().toString()")
    place = await page.locator("#keyword-list").bounding_box()
    await submit(console, "water quality")
    note = page.locator("[data-live-note]")
    await expect(note).to_have_text(re.compile("Something new is here"))
    assert await page.locator("#keyword-list").bounding_box() == place
    assert await page.evaluate("document.getSelection().toString()") == selected
    assert "water quality" not in await page.inner_text("#keyword-list")
    assert await page_checks.accessibility(page) == []
    await page.evaluate("document.getSelection().removeAllRanges()")
    await expect(page.locator("#keyword-list")).to_contain_text("water quality")
    await expect(note).to_have_text("")

    # While live updates are paused nothing comes; afterwards what was missed does.
    pause = page.get_by_role("button", name="Pause updates")
    await pause.click()
    await expect(pause).to_have_attribute("aria-pressed", "true")
    await submit(console, "milk foam")
    await page.goto(f"{console.url}/b/grind/keywords?q=milk")
    await expect(page.locator("#keyword-list")).to_contain_text("milk foam")
    await submit(console, "milk jug")
    await pause.click()
    await expect(page.locator("#keyword-list")).to_contain_text("milk jug")

    # A keyword's page follows its steps to the end.
    await page.locator("#keyword-list tbody a").first.click()
    await page.mouse.move(0, 0)
    await expect(page.locator("#keyword-now .badge").first).to_have_text(
        re.compile("Completed|Refused|Failed|Needs review")
    )
