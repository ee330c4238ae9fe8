"""The search over pages, brands, keywords, drafts and articles."""

from typing import Any

import httpx
from playwright.async_api import Page


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
    assert "Nothing has these words" in (await person.get("/search", params={"q": "<b>none</b>"})).text
    assert 'href="/b/mill"' in (await person.get("/search", params={"q": "the m"})).text


async def test_ctrl_k_and_the_keyboard_alone_lead_to_a_brand(
    console: Any, signed_in: Page, page_checks: Any
) -> None:
    await console.orchestrator.set_brand("grind", name="Daily Grind")
    await signed_in.keyboard.press("Control+k")
    await signed_in.wait_for_url("**/search")
    assert await page_checks.accessibility(signed_in) == []
    await signed_in.reload()
    await signed_in.focus("main [name=q]")
    await signed_in.keyboard.type("grind/")
    assert await signed_in.input_value("main [name=q]") == "grind/"
    await signed_in.keyboard.press("Backspace")
    await signed_in.keyboard.press("Enter")
    await signed_in.wait_for_url("**/search?q=grind")
