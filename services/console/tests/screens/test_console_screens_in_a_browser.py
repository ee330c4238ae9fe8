"""Home, keywords, articles, posts and the first steps in a real browser beside real services, with hostile names."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page

from chassis.testing import eventually

pytestmark = pytest.mark.extended
HOSTILE = '<script>window.hit = 1</script>"><img src=x onerror="window.hit = 1">'
WIDTHS = (1280, 360)


async def submit(page: Page, button: str) -> None:
    """Presses a button of the page, by its words, and waits for what follows."""
    async with page.expect_navigation():
        await page.get_by_role("button", name=button).click()


async def seen(page: Page) -> str:
    return await page.inner_text("main")


async def keywords_end(console: Any, brand: str, count: int) -> list[Any]:
    async def ended() -> list[Any] | None:
        found = (await console.orchestrator.search_for_keywords(brand=brand))["items"]
        states = {each["state"] for each in found}
        return found if len(found) == count and states <= {"completed", "refused"} else None

    items: list[Any] = await eventually(ended)
    return items


async def make_brand(console: Any, page: Page) -> None:
    """From the empty home page to the first keyword."""
    assert "No brand yet" in await seen(page)
    await page.get_by_role("link", name="Start here").click()
    await page.fill("[name=name]", f"The Daily Grind {HOSTILE}")
    await page.fill("[name=slug]", "grind")
    await page.fill("[name=keywords]", f"pour-over coffee\nmortgage refinancing {HOSTILE}")
    assert await page.get_by_label("A person reads each article").is_checked()
    await page.get_by_label("goes out by itself").check()
    await submit(page, "Make the brand and begin")
    assert "pour-over coffee" in await page.inner_text("h1")
    assert "The Daily Grind" in await page.inner_text(".switcher summary")
    brand = await console.orchestrator.get_brand("grind")
    await console.orchestrator.set_brand("grind", name=brand["name"], posts_approval="everything")


async def add_keywords(page: Page, url: str) -> None:
    """A table that is refused stays in the form; one from a file is accepted."""
    await page.goto(f"{url}/b/grind/keywords/add")
    await page.fill("textarea", "keyword,urgency\ngrind size,high")
    await submit(page, "Submit keywords")
    assert "the column 'urgency' is not known" in await page.inner_text("[role=alert]")
    assert await page.input_value("textarea") == "keyword,urgency\ngrind size,high"
    file = {
        "name": "list.csv",
        "mimeType": "text/csv",
        "buffer": b"keyword,priority\ngrind size,high\nwater quality for coffee,high\n",
    }
    await page.set_input_files("input[type=file]", file)  # type: ignore[arg-type]
    await eventually(lambda: page.input_value("textarea"))
    await submit(page, "Submit keywords")
    assert "2 keywords are submitted." in await seen(page)


async def take_a_suggestion(console: Any, page: Page, url: str) -> None:
    """Subjects of the documents are suggested; checked ones are submitted with the typed ones, and not suggested again."""
    await page.goto(f"{url}/b/grind/keywords/add")
    first = page.locator(".suggested [name=topic]").first
    keyword = await first.get_attribute("value") or ""
    await first.check()
    await submit(page, "Submit keywords")
    assert "1 keyword is submitted." in await seen(page)
    assert keyword in await seen(page)
    await page.goto(f"{url}/b/grind/keywords/add")
    assert await page.locator(f'.suggested [value="{keyword}"]').count() == 0


async def look_at_refused(page: Page, url: str, refused: Any) -> None:
    """A refused keyword is found by filters, and says why and what would help."""
    await page.goto(f"{url}/b/grind/keywords?state=refused&q=MORTGAGE&age=day")
    await page.locator("tbody a").click()
    told = await seen(page)
    assert "Why it was refused" in told
    assert "What would help" in told
    assert "Ended: refused" in told
    assert page.url.endswith(f"{refused['cycle_id']}.{refused['position']}")
    await page.goto(f"{url}/b/grind/keywords?q=nothing+like+it")
    assert "No keyword matches" in await seen(page)


async def decide_about_post(page: Page, url: str) -> None:
    """A text that is too long is counted and refused, a shorter one is approved and sent."""
    await page.goto(f"{url}/b/grind/posts?q=grind+size")
    await page.locator("tbody a").first.click()
    await page.fill("textarea", "x" * 1_001)
    await eventually(lambda: page.get_by_text("1,001 of 1,000 characters").is_visible())
    await submit(page, "Save the text")
    assert "shorten it" in await page.inner_text("[role=alert]")
    assert await page.input_value("textarea") == "x" * 1_001
    await page.fill("textarea", f"Grind it.\n\n{HOSTILE}")
    await submit(page, "Save the text")
    assert "edited by ada" in (await seen(page)).casefold()
    await submit(page, "Approve and send now")
    assert "approved by ada" in (await seen(page)).casefold()
    assert "Open the post" in await seen(page)


async def look_at_all(page: Page, url: str, screens: list[str], page_checks: Any) -> None:
    """Nothing hostile runs, nothing is too wide, and axe finds nothing."""
    for width in WIDTHS:
        await page.set_viewport_size({"width": width, "height": 800})
        for screen in screens:
            answer = await page.goto(url + screen)
            assert answer is not None
            assert answer.status == 200, screen
            assert not await page.evaluate("window.hit"), screen
            wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, f"{screen} is {wide} px too wide at {width}"
            assert await page_checks.accessibility(page) == [], screen


async def test_from_an_empty_system_to_a_post_and_nothing_hostile_runs(
    console: Any, signed_in: Page, page_checks: Any
) -> None:
    page, url = signed_in, console.url
    await make_brand(console, page)
    await add_keywords(page, url)
    await take_a_suggestion(console, page, url)
    found = await keywords_end(console, "grind", 5)
    refused = next(each for each in found if each["state"] == "refused")
    await look_at_refused(page, url, refused)
    await decide_about_post(page, url)

    await page.goto(f"{url}/b/grind/posts?state=waiting")
    waiting = urlsplit(await page.locator("tbody a").first.get_attribute("href") or "").path
    article = next(each for each in found if each["keyword"] == "pour-over coffee")["content_id"]
    screens = [
        "/",
        "/start-here",
        "/b/grind",
        "/b/grind/keywords",
        "/b/grind/keywords/add",
        f"/b/grind/keywords/{refused['cycle_id']}.{refused['position']}",
        "/b/grind/articles",
        f"/b/grind/articles/{article}",
        "/b/grind/posts",
        waiting,
    ]
    await look_at_all(page, url, screens, page_checks)

    await page.goto(url + waiting)
    await page.fill("[name=reason]", "not on this channel")
    await submit(page, "Skip feed for this article")
    assert "Skipped" in await page.inner_text("header.head")
    await page.goto(f"{url}/b/grind/articles/{article}")
    await page.fill("[name=reason]", "a figure is wrong")
    await submit(page, "Take this article down")
    assert "Taken down" in await page.inner_text("header.head")
    assert "a figure is wrong" in await seen(page)
