"""Every screen, which this test finds by itself, with hostile words in all that it shows; by axe in light and dark, wide and narrow.

A screen that this test does not reach needs data that the fixture `hostile_brand` lacks, or a link from another screen.
"""

import gzip
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Page, Request, Response

from tests.fixtures.console.screens import Links, Screens, page_routes

MOST_BYTES: Final = 60_000
LOOKS: Final = [("light", 1280), ("dark", 360)]
SIGNED_OUT: Final = frozenset(
    {"/sign-in", "/start/{token}", "/invitations/{token}", "/p/{token}", "/p/{token}/page"}
)
"""Looked at by somebody who is not signed in."""
BROKEN: Final = ("/nowhere", "/b/nobody", "/b/acme/drafts/nothing", "/b/acme/posts/nothing")
"""What a mistyped address shows."""
_WATCH: Final = """
window.__hit = 0; window.__violations = [];
document.addEventListener('securitypolicyviolation', (event) =>
    window.__violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
_LOOK: Final = """() => {
    for (const each of document.querySelectorAll('details')) each.open = true;
    const root = document.documentElement;
    const wide = root.scrollWidth - window.innerWidth;
    const widest = wide <= 0 ? '' : [...document.querySelectorAll('main *, header *, nav *')]
        .filter((each) => each.getBoundingClientRect().right > window.innerWidth + 1)
        .map((each) => each.outerHTML.slice(0, 150)).slice(0, 3).join(' | ');
    return {
        hit: window.__hit, violations: window.__violations, wide, widest,
        text: [document.body.innerText, ...[...document.querySelectorAll('input, textarea')].map((each) => each.value)].join('\\n'),
        // A pattern that is no expression checks nothing; the browser says so only when somebody types.
        patterns: [...document.querySelectorAll('[pattern]')].map((each) => each.pattern).filter((each) => {
            try { new RegExp(`^(?:${each})$`, 'v'); return false; } catch { return true; }
        }),
        planted: [...document.querySelectorAll(
            "img[src='x'], svg[onload], [onerror], [onfocus], a[href^='javascript:' i], script:not([src])"
        )].map((each) => each.outerHTML.slice(0, 200)),
    };
}"""


@dataclass
class WatchedPage:
    """A tab that notes whatever it should not do."""

    page: Page
    url: str
    look: str
    problems: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    """The text of each page."""
    at: str = ""

    def __post_init__(self) -> None:
        self.page.on("dialog", self._dialog)
        self.page.on("pageerror", lambda error: self.note(f"script failed: {error}"))
        self.page.on("console", lambda said: said.type == "error" and self._said(said.text))
        self.page.on("request", self._asked)
        self.page.on("response", self._answered)

    def note(self, problem: str) -> None:
        self.problems.append(f"{self.at} ({self.look}): {problem}")

    async def _dialog(self, dialog: Any) -> None:
        self.note(f"a dialog opened: {dialog.message}")
        await dialog.dismiss()

    def _said(self, text: str) -> None:
        # The status of a page that shows an error is an error to the browser, too.
        if not (self.at in BROKEN and "status of 4" in text):
            self.note(f"console: {text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "about:", "blob:")):
            self.note(f"asked elsewhere: {request.url[:200]}")
        elif request.resource_type == "image" and urlsplit(request.url).path.endswith("/x"):
            self.note("an image of a hostile word was asked for")

    def _answered(self, response: Response) -> None:
        if response.status >= 500:
            self.note(f"{response.status} of {response.url}")

    async def visit(
        self, address: str, status: int, check: Callable[[Page], Awaitable[list[str]]] | None
    ) -> None:
        self.at = address
        answer = await self.page.goto(self.url + address)
        assert answer is not None
        if answer.status != status:
            self.note(f"answers {answer.status}")
        found = await self.page.evaluate(_LOOK)
        self.shown.append(found["text"])
        if found["hit"]:
            self.note(f"hostile words ran: {found['hit']}")
        if "x49x" in found["text"]:
            self.note("a hostile word was computed")
        if found["wide"] > 0:
            self.note(f"{found['wide']} px too wide: {found['widest']}")
        self.problems += [
            f"{address} ({self.look}): {each}"
            for each in (*found["violations"], *found["planted"], *found["patterns"])
        ]
        if check is not None:
            for each in await check(self.page):
                self.note(each)


@pytest.fixture
async def screens(hostile_brand: Any) -> Screens:
    """All screens that can be found."""
    found = Screens(page_routes(hostile_brand.console.pages) - SIGNED_OUT)
    await found.crawl(hostile_brand.owner, {"brand": "acme"}, ["/", "/b/other", *hostile_brand.addresses])
    return found


@pytest.fixture
def weigh(hostile_brand: Any) -> Callable[[Screens], Awaitable[list[str]]]:
    async def weighed(screens: Screens) -> list[str]:
        """The screens that take more than MOST_BYTES, compressed, of a browser that has seen the first page."""
        known = set(Links(screens.texts["/"].text).addresses)
        heavy = []
        for address in screens.addresses:
            size = len(gzip.compress(screens.texts[address].content))
            for each in set(Links(screens.texts[address].text).addresses) - known:
                if each.startswith("/assets/"):
                    size += len(gzip.compress((await hostile_brand.owner.get(each)).content))
            if size > MOST_BYTES:
                heavy.append(f"{address}: {size} bytes")
        return heavy

    return weighed


async def watched(
    url: str,
    cookies: httpx.Cookies | None,
    new_browser_context: Callable[..., Awaitable[Any]],
    scheme: str,
    width: int,
) -> WatchedPage:
    context = await new_browser_context(
        color_scheme=scheme, viewport={"width": width, "height": 800}, locale="en"
    )
    await context.add_init_script(_WATCH)
    if cookies is not None:
        await context.add_cookies(
            [{"name": name, "value": value, "url": url} for name, value in cookies.items()]
        )
    return WatchedPage(await context.new_page(), url, f"{scheme}, {width} px")


def is_page(screens: Screens, address: str) -> bool:
    """Whether it is a whole page, rather than a frame, a fragment or a file."""
    text = screens.texts[address].text
    return "<main" in text and text.lstrip().lower().startswith("<!doctype html>")


def unseen(words: Iterable[tuple[str, str]], shown: Iterable[str]) -> list[str]:
    everything = "\n".join(shown)
    return [what for what, word in words if word not in everything]


@pytest.mark.extended
async def test_no_screen_runs_what_others_wrote_or_is_too_wide_or_too_heavy(
    hostile_brand: Any,
    screens: Screens,
    weigh: Callable[[Screens], Awaitable[list[str]]],
    new_browser_context: Callable[..., Awaitable[Any]],
) -> None:
    assert not screens.broken
    assert await weigh(screens) == []
    assert not screens.missing, (
        f"no page links to these; see the docstring of this file: {', '.join(screens.missing)}"
    )
    tab = await watched(
        hostile_brand.console.url, hostile_brand.owner.cookies, new_browser_context, *LOOKS[1]
    )
    for address in screens.some(3):
        if is_page(screens, address):
            await tab.visit(address, 200, None)
    assert not tab.problems, "\n".join(tab.problems)
    assert unseen(hostile_brand.words.items(), tab.shown) == []


@pytest.mark.slow
async def test_axe_finds_nothing_on_any_screen_light_or_dark_wide_or_narrow(
    hostile_brand: Any,
    screens: Screens,
    new_browser_context: Callable[..., Awaitable[Any]],
    page_checks: Any,
) -> None:
    url, problems = hostile_brand.console.url, []
    link = (await hostile_brand.console.invite("Third", "viewer")).removeprefix(url)
    for look in LOOKS:
        tab = await watched(url, hostile_brand.owner.cookies, new_browser_context, *look)
        for address in screens.some(1):
            if is_page(screens, address):
                await tab.visit(address, 200, page_checks.accessibility)
        for address in BROKEN:
            await tab.visit(address, 404, page_checks.accessibility)
        stranger = await watched(url, None, new_browser_context, *look)
        for address in ("/sign-in", link):
            await stranger.visit(address, 200, page_checks.accessibility)
        await stranger.visit("/start/no-such-token", 404, page_checks.accessibility)
        problems += tab.problems + stranger.problems
    assert not problems, "\n".join(problems)
