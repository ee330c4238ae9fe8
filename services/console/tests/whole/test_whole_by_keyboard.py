"""What a person does from the first link to approved drafts, an account and a key, by the keyboard alone."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import asyncpg
import pytest
from playwright.async_api import Locator, Page

from chassis.testing import eventually
from client import Address
from client.services.social import AsyncSocial

pytestmark = pytest.mark.extended
KEY: Final = "test-service-key-0123456789"
PASSWORD: Final = "correct horse battery staple"
ENDED: Final = frozenset({"completed", "refused", "failed", "needs_review"})
MOST_PRESSES: Final = 400
_IS_THERE: Final = "(each) => each === document.activeElement"
_IS_SEEN: Final = """() => {
    const style = getComputedStyle(document.activeElement), box = document.activeElement.getBoundingClientRect();
    const marked = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
    return marked && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
}"""


class Keyboard:
    """Hands that never touch a mouse."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)

    async def to(self, wanted: str | Locator, *, key: str = "Tab") -> None:
        """Presses Tab until the focus is on the first that matches, and sees that it shows."""
        found = (self.page.locator(wanted) if isinstance(wanted, str) else wanted).first
        await found.wait_for()
        for _ in range(MOST_PRESSES):
            if await found.evaluate(_IS_THERE):
                assert await self.page.evaluate(_IS_SEEN), f"one does not see the focus on {wanted}"
                return
            await self.press(key)
        raise AssertionError(f"{self.page.url}: the Tab key does not reach {wanted}")

    async def type(self, wanted: str | Locator, text: str) -> None:
        """Goes to a field, and replaces what stands there."""
        await self.to(wanted)
        await self.press("Control+A")
        for line, words in enumerate(text.split("\n")):
            if line:
                await self.press("Enter")
            await self.page.keyboard.type(words)

    async def use(self, wanted: str | Locator) -> None:
        """Goes to a link or a button, and waits for the page that it leads to."""
        await self.to(wanted)
        await self.follow("Enter")

    async def follow(self, key: str) -> None:
        async with self.page.expect_navigation():
            await self.press(key)

    async def go(self, screen: str) -> None:
        await self.use(f"nav a[href$='{screen}']")

    async def said(self) -> str:
        return await self.page.inner_text("main")


async def _signs_out_and_in(hands: Keyboard) -> None:
    await hands.use("form[action$='/sign-out'] button")
    if not hands.page.url.endswith("/sign-in"):
        await hands.page.goto(re.sub(r"(://[^/]+).*", r"\1/sign-in", hands.page.url))
    # The first field has the focus by itself.
    assert await hands.page.locator("[name=name]").evaluate(_IS_THERE)
    await hands.page.keyboard.type("Ada")
    await hands.type("[name=password]", PASSWORD)
    await hands.follow("Enter")
    assert await hands.page.locator(".person").inner_text() == "Ada"


async def _skips_to_the_content(hands: Keyboard) -> None:
    await hands.page.reload()
    await hands.press("Tab")
    assert await hands.page.locator(".skip").evaluate(_IS_THERE)
    assert await hands.page.evaluate(_IS_SEEN)
    await hands.press("Enter", "Tab")
    assert await hands.page.evaluate("document.querySelector('main').contains(document.activeElement)")


async def _makes_a_brand(hands: Keyboard, console: Any) -> None:
    await hands.use("main a[href$='/start-here']")
    await hands.type("[name=name]", "Harbor Coffee")
    await hands.to("[name=web]")
    await hands.press("Space")
    assert await hands.page.locator("[name=web]").is_checked()
    await hands.press("Space")
    await hands.to("[name=approval]:checked")
    await hands.press("ArrowDown", "ArrowUp")
    assert await hands.page.locator("[name=approval][value=everything]").is_checked()
    await hands.type("[name=keywords]", "cold brew coffee\npour-over coffee")
    await hands.use("main form button:not([type=button])")
    assert "/b/harbor-coffee/keywords/" in hands.page.url
    await console.orchestrator.set_brand(
        "harbor-coffee",
        name="Harbor Coffee",
        channels=["feed", "mastodon"],
        approval="everything",
        posts_approval="everything",
    )


async def _submits_keywords(hands: Keyboard) -> None:
    await hands.go("/b/harbor-coffee/keywords")
    await hands.use("main a[href$='/keywords/add']")
    await hands.type("#keywords", "grind size\nwater quality for coffee")
    await hands.to("[name=priority]")
    await hands.press("ArrowUp")
    await hands.use(hands.page.get_by_role("button", name="Submit keywords"))
    assert "2 keywords" in await hands.said()


async def _finds_by_the_search(hands: Keyboard) -> None:
    await hands.to("nav.screens a >> nth=1")
    await hands.press("Control+K")
    dialog = hands.page.locator("dialog.search-dialog")
    await dialog.wait_for()
    await hands.page.keyboard.type("keywords")
    await dialog.locator("[data-of='keywords'] a[data-result]").first.wait_for()
    for _ in range(12):
        await hands.press("Tab")
        assert await hands.page.evaluate(
            "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        ), "the focus leaves the dialog"
    await hands.press("Escape")
    await dialog.wait_for(state="hidden")
    assert await hands.page.locator("nav.screens a >> nth=1").evaluate(_IS_THERE), "the focus does not return"
    await hands.press("/")
    await dialog.wait_for()
    await hands.page.keyboard.type(" drafts")
    found = dialog.locator("[data-of='drafts'] a[data-result]").first
    await found.wait_for()
    await hands.press("ArrowDown")
    assert await found.evaluate(_IS_THERE)
    # What is found anew, as after one more letter, takes the focus from nobody.
    before = await found.element_handle()
    await dialog.locator("input[type=search]").dispatch_event("input")
    await before.wait_for_element_state("hidden")
    await eventually(lambda: found.evaluate(_IS_THERE))
    await hands.follow("Enter")


async def _goes_through_drafts(hands: Keyboard, tomorrow: datetime) -> None:
    page = hands.page
    await hands.go("/b/harbor-coffee/drafts")
    rows = page.locator("[data-row] [data-open]")
    assert await rows.count() == 4
    await hands.press("j", "j")
    assert await rows.nth(1).evaluate(_IS_THERE)
    await hands.press("k", "x")
    assert await page.locator("[name=chosen]").first.is_checked()
    await hands.press("x")
    assert await rows.first.evaluate(_IS_THERE)
    await hands.follow("e")
    # The text has the focus by itself.
    area = page.locator("textarea[name=body_markdown]")
    await eventually(lambda: area.evaluate(_IS_THERE))
    await hands.press("Control+Home", "End")
    await page.keyboard.type(" This is how we make it.")
    await hands.use("[data-editor] button[type=submit]")
    await page.locator("[data-saved]").wait_for()

    await hands.to("a.sentence")
    await hands.press("Enter")
    await page.locator("a.sentence[aria-current]").first.wait_for()
    await page.locator("#evidence-card").get_by_text(re.compile(r"\w")).first.wait_for()
    await page.reload()
    await hands.follow("a")
    assert "The draft is approved" in await hands.said()

    # The next one is open by itself: for a time, by the form.
    await hands.to("#decide details:not([id]) > summary")
    await hands.press("Enter")
    await hands.to("[name=at]")
    await page.keyboard.type(tomorrow.strftime("%m%d%Y"))
    await hands.press("Tab")
    await page.keyboard.type(tomorrow.strftime("%I%M%p"))
    assert await page.input_value("[name=at]") == tomorrow.strftime("%Y-%m-%dT%H:%M")
    await hands.use("form[action$='/schedule'] button")
    assert "approved for its time" in await hands.said()

    await hands.press("r")
    await page.keyboard.type("We wrote about this.")
    await hands.follow("Enter")
    await hands.go("/b/harbor-coffee/drafts")
    # The one that has its time is still among them.
    await page.locator("[data-row]", has=page.locator(".state-waiting")).wait_for()
    for _ in range(await rows.count()):
        await hands.press("j")
        if await page.locator("[data-row]:focus-within .state-waiting").count():
            break
    await hands.follow("a")
    assert "The draft is approved" in await hands.said()


async def _moves_an_entry(hands: Keyboard, tomorrow: datetime) -> None:
    await hands.go("/b/harbor-coffee/calendar")
    await hands.use("nav.views a[href*='view=list']")
    change = hands.page.locator(".entry-article button[popovertarget]")
    mover = hands.page.locator(".mover:popover-open")
    await hands.to(change)
    await hands.press("Enter")
    await mover.wait_for()
    await hands.press("Escape")
    await mover.wait_for(state="hidden")
    assert await change.first.evaluate(_IS_THERE), "the focus does not return"
    await hands.press("Enter")
    await hands.to(mover.locator("[name=time]"))
    later = tomorrow + timedelta(minutes=30)
    await hands.page.keyboard.type(later.strftime("%I%M%p"))
    await hands.use(mover.locator("form[action$='/move'] button"))
    assert await hands.page.locator(".notice-good").count() == 1
    assert later.strftime("%H:%M") in await hands.said()


async def _edits_and_approves_a_post(hands: Keyboard) -> None:
    await hands.go("/b/harbor-coffee/posts")
    waiting = hands.page.locator("main .list tbody tr", has=hands.page.get_by_text("Waits for approval"))
    await hands.use(waiting.locator("th a"))
    await hands.type("textarea[name=text]", "Cold brew, made the slow way.")
    await hands.use("form[action$='/edit'] button")
    assert "Cold brew, made the slow way." in await hands.page.inner_text(".post-text")
    await hands.use("form[action$='/approve'] button[value=now]")
    assert await hands.page.locator("form[action$='/edit']").count() == 0


async def _connects_an_account(hands: Keyboard) -> None:
    await hands.go("/b/harbor-coffee/accounts")
    await hands.use("a[href$='/connect/webhook']")
    await hands.to("[name=name]")
    if not await hands.page.input_value("[name=name]"):
        await hands.page.keyboard.type("harbor-hook")
    await hands.type("[name=setting-url]", "https://hooks.harbor.example/posts")
    await hands.use("form[action$='/connect/webhook'] button")
    # A webhook's secret is shown once.
    assert await hands.page.inner_text("h1") == "The signing secret"


async def _saves_settings(hands: Keyboard) -> None:
    await hands.go("/b/harbor-coffee/settings")
    await hands.type("[name=description]", "Coffee for people who live by the sea.")
    await hands.use("form.form > button")
    assert await hands.page.input_value("[name=description]") == "Coffee for people who live by the sea."
    assert await hands.page.locator(".notice-good").count() == 1


async def _invites_somebody(hands: Keyboard) -> None:
    await hands.go("/people")
    await hands.type("form[action$='/people/invite'] [name=name]", "Bob")
    await hands.to("[name=role]")
    await hands.press("ArrowDown")
    await hands.use("form[action$='/people/invite'] button")
    assert "/invitations/" in await hands.page.inner_text("[role=status] code")


async def _makes_a_key(hands: Keyboard, console: Any) -> None:
    connection = await asyncpg.connect(console.database_url)
    try:
        # As if the password had been given an hour ago.
        await connection.execute("update sessions set confirmed_at = now() - interval '1 hour'")
    finally:
        await connection.close()
    await hands.go("/keys")
    await hands.to("summary:has-text('Make')")
    if not await hands.page.locator("form[action$='/keys'] [name=name]").is_visible():
        await hands.press("Enter")
    await hands.type("form[action$='/keys'] [name=name]", "newsroom")
    # To read is chosen already.
    await hands.to("[name=scopes]:not(:checked)")
    await hands.press("Space")
    await hands.type("[name=password_again]", PASSWORD)
    await hands.use("form[action$='/keys'] button")
    assert await hands.page.locator("code.secret").count() == 1


async def _signs_in_over_the_page(hands: Keyboard) -> None:
    await hands.go("/people")
    # In a field, the dialog would wait until nobody types.
    at = hands.page.locator("form[action$='/people/invite'] button")
    await hands.to(at)
    await hands.page.evaluate("document.dispatchEvent(new Event('signed-out'))")
    dialog = hands.page.locator("dialog.sign-in")
    await dialog.wait_for()
    assert await dialog.locator("[name=password]").evaluate(_IS_THERE)
    await hands.page.keyboard.type(PASSWORD)
    await hands.press("Enter")
    await dialog.wait_for(state="hidden")
    assert await at.evaluate(_IS_THERE), "the focus does not return"


async def _are(read: Callable[[], Awaitable[list[str]]], wanted: list[str]) -> bool:
    found = await read()
    # What has ended otherwise will not become what is wanted.
    assert set(found) <= set(wanted), found
    return found == wanted


async def test_a_person_works_by_the_keyboard_alone(console: Any, stack: Any, signed_in: Page) -> None:
    hands = Keyboard(signed_in)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).replace(hour=10, minute=0, second=0, microsecond=0)
    await _signs_out_and_in(hands)
    await _skips_to_the_content(hands)
    await _makes_a_brand(hands, console)
    await _submits_keywords(hands)
    await _finds_by_the_search(hands)

    async def written() -> list[str]:
        found = (await console.orchestrator.search_for_keywords(brand="harbor-coffee"))["items"]
        return [each["state"] for each in found if each["state"] in ENDED]

    await eventually(lambda: _are(written, ["needs_review"] * 4), within=240)
    await _goes_through_drafts(hands, tomorrow)
    await _moves_an_entry(hands, tomorrow)

    async def posted() -> bool:
        async with AsyncSocial(Address(stack.url("social"), KEY)) as social:
            return bool((await social.list_brand_posts("harbor-coffee", state="waiting"))["items"])

    await eventually(posted)
    await _edits_and_approves_a_post(hands)
    await _connects_an_account(hands)
    await _saves_settings(hands)
    await _invites_somebody(hands)
    await _makes_a_key(hands, console)
    await _signs_in_over_the_page(hands)
