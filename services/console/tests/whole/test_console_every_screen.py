"""Every screen that the routers have, with hostile words in all that it shows, in light and dark, wide and narrow.

A screen that this test does not reach needs data that the fixture `hostile_brand` lacks, or a link from another screen.
"""

import asyncio
import gzip
import logging
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Page, Request, Response, Route

from console.texts import LANGUAGES
from tests.fixtures.console.keyboard import walk_by_tab
from tests.fixtures.console.screens import Links, Screens, find_screens, find_signed_out, is_page
from tests.fixtures.console.words import VALUE, faults_of_words
from tests.fixtures.page_checks import PageChecks

MOST_BYTES: Final = 60_000
LOOKS: Final[Sequence[tuple[Literal["light", "dark"], int]]] = (
    ("dark", 360),
    ("light", 360),
    ("dark", 1280),
    ("light", 1280),
)
"""Each page is loaded once, in the first look, and turned to the others."""
SECONDS_OF_A_PAGE: Final = 180
"""For all looks at one page and its walk by the Tab key, on a busy machine: no page of those that pass takes a third of it."""
TABS: Final = 2
"""At once: each has a process of its own."""
PARTS: Final = 8
"""Into which the slow looks of one language are divided: each takes minutes."""
OF_EVERY_DAY: Final = (
    "/",
    "/b/{brand}/calendar",
    "/b/{brand}/drafts",
    "/b/{brand}/drafts/{content_id}",
    "/b/{brand}/keywords/{keyword_id}",
    "/b/{brand}/posts/{post_id}",
    "/b/{brand}/settings",
)
"""Looked at by axe, and gone through by the Tab key, in the run that everybody makes."""
IN_SANDBOX: Final = re.compile(r"/page(\?|$)|/site/look(\?|$)")
"""Pages of articles and sites, shown in frames: in the language of their brand."""
FOREIGN: Final = re.compile(rf"{IN_SANDBOX.pattern}|^/help/")
"""Pages in another language than the reader's: those, and the docs."""
BROKEN: Final = ("/nowhere", "/b/nobody", "/b/acme/drafts/nothing", "/b/acme/posts/nothing")
"""What a mistyped address shows."""
NO_LINK: Final = "/start/no-such-token"
NO_DATA: Final = "no page links to these; give the fixture `hostile_brand` what they show, or its addresses how to reach them"
_log: Final = logging.getLogger(__name__)
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
        said: (() => {
            const page = document.body.cloneNode(true);
            for (const each of page.querySelectorAll('code, pre, textarea, script, style, template')) each.remove();
            return page.textContent;
        })(),
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

_OPEN: Final = "document.querySelectorAll('main details').forEach((each) => { each.open = true; })"
_OPEN_MENU: Final = """(number) => {
    const rest = document.querySelector('.bar .rest');
    if (number === 1) rest?.showPopover(); else if (rest?.matches(':popover-open')) rest.hidePopover();
    const menus = document.querySelectorAll('.bar .menu');
    menus.forEach((each, at) => { each.open = at === number; });
    return menus.length > 0;
}"""


def name_of(scheme: str, width: int) -> str:
    return f"{scheme}, {width} px"


@dataclass(frozen=True)
class Press:
    """A form whose answer is a page that no address leads to."""

    address: str
    form: str
    fields: Mapping[str, str] = field(default_factory=dict)
    """By selector."""
    checked: Sequence[str] = ()
    button: str = "button"
    status: int = 200


@dataclass
class WatchedPage:
    """A tab that notes its faults."""

    page: Page
    url: str
    checks: PageChecks | None
    """For axe on each page."""
    problems: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    """The text of each page."""
    at: str = ""
    look: str = ""
    is_wide: bool = False
    is_refused: bool = False
    """Whether an error is what the page should answer."""

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
        if not (self.is_refused and "status of 4" in text):
            self.note(f"console: {text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "about:", "blob:")):
            self.note(f"asked elsewhere: {request.url[:200]}")
        elif request.resource_type == "image" and urlsplit(request.url).path.endswith("/x"):
            self.note("an image of a hostile word was asked for")

    def _answered(self, response: Response) -> None:
        if response.status >= 500:
            self.note(f"{response.status} of {response.url}")

    async def visit(self, address: str, status: int = 200) -> None:
        async with self._bound(address, status):
            await self._turn(*LOOKS[0])
            self._check(await self.page.goto(self.url + address), status)
            await self._look_at_all()

    async def press(self, wanted: "Press") -> None:
        """Sends a form, and looks at the answer."""
        async with self._bound(f"{wanted.address}, {wanted.form}", wanted.status):
            await self._press(wanted)

    async def _press(self, wanted: "Press") -> None:
        await self._turn(*LOOKS[0])
        await self.page.goto(self.url + wanted.address)
        await self.page.evaluate(_OPEN)
        form = self.page.locator(wanted.form).first
        for selector, value in wanted.fields.items():
            await form.locator(selector).first.fill(value)
        for selector in wanted.checked:
            await form.locator(selector).first.check()
        async with self.page.expect_navigation() as answer:
            await form.locator(wanted.button).first.click()
        self._check(await answer.value, wanted.status)
        await self._look_at_all()

    @asynccontextmanager
    async def _bound(self, at: str, status: int) -> AsyncIterator[None]:
        """A page that takes too long fails the test by its name, and holds no other up."""
        self.at, self.is_refused = at, status >= 400
        began = time.monotonic()
        try:
            async with asyncio.timeout(SECONDS_OF_A_PAGE):
                yield
        except TimeoutError:
            self.note(f"takes more than {SECONDS_OF_A_PAGE} seconds")
        _log.info("%s: %.1f seconds", at, time.monotonic() - began)

    def _check(self, answer: Response | None, status: int) -> None:
        assert answer is not None
        if answer.status != status:
            self.note(f"answers {answer.status}")

    async def _look_at_all(self) -> None:
        if self.checks is not None:
            await self.checks.load(self.page)
        for each in LOOKS:
            await self._turn(*each)
            await self._look()
        if self.checks is not None:
            for each in await walk_by_tab(self.page):
                self.note(each)

    async def _turn(self, scheme: Literal["light", "dark"], width: int) -> None:
        self.look, self.is_wide = name_of(scheme, width), width == LOOKS[-1][1]
        await self.page.set_viewport_size({"width": width, "height": 800})
        await self.page.emulate_media(color_scheme=scheme)

    async def _look(self) -> None:
        found = await self.page.evaluate(_LOOK)
        self.shown.append(found["text"])
        if found["hit"]:
            self.note(f"hostile words ran: {found['hit']}")
        if "x49x" in found["text"]:
            self.note("a hostile word was computed")
        if value := VALUE.search(found["said"]):
            self.note(f"shows a value of a program: {value[0]}")
        if found["wide"] > 0:
            self.note(f"{found['wide']} px too wide: {found['widest']}")
        for each in (*found["violations"], *found["planted"], *found["patterns"]):
            self.note(each)
        if self.checks is not None:
            has_menus = await self.page.evaluate(_OPEN_MENU, None)
            for each in await self.checks.violations(self.page):
                self.note(each)
            # An open menu lies over a part of the page: it is looked at alone. The brands' is, on the dark phone, and the rest's, on
            # the light one.
            if has_menus and not self.is_wide:
                await self.page.evaluate(_OPEN_MENU, int("light" in self.look))
                for each in await self.checks.violations(self.page, ".bar"):
                    self.note(f"menu: {each}")
                await self.page.evaluate(_OPEN_MENU, None)


@pytest.fixture
async def screens(hostile_brand: Any) -> Screens:
    """All screens that can be found."""
    return await find_screens(hostile_brand, hostile_brand.owner)


def faults(screens: Screens, language: str) -> list[str]:
    """What no reader should see: errors, planted elements, keys of texts, values of programs, another language."""
    found = list(screens.broken)
    for address, answer in screens.texts.items():
        if is_page(screens, address) and not FOREIGN.search(address):
            found += [f"{address} ({language}): {each}" for each in faults_of_words(answer.text, language)]
    return found


def expect_no_faults(screens: Screens, language: str) -> None:
    found = faults(screens, language)
    assert not found, "\n".join(found)


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


@dataclass(frozen=True)
class Visitor:
    """A browser's profile, which visits pages in several tabs."""

    tabs: list[WatchedPage]

    async def visit(self, addresses: Iterable[str], status: int = 200) -> None:
        waiting = deque(addresses)

        async def go_on(tab: WatchedPage) -> None:
            while waiting:
                await tab.visit(waiting.popleft(), status)

        async with asyncio.TaskGroup() as group:
            for tab in self.tabs:
                group.create_task(go_on(tab))

    @property
    def problems(self) -> list[str]:
        return [each for tab in self.tabs for each in tab.problems]

    @property
    def shown(self) -> list[str]:
        return [each for tab in self.tabs for each in tab.shown]


async def _without_sandbox(route: Route) -> None:
    """Answers with the page of a draft or a site in which axe can work: in a sandbox no timer ever ends, and so it would not."""
    answer = await route.fetch()
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox;")
    await route.fulfill(
        response=answer,
        headers={**answer.headers, "content-security-policy": policy.removeprefix("sandbox;")},
    )


async def visitor(
    url: str,
    cookies: httpx.Cookies | None,
    new_browser_context: Callable[..., Awaitable[Any]],
    checks: PageChecks | None = None,
    language: str = "en",
) -> Visitor:
    # Moving colours are between two that were chosen.
    context = await new_browser_context(locale=language, reduced_motion="reduce")
    await context.add_init_script(_WATCH)
    if checks is not None:
        await context.route(IN_SANDBOX, _without_sandbox)
    if cookies is not None:
        await context.add_cookies(
            [{"name": name, "value": value, "url": url} for name, value in cookies.items()]
        )
    return Visitor([WatchedPage(await context.new_page(), url, checks) for _ in range(TABS)])


def _presses(word: str) -> Iterable[Press]:
    """What is shown once, and what a list or a form says after a refusal."""
    yield Press("/b/acme/calendar", "form[action$='/calendar/links']", {"[name=name]": word})
    yield Press("/people", "form[action$='/people/invite']", {"[name=name]": word})
    yield Press("/keys", "form[action$='/keys']", {"[name=name]": "one-more"}, ["[name=scopes]"])
    yield Press("/me", "form[action$='/me/recovery-codes']")
    yield Press("/b/acme/calendar/slots/mastodon-eu", "form.form", {"[name=mon]": word}, status=422)
    yield Press("/b/acme/posts", "[data-many]", button="[name=do]")


def unseen(words: Iterable[tuple[str, str]], shown: Iterable[str]) -> list[str]:
    everything = "\n".join(shown)
    return [what for what, word in words if word not in everything]


@pytest.mark.extended
async def test_no_screen_runs_what_others_wrote_or_is_too_wide_or_too_heavy(
    hostile_brand: Any,
    screens: Screens,
    weigh: Callable[[Screens], Awaitable[list[str]]],
    new_browser_context: Callable[..., Awaitable[Any]],
    page_checks: PageChecks,
) -> None:
    assert not screens.missing, f"{NO_DATA}: {', '.join(screens.missing)}"
    expect_no_faults(screens, "en")
    assert await weigh(screens) == []
    url, cookies = hostile_brand.console.url, hostile_brand.owner.cookies
    person = await visitor(url, cookies, new_browser_context)
    await person.visit(address for address in screens.some(3) if is_page(screens, address))
    assert not person.problems, "\n".join(person.problems)
    assert unseen(hostile_brand.words.items(), person.shown) == []

    careful = await visitor(url, cookies, new_browser_context, page_checks)
    await careful.visit(screens.by_route[each][0] for each in OF_EVERY_DAY)
    assert not careful.problems, "\n".join(careful.problems)


@pytest.mark.slow
async def test_other_readers_strangers_and_an_empty_brand_have_screens_in_their_language(
    hostile_brand: Any, new_browser_context: Callable[..., Awaitable[Any]]
) -> None:
    url = hostile_brand.console.url
    german = await find_screens(hostile_brand, hostile_brand.german)
    assert not german.missing, f"{NO_DATA}: {', '.join(german.missing)}"
    expect_no_faults(german, "de")
    reader = await visitor(url, hostile_brand.german.cookies, new_browser_context, language="de")
    await reader.visit(address for address in german.some(2) if is_page(german, address))
    for person, language in ((hostile_brand.owner, "en"), (hostile_brand.german, "de")):
        empty = await find_screens(hostile_brand, person, "other")
        expect_no_faults(empty, language)
        if language == "de":
            addresses = [each for each in empty.some(2) if each.startswith("/b/other")]
            await reader.visit(each for each in addresses if is_page(empty, each))
        stranger = await visitor(url, None, new_browser_context, language=language)
        signed_out = await find_signed_out(hostile_brand, language)
        assert not signed_out.missing, f"{NO_DATA}: {', '.join(signed_out.missing)}"
        expect_no_faults(signed_out, language)
        await stranger.visit(each for each in signed_out.some(1) if is_page(signed_out, each))
        assert not stranger.problems, "\n".join(stranger.problems)
    assert not reader.problems, "\n".join(reader.problems)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("language", LANGUAGES)
async def test_axe_finds_nothing_on_any_screen_and_the_tab_key_reaches_everything(
    hostile_brand: Any,
    new_browser_context: Callable[..., Awaitable[Any]],
    page_checks: PageChecks,
    language: str,
    part: int,
) -> None:
    reader = {"en": hostile_brand.owner, "de": hostile_brand.german}[language]
    screens = await find_screens(hostile_brand, reader)
    person = await visitor(
        hostile_brand.console.url, reader.cookies, new_browser_context, page_checks, language
    )
    addresses = dict.fromkeys((*screens.some(1), *hostile_brand.addresses))
    found = [each for each in addresses if each in screens.texts and is_page(screens, each)]
    await person.visit(found[part::PARTS])
    assert not person.problems, "\n".join(person.problems)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
async def test_axe_finds_nothing_on_answers_of_forms_errors_and_screens_without_an_account(
    hostile_brand: Any,
    new_browser_context: Callable[..., Awaitable[Any]],
    page_checks: PageChecks,
    language: str,
) -> None:
    url = hostile_brand.console.url
    reader = {"en": hostile_brand.owner, "de": hostile_brand.german}[language]
    person = await visitor(url, reader.cookies, new_browser_context, page_checks, language)
    stranger = await visitor(url, None, new_browser_context, page_checks, language)
    for each in _presses(hostile_brand.words["keyword"]):
        await person.tabs[0].press(each)
    await person.visit(BROKEN, 404)
    signed_out = await find_signed_out(hostile_brand, language)
    await stranger.visit(each for each in signed_out.some(1) if is_page(signed_out, each))
    await stranger.visit((NO_LINK,), 404)
    problems = person.problems + stranger.problems
    assert not problems, "\n".join(problems)
