"""The search over pages, brands, keywords, drafts and articles: as a page, and by Ctrl-K in a dialog."""

from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

HOSTILE = "<img src=x onerror='window.hit = 1'>"


@pytest.mark.extended
async def test_finds_by_words_within_a_brand_and_everywhere(console: Any, person: httpx.AsyncClient) -> None:
    for slug in ("grind", "mill"):
        await console.orchestrator.set_brand(slug, name=f"The {slug.title()}")
        await console.orchestrator.submit_keywords(slug, b"burr size", content_type="text/plain")
    everywhere = (await person.get("/search", params={"q": "BURR"})).text
    assert "/b/grind/keywords/" in everywhere
    assert "/b/mill/keywords/" in everywhere
    within = (await person.get("/search", params={"q": "burr", "brand": "mill"})).text
    assert "/b/mill/keywords/" in within
    assert "/b/grind/keywords/" not in within
    assert 'href="/search?q=burr"' in within
    assert "Nothing has these words" in (await person.get("/search", params={"q": "<b>none</b>"})).text
    assert 'href="/b/mill" data-result' in (await person.get("/search", params={"q": "the m"})).text
    assert 'href="/b/mill/posts" data-result' in (await person.get("/search", params={"q": "posts"})).text


@pytest.mark.extended
async def test_a_person_of_one_brand_finds_nothing_of_another(console: Any) -> None:
    for slug in ("grind", "mill"):
        await console.orchestrator.set_brand(slug, name=f"The {slug.title()}")
        await console.orchestrator.submit_keywords(slug, b"burr size", content_type="text/plain")
    async with httpx.AsyncClient(
        base_url=console.url, headers={"Origin": console.url}, timeout=60, trust_env=False
    ) as eve:
        link = await console.invite("Eve", "viewer", ["mill"])
        await eve.post(link, data={"name": "Eve", "password": "correct horse battery staple"})
        found = (await eve.get("/search", params={"q": "burr"})).text
        assert "/b/mill/keywords/" in found
        assert "/grind" not in found
        assert "/b/mill/keywords/add" not in (await eve.get("/search", params={"q": "add"})).text
        assert (await eve.get("/search", params={"q": "burr", "brand": "grind"})).status_code == 404


@pytest.fixture
async def grind(console: Any) -> None:
    """A brand that exists before the first sign-in: the names of brands are read again only after a while."""
    await console.orchestrator.set_brand("grind", name=f"Daily Grind {HOSTILE}")


@pytest.mark.extended
async def test_ctrl_k_and_the_keyboard_alone_lead_to_a_brand(
    console: Any, grind: None, signed_in: Page, page_checks: Any
) -> None:
    page = signed_in
    await page.goto(f"{console.url}/me")
    zone = page.locator("[name=zone]")
    await zone.focus()
    await page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("searchbox")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(zone).to_be_focused()

    await page.keyboard.press("Control+k")
    await page.keyboard.type("daily gr")
    found = dialog.get_by_role("link", name="Daily Grind").first
    await expect(found).to_be_visible()
    for width in (360, 1280):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert await page_checks.accessibility(page) == []
    assert not await page.evaluate("window.hit")
    await page.keyboard.press("ArrowDown")
    await expect(found).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await expect(dialog.get_by_role("searchbox")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/b/grind")
    # The first result is opened by Enter at once, here the brand's page of keywords.
    await page.keyboard.press("Control+k")
    await page.keyboard.type("keywords")
    # Before they are there, Enter leads to the page of results.
    await expect(dialog.locator("[data-of='keywords']").get_by_role("link").first).to_contain_text("Keywords")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/b/grind/keywords")


@pytest.mark.extended
async def test_without_scripts_the_link_leads_to_the_page(grind: None, person: httpx.AsyncClient) -> None:
    shown = (await person.get("/b/grind")).text
    assert 'href="/search?brand=grind"' in shown
    assert "Daily Grind" in (await person.get("/search", params={"q": "grind"})).text


async def test_of_many_brands_the_first_results_of_each_kind_are_shown(
    console: Any, person: httpx.AsyncClient
) -> None:
    for number in range(12):
        await console.orchestrator.set_brand(f"mill-{number:02}", name=f"Mill {number:02}")
    brands = (await person.get("/search", params={"q": "mill"})).text
    assert [number for number in range(12) if f'href="/b/mill-{number:02}" data-result' in brands] == list(
        range(8)
    )
    pages = (await person.get("/search", params={"q": "posts"})).text
    assert [
        number for number in range(12) if f'href="/b/mill-{number:02}/posts" data-result' in pages
    ] == list(range(8))
