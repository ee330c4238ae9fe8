"""The pages in a real browser, on a desk and in a hand."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from PIL import Image
from playwright.async_api import BrowserContext, Page

from messaging import Database
from publisher import store
from publisher.domain import Author, BrandSlug, SiteSettings, Typefaces
from publisher.http_api import create_app
from publisher.logos import store as logos
from publisher.logos.logo_file import normalise_logo
from publisher.site_settings import store as site_settings
from publisher.store import RenderedArticle
from publisher.urls import SiteUrls
from tests.fixtures.page_checks import PageChecks

OPENING = "Cold brew is coffee that is brewed with cold water, slowly, and then kept for some days. [1]\n\n"
SECTIONS = OPENING + "\n\n".join(
    f"## Section {n} about brewing\n\n" + "Coffee is brewed with water and time. [1] Grind it fresh. [2] " * 8
    for n in range(1, 6)
)
AWKWARD = (
    f"{SECTIONS}\n\n## {'Wiederaufladbarkeitsprüfung' * 6}\n\n{'unbreakable' * 60} [1]\n\n"
    f"```\n{'a very long line of code ' * 20}ends\n```\n\n"
    f"| {' | '.join(f'column {n}' for n in range(12))} |\n|{'---|' * 12}\n| {' | '.join(['cell value'] * 12)} |\n\n"
    "| row | square |\n|---|---|\n" + "".join(f"| row {n} | {n * n} |\n" for n in range(1, 14))
)


@pytest.fixture
async def origin(
    database: Database, publication: Callable[..., RenderedArticle], free_port: Callable[[], int]
) -> AsyncIterator[str]:
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    async with database.transaction() as tx:
        await store.publish(tx.connection, publication(body_markdown=AWKWARD))
        await store.publish(tx.connection, publication(slug="emoji", title=f"☕️ {'Emoji' * 40} <script>"))
    app = create_app(database, SiteUrls.under(origin), articles_per_page=1)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, lifespan="off"))
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup()
    serving = asyncio.create_task(server.main_loop())
    yield origin
    server.should_exit = True
    await serving
    await server.shutdown()


class Tab:
    """A page, and what the browser complained about on it."""

    def __init__(self, context: BrowserContext, page: Page) -> None:
        self._context = context
        self.page = page
        self.complaints: list[str] = []
        self._listen()

    async def renew(self) -> None:
        """Leaves the page open and opens another: leaving it would break off what it still loads, its icon for one."""
        self.page = await self._context.new_page()
        self._listen()

    def _listen(self) -> None:
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "requestfailed", lambda request: self.complaints.append(f"{request.url} {request.failure}")
        )

    async def loaded(self) -> None:
        """Waits for its pictures, which are drawn when they are first asked for."""
        await self.page.evaluate(
            "Promise.all([...document.images].map(each => { each.loading = 'eager'; return each.decode(); }))"
        )

    async def evaluate(self, expression: str) -> Any:
        return await self.page.evaluate(expression)


@pytest.fixture(params=[1280, 390], ids=["desk", "hand"])
async def tab(
    request: pytest.FixtureRequest, new_browser_context: Callable[..., Awaitable[BrowserContext]]
) -> Tab:
    context = await new_browser_context(viewport={"width": request.param, "height": 844})
    return Tab(context, await context.new_page())


@pytest.mark.extended
async def test_pages_fit_the_screen_and_nothing_is_blocked(tab: Tab, origin: str) -> None:
    for path in (
        "/",
        "/sites/daily-grind/",
        "/sites/daily-grind/page/2",
        "/sites/daily-grind/search/?q=brewing",
        "/sites/daily-grind/cold-brew",
        "/sites/daily-grind/emoji",
    ):
        await tab.renew()
        response = await tab.page.goto(origin + path)
        assert response is not None
        assert response.status == 200
        width, room = await tab.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= room, f"{path} is {width} px wide in {room} px"
        left = await tab.evaluate(
            "Math.min(...[...document.querySelectorAll('body *:not(.skip)')].map(e => e.getBoundingClientRect().left))"
        )
        assert left >= 0, f"something on {path} sticks out to the left by {-left} px"
        assert await tab.evaluate("getComputedStyle(document.body).marginTop") == "0px", (
            "the stylesheet is missing"
        )
        # Pictures are there, and as large as the page said, so nothing moved when they came.
        await tab.loaded()
        pictures = await tab.evaluate(
            "[...document.images].map(i => [i.complete, i.naturalWidth, i.naturalHeight, i.width, i.height])"
        )
        assert bool(pictures) == (path != "/")
        expected = (1200, 630) if path.endswith(("cold-brew", "emoji")) else (480, 205)
        for complete, natural_width, natural_height, width, height in pictures:
            assert (complete, natural_width, natural_height) == (True, *expected)
            assert height == pytest.approx(width * expected[1] / expected[0], abs=1)
        assert await tab.evaluate("document.scripts.length") == path.endswith(("cold-brew", "emoji"))
    assert await tab.page.title() == f"☕️ {'Emoji' * 40} <script> – The Daily Grind"  # noqa: RUF001
    assert tab.complaints == []


@pytest.mark.extended
async def test_nothing_moves_while_the_cover_is_drawn(tab: Tab, origin: str) -> None:
    await tab.page.add_init_script(
        "window.moved = 0; new PerformanceObserver(l => l.getEntries().forEach(e => { window.moved += e.value; }))"
        ".observe({type: 'layout-shift', buffered: true});"
    )
    await tab.page.goto(f"{origin}/sites/daily-grind/cold-brew", wait_until="commit")
    image = tab.page.locator("img.cover")
    before = await image.bounding_box()
    await tab.page.wait_for_load_state("load")
    assert await image.evaluate("i => i.complete && i.naturalWidth") == 1200
    assert await image.bounding_box() == before
    assert await tab.evaluate("window.moved") == 0
    assert tab.complaints == []


@pytest.mark.extended
@pytest.mark.parametrize("size", [(1500, 100), (100, 1500), (300, 300)], ids=["wide", "tall", "square"])
async def test_a_logo_of_any_shape_keeps_to_the_header_and_moves_nothing(
    tab: Tab, origin: str, database: Database, size: tuple[int, int]
) -> None:
    file = BytesIO()
    Image.new("RGBA", size, (20, 24, 40, 255)).save(file, "PNG")
    async with database.transaction() as tx:
        await logos.save(tx.connection, BrandSlug("daily-grind"), *normalise_logo(file.getvalue()))
    await tab.page.add_init_script(
        "window.moved = 0; new PerformanceObserver(l => l.getEntries().forEach(e => { window.moved += e.value; }))"
        ".observe({type: 'layout-shift', buffered: true});"
    )
    await tab.page.emulate_media(color_scheme="dark")
    for path in ("/sites/daily-grind/cold-brew", "/sites/daily-grind/"):
        await tab.page.goto(origin + path)
        image = tab.page.locator("header img.logo")
        assert await image.evaluate("i => i.complete && i.naturalWidth > 0")
        box = await image.bounding_box()
        assert box is not None
        assert 0 < box["width"] <= 300
        assert 40 <= box["height"] <= 90
        width, room = await tab.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= room
        assert await tab.evaluate("window.moved") == 0
    assert tab.complaints == []


@pytest.mark.extended
async def test_a_reader_searches_without_any_script(tab: Tab, origin: str) -> None:
    await tab.page.goto(f"{origin}/sites/daily-grind/")
    await tab.loaded()
    await tab.page.get_by_role("link", name="Search").click()
    await tab.page.get_by_role("searchbox").fill('script "')
    await tab.page.get_by_role("searchbox").press("Enter")
    await tab.page.wait_for_url("**/search/?q=*")
    assert await tab.page.get_by_role("searchbox").input_value() == 'script "'
    assert await tab.page.locator(".listing h2").all_inner_texts() == [f"☕️ {'Emoji' * 40} <script>"]
    assert tab.complaints == []


@pytest.mark.extended
async def test_a_brand_has_its_colour_and_typefaces_by_day_and_by_night(
    tab: Tab, origin: str, database: Database
) -> None:
    async with database.transaction() as tx:
        settings = SiteSettings(accent="#ffcc00", typefaces=Typefaces.SANS, tags=("brewing",))
        await site_settings.save(tx.connection, BrandSlug("daily-grind"), settings)
    seen = {}
    for scheme in ("light", "dark"):
        await tab.page.emulate_media(color_scheme=scheme)
        await tab.page.goto(f"{origin}/sites/daily-grind/cold-brew")
        link = tab.page.locator(".tags a")
        assert await link.inner_text() == "brewing"
        seen[scheme] = await link.evaluate("e => getComputedStyle(e).color")
    # Yellow as it is by night; by day as dark as text has to be.
    assert seen == {"light": "rgb(133, 106, 0)", "dark": "rgb(255, 204, 0)"}
    assert "serif" not in (await tab.evaluate("getComputedStyle(document.body).fontFamily")).replace(
        "sans-serif", ""
    )
    width, room = await tab.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert width <= room
    assert tab.complaints == []


@pytest.mark.real
@pytest.mark.parametrize("accent", [None, "#ffcc00"])
async def test_checkers_find_nothing_on_any_page(
    tab: Tab, origin: str, database: Database, page_checks: PageChecks, tmp_path: Path, accent: str | None
) -> None:
    async with database.transaction() as tx:
        settings = SiteSettings(
            accent=accent, tags=("brewing",), author=Author(name="Ada B.", about="Brews.")
        )
        await site_settings.save(tx.connection, BrandSlug("daily-grind"), settings)
    documents = []
    for scheme in ("light", "dark"):
        await tab.page.emulate_media(color_scheme=scheme)
        for path in (
            "",
            "page/2",
            "cold-brew",
            "emoji",
            "tags/brewing",
            "search/?q=brewing",
            "authors/ada-b",
            "no",
        ):
            response = await tab.page.goto(f"{origin}/sites/daily-grind/{path}")
            assert response is not None
            # Its title is longer than any that an article may have.
            if path != "emoji":
                documents.append(await response.text())
            assert await page_checks.accessibility(tab.page) == [], (path, scheme)
    assert page_checks.html(documents, tmp_path) == []
    await tab.page.set_content("<p style='color: #888'>grey on white <img src='x'></p>")
    assert len(await page_checks.accessibility(tab.page)) >= 2, "what is wrong is found"


@pytest.mark.extended
async def test_long_tables_open_without_a_script_and_are_printed(tab: Tab, origin: str) -> None:
    await tab.page.goto(f"{origin}/sites/daily-grind/cold-brew")
    cell = tab.page.get_by_text("row 13", exact=True)
    assert not await cell.is_visible()
    await tab.page.emulate_media(media="print")
    box = await cell.bounding_box()
    assert box is not None
    assert box["height"] > 0
    await tab.page.emulate_media(media="screen")
    await tab.page.get_by_text("Table of 13 rows").click()
    assert await cell.is_visible()
    assert tab.complaints == []


@pytest.mark.extended
async def test_the_text_begins_before_the_contents_on_the_first_screen(tab: Tab, origin: str) -> None:
    await tab.page.goto(f"{origin}/sites/daily-grind/cold-brew")
    text = await tab.page.locator(".prose p").first.bounding_box()
    contents = await tab.page.locator(".contents").bounding_box()
    assert text is not None
    assert contents is not None
    assert text["y"] + text["height"] <= 844
    assert text["y"] < contents["y"]


@pytest.mark.extended
async def test_a_citation_jumps_to_its_source_and_back(tab: Tab, origin: str) -> None:
    await tab.page.goto(f"{origin}/sites/daily-grind/cold-brew")
    assert await tab.page.title() == "Cold brew at home – The Daily Grind"  # noqa: RUF001
    await tab.page.locator("a.citation[href='#source-2']").first.click()
    source = tab.page.locator("#source-2")
    assert await source.evaluate("element => element.matches(':target')")
    assert await _in_view(source)
    await source.locator("a.back").click()
    assert tab.page.url.endswith("#cite-2")
    assert await _in_view(tab.page.locator("#cite-2"))
    await tab.page.locator(".contents a").nth(3).click()
    assert await _in_view(tab.page.locator("#section-section-4-about-brewing"))
    assert tab.complaints == []


@pytest.mark.extended
async def test_the_keyboard_reaches_everything_visibly(tab: Tab, origin: str) -> None:
    await tab.page.goto(f"{origin}/sites/daily-grind/cold-brew")
    seen = []
    for _ in range(12):
        await tab.page.keyboard.press("Tab")
        style, width, box, name = await tab.evaluate(
            """() => {
                const element = document.activeElement, style = getComputedStyle(element);
                const box = element.getBoundingClientRect();
                return [style.outlineStyle, parseFloat(style.outlineWidth), [box.top, box.left, box.width],
                        element.textContent.trim()];
            }"""
        )
        assert style == "solid", name
        assert width >= 2
        assert box[0] >= 0, f"{name} has the focus off screen"
        assert box[1] >= 0
        assert box[2] > 0
        seen.append(name)
    assert seen[:5] == ["Skip to content", "The Daily Grind", "Articles", "Search", "Subscribe"]


async def _in_view(locator: Any) -> bool:
    return bool(
        await locator.evaluate(
            "e => { const b = e.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight; }"
        )
    )
