"""Two people work on the same brand at once: each sees what the other did, and loses nothing that is typed."""

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, expect

from chassis.testing import TcpProxy, eventually
from client import Address
from client.services.research import AsyncResearch

KEY = "test-service-key-0123456789"
CORPUS = Path(__file__).parents[4] / "deploy" / "demo" / "corpus"
MEANWHILE = "Another person changed this meanwhile"
pytestmark = pytest.mark.extended


@pytest.fixture
async def research(service_urls: dict[str, str]) -> AsyncIterator[AsyncResearch]:
    async with AsyncResearch(Address(service_urls["research_url"], KEY)) as client:
        yield client


async def press(page: Page, name: str) -> None:
    """Presses a button of the page, by its words, and waits for what follows."""
    async with page.expect_navigation():
        await page.get_by_role("button", name=name).click()


async def test_one_adds_keywords_while_suggestions_stream_in_to_another_who_types(
    console: Any, research: AsyncResearch, join: Callable[..., Any]
) -> None:
    await console.orchestrator.set_brand("grind", name="Daily Grind", approval="everything")
    await research.set_sources("grind", folder=False)
    ada, bob = await join("Ada"), await join("Bob")
    for page in (ada, bob):
        await page.goto(f"{console.url}/b/grind/keywords/add")
    typed, listed = bob.locator("[data-keyword-list]"), bob.locator("#keyword-suggestions")
    await typed.press_sequentially("half a key")
    await typed.press("Shift+Home")
    await bob.mouse.move(0, 0)
    for name in ("cold-brew", "espresso-basics"):
        await research.add_document(
            "grind", (CORPUS / f"{name}.md").read_bytes(), name=f"{name}.md", own=True
        )
    for words in ("Cold brew coffee", "Espresso"):
        await expect(listed).to_contain_text(re.compile(words, re.IGNORECASE))
    chosen = "area => area.value.slice(area.selectionStart, area.selectionEnd)"
    assert await typed.evaluate(chosen) == "half a key", "what is selected stays"
    await expect(typed).to_be_focused()
    await typed.press("End")

    # Ada hands in a suggestion and a keyword of her own; Bob is no longer offered the suggestion.
    await ada.get_by_label("Cold brew coffee", exact=True).check()
    await ada.locator("[data-keyword-list]").fill("milk foam")
    await press(ada, "Submit keywords")
    assert "2 keywords are submitted." in await ada.inner_text("main")
    await expect(bob.get_by_label("Cold brew coffee", exact=True)).to_have_count(0)
    await typed.press_sequentially("word")
    await expect(typed).to_have_value("half a keyword")

    # What Bob has checked stays checked, and more waits until he is done.
    await listed.get_by_role("checkbox").first.check()
    keyword = await listed.get_by_role("checkbox").first.input_value()
    await research.add_document("grind", (CORPUS / "moka-pot.html").read_bytes(), name="moka.html", own=True)
    await expect(bob.locator("[data-live-note]")).to_have_text(re.compile("Something new is here"))
    assert await listed.get_by_role("checkbox").first.is_checked()
    await press(bob, "Submit keywords")
    assert "2 keywords are submitted." in await bob.inner_text("main")
    found = (await console.orchestrator.search_for_keywords(brand="grind"))["items"]
    assert sorted(each["keyword"] for each in found) == sorted(
        ["Cold brew coffee", "milk foam", "half a keyword", keyword]
    )
    # Ada's list follows without her doing.
    await ada.mouse.move(0, 0)
    await expect(ada.locator("#keyword-list")).to_contain_text("half a keyword")


async def test_of_two_who_change_a_target_or_a_cap_the_second_sees_what_changed_and_loses_nothing(
    console: Any, join: Callable[..., Any], page_checks: Any
) -> None:
    await console.orchestrator.set_brand("grind", name="Daily Grind", targets=["site", "wordpress"])
    ada, bob = await join("Ada", "owner"), await join("Bob", "owner", viewport={"width": 360, "height": 800})
    address = f"{console.url}/b/grind/accounts/targets/wordpress"
    for page in (ada, bob):
        await page.goto(address)
    await bob.get_by_label("Author there").fill("Bob of Acme")
    await bob.get_by_label("Tags, one in each line").fill("coffee\nmilk")
    await ada.get_by_label("Author there").fill("Ada of Acme")
    await ada.get_by_label("Categories, one in each line").fill("News\nBrewing")
    await press(ada, "Save the settings of wordpress")
    await ada.get_by_text("The settings are saved.").wait_for()
    await press(bob, "Save the settings of wordpress")
    await expect(bob.get_by_role("alert")).to_contain_text(MEANWHILE)
    stored = bob.locator("main .notice dl")
    assert (await stored.inner_text()).split("\n") == [
        "Categories, one in each line",
        "News, Brewing",
        "Tags, one in each line",
        "nothing",
        "Author there",
        "Ada of Acme",
    ]
    assert await bob.get_by_label("Author there").input_value() == "Bob of Acme"
    assert await bob.get_by_label("Tags, one in each line").input_value() == "coffee\nmilk"
    assert await page_checks.accessibility(bob) == []
    assert await bob.evaluate("document.documentElement.scrollWidth") <= 360
    await bob.get_by_label("Categories, one in each line").fill("News\nBrewing")
    await press(bob, "Save the settings of wordpress")
    await ada.goto(address)
    assert await ada.get_by_label("Author there").input_value() == "Bob of Acme"
    assert await ada.get_by_label("Categories, one in each line").input_value() == "News\nBrewing"

    for path, button in (("/b/grind/money", "Save these caps"), ("/money", "Save these caps")):
        for page in (ada, bob):
            await page.goto(console.url + path)
        await bob.get_by_label("A month").fill("90")
        await ada.get_by_label("A day").fill("5")
        await press(ada, button)
        assert "of $5.00" in await ada.inner_text("main")
        await press(bob, button)
        await expect(bob.get_by_role("alert")).to_contain_text(MEANWHILE)
        assert (await stored.inner_text()).split("\n")[:2] == ["A day", "5"]
        assert await bob.get_by_label("A month").input_value() == "90"
        await bob.get_by_label("A day").fill("5")
        await press(bob, button)
        told = await bob.inner_text("main")
        assert "of $5.00" in told
        assert "of $90.00" in told


async def test_a_page_says_that_it_is_not_live_and_becomes_live_again_by_itself(
    console: Any, join: Callable[..., Any]
) -> None:
    await console.orchestrator.set_brand("grind", name="Daily Grind")
    page = await join("Ada")
    async with TcpProxy("127.0.0.1", urlsplit(console.url).port or 0) as proxy:
        await page.goto(f"http://127.0.0.1:{proxy.port}/b/grind/keywords")
        await page.mouse.move(0, 0)
        note = page.locator("[data-live-note]")

        async def submit(keyword: str) -> None:
            await console.orchestrator.submit_keywords("grind", keyword.encode(), content_type="text/plain")

        await submit("pour over")
        await expect(page.locator("#keyword-list")).to_contain_text("pour over")
        proxy.cut()
        await expect(note).to_have_text(re.compile("Live updates are interrupted"))
        await submit("cold brew")
        assert "cold brew" not in await page.inner_text("#keyword-list")
        proxy.mend()
        await expect(page.locator("#keyword-list")).to_contain_text("cold brew")
        await expect(note).to_have_text("")


async def test_a_tab_beyond_the_bound_says_so_and_is_live_after_a_minute(
    console: Any, join: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console.pages.state.console.live, "_of_person", 1)
    await console.orchestrator.set_brand("grind", name="Daily Grind")
    first = await join("Ada")
    second = await first.context.new_page()
    await second.clock.install()
    address = f"{console.url}/b/grind/keywords"
    async with first.expect_response(lambda answer: "/live" in answer.url):
        await first.goto(address)
    await second.goto(address)
    await second.mouse.move(0, 0)
    note = second.locator("[data-live-note]")
    await expect(note).to_have_text(re.compile("Live updates rest for a minute: too many tabs are open"))
    await first.close()
    await console.orchestrator.submit_keywords("grind", b"pour over", content_type="text/plain")
    await eventually(lambda: console.pages.state.console.live.polls == 0)
    await second.clock.run_for(60_000)
    await expect(second.locator("#keyword-list")).to_contain_text("pour over")
    await expect(note).to_have_text("")
