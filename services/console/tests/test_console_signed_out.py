"""A session that ends while a person types costs no word."""

from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from playwright.async_api import Page, expect

PASSWORD = "correct horse battery staple"
TYPED = "Bob </textarea><b>\u201cé\u201d & co"


async def end_sessions(console: Any) -> None:
    database = await asyncpg.connect(console.database_url)
    try:
        await database.execute("delete from sessions")
    finally:
        await database.close()


async def invited(console: Any, page: Page) -> list[str]:
    """Names for which keys were made, once the page shows the link."""
    await expect(page.locator("main code")).to_have_count(1)
    await expect(page.locator("#invitations strong")).to_have_text(TYPED)
    keys = (await console.orchestrator.list_keys())["items"]
    return [each["name"] for each in keys if each["name"] != "ada"]


async def type_invitation(page: Page, url: str) -> None:
    await page.goto(f"{url}/people")
    await page.fill("[name=name]", TYPED)
    await page.select_option("[name=role]", "editor")


@pytest.mark.extended
async def test_a_form_is_sent_after_signing_in_over_the_page(
    console: Any, signed_in: Page, page_checks: Any
) -> None:
    page = signed_in
    await page.clock.install()
    await type_invitation(page, console.url)
    await end_sessions(console)
    await page.clock.fast_forward(60_000)
    await page.press("[name=name]", "Enter")
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Password")).to_be_focused()
    await expect(dialog.get_by_label("Name")).to_have_value("Ada")
    assert await page_checks.accessibility(page) == []

    # Put off, it comes again with the next try; a wrong password says so.
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(page.locator("[name=name]")).to_have_value(TYPED)
    await page.press("[name=name]", "Enter")
    await page.keyboard.type("wrong")
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("alert")).to_have_text("The password is wrong. Try again.")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    assert len(await invited(console, page)) == 1


@pytest.mark.extended
@pytest.mark.parametrize("scripts", [True, False])
async def test_without_a_script_or_at_once_the_form_is_kept_on_the_page_that_signs_in(
    console: Any, new_browser_context: Callable[..., Awaitable[Any]], scripts: bool
) -> None:
    context = await new_browser_context(java_script_enabled=scripts)
    page: Page = await context.new_page()
    await page.goto(await console.invite("Ada"))
    await page.fill("[name=password]", PASSWORD)
    await page.click("main button")
    # Neither the stream nor its own clock tells the page that the session has ended.
    await page.route("**/live*", lambda route: route.abort())
    await page.add_init_script("performance.now = () => 0")
    await type_invitation(page, console.url)
    await end_sessions(console)
    await page.click("form[action$=invite] button")
    await expect(page.locator("h1")).to_have_text("Your session has ended")
    for password in ("wrong", PASSWORD):
        await page.fill("[name=name]", "Ada")
        await page.fill("[name=password]", password)
        await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("button", name="Send it now as Ada").click()
    assert len(await invited(console, page)) == 1


@pytest.mark.extended
async def test_a_live_page_waits_until_nobody_types_and_goes_on(console: Any, signed_in: Page) -> None:
    page = signed_in
    await console.orchestrator.set_brand("grind", name="Daily Grind")
    await page.goto(f"{console.url}/b/grind/keywords")
    await page.locator("[name=q]").press_sequentially("half a")
    await end_sessions(console)
    await expect(page.locator("[data-live-note]")).not_to_have_text("")
    await page.locator("[name=q]").press_sequentially(" word")
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_have_count(0)
    await page.locator("[name=q]").blur()
    await dialog.get_by_label("Password").fill(PASSWORD)
    await dialog.get_by_role("button", name="Sign in").click()
    await expect(page.locator("[data-live-note]")).to_have_text("")
    await expect(page.locator("[name=q]")).to_have_value("half a word")
    await console.orchestrator.submit_keywords("grind", b"cold brew", content_type="text/plain")
    await page.mouse.move(0, 0)
    await expect(page.locator("#keyword-list")).to_contain_text("cold brew")


async def test_somebody_else_who_signs_in_is_not_the_tabs_person(console: Any, person: Any) -> None:
    (ada,) = (await console.api.get("/v1/people")).json()["items"]
    assert (await person.get("/session", params={"person": ada["id"]})).status_code == 204
    await person.post(await console.invite("Bob"), data={"name": "Bob", "password": "b" * 12})
    assert (await person.get("/session", params={"person": ada["id"]})).status_code == 401
    refused = await person.post("/sign-in/again", data={"person": ada["id"], "password": "b" * 12})
    assert refused.status_code == 401
    again = await person.post("/sign-in/again", data={"person": ada["id"], "password": PASSWORD})
    assert again.status_code == 204
    assert (await person.get("/session", params={"person": ada["id"]})).status_code == 204
