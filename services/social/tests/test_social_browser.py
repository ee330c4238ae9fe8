"""The pages as a reader's browser shows them."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page

from envelope.brand.payloads import SocialCreate
from tests.fixtures.page_checks import PageChecks

SCREENS = [(1280, 900), (390, 844)]
SCHEMES = ["light", "dark"]
AWKWARD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenherstellerverzeichnis <b>&amp;</b> — عن القهوة ☕"


@pytest.fixture(params=SCREENS, ids=lambda size: f"{size[0]}px")
async def size(request: pytest.FixtureRequest) -> dict[str, int]:
    return {"width": request.param[0], "height": request.param[1]}


@pytest.fixture(params=SCHEMES)
async def context(
    request: pytest.FixtureRequest,
    size: dict[str, int],
    new_browser_context: Callable[..., Awaitable[BrowserContext]],
) -> BrowserContext:
    return await new_browser_context(viewport=size, color_scheme=request.param)


async def visit(context: BrowserContext, address: str, complaints: list[str]) -> Page:
    page = await context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    await page.goto(address)
    return page


async def overflow(page: Page) -> int:
    """Pixels of the page beyond the width of the window."""
    width: int = await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return width


_CONTRAST = """
([selector, property]) => {
  const luminance = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ink = luminance(getComputedStyle(document.querySelector(selector)).color);
  const paper = luminance(getComputedStyle(document.body).backgroundColor);
  return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
}
"""


@pytest.mark.extended
async def test_the_pages_fit_the_screen_and_can_be_read(
    social: Any,
    new_command: Callable[..., SocialCreate],
    context: BrowserContext,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    address = await social.post(new_command())
    awkward = await social.post(new_command(title=AWKWARD, key_points=(AWKWARD, "x" * 300)))
    complaints: list[str] = []
    for name, path in (
        ("feeds", "/"),
        ("feed", "/feeds/daily-grind"),
        ("post", address),
        ("awkward", awkward),
        ("missing", "/feeds/nobody"),
    ):
        page = await visit(context, path if path.startswith("http") else social.url + path, complaints)
        assert await overflow(page) <= 0, name
        for selector in (".quiet", "a:not(.skip)"):
            if await page.locator(selector).count():
                # WCAG 2.2, 1.4.3: ordinary text needs 4.5.
                assert await page.evaluate(_CONTRAST, [selector, "color"]) >= 4.5, (name, selector)
        await page.screenshot(path=tmp_path / f"{request.node.callspec.id}-{name}.png", full_page=True)
    assert [text for text in complaints if "404" not in text] == []


@pytest.mark.real
async def test_checkers_find_nothing_on_any_page(
    social: Any,
    new_command: Callable[..., SocialCreate],
    context: BrowserContext,
    page_checks: PageChecks,
    tmp_path: Path,
) -> None:
    address = await social.post(new_command())
    documents = []
    for path in (f"{social.url}/", f"{social.url}/feeds/daily-grind", address):
        page = await visit(context, path, [])
        documents.append((await social.http.get(path)).text)
        assert await page_checks.accessibility(page) == [], path
    assert page_checks.html(documents, tmp_path) == []


@pytest.mark.extended
async def test_one_click_selects_a_whole_draft(
    social: Any, new_command: Callable[..., SocialCreate], context: BrowserContext
) -> None:
    page = await visit(context, await social.post(new_command()), [])
    draft = page.locator("section[aria-labelledby=draft-linkedin] > .copy")
    await draft.click()
    selected = await page.evaluate("getSelection().toString()")
    assert selected.strip() == (await draft.inner_text()).strip()
    assert selected.strip().endswith("#Coffee")
