"""Going through drafts in a real browser: by keys, with the passage of a sentence, two people at once, and nothing lost."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.async_api import Page

PASSWORD = "correct horse battery staple"
pytestmark = pytest.mark.extended
BODY = "textarea[name=body_markdown]"


@pytest.fixture
def join(console: Any, new_browser_context: Callable[..., Any]) -> Callable[..., Any]:
    """Signs a person in, in a browser of their own."""

    async def joined(name: str, role: str = "editor", **options: Any) -> Page:
        context = await new_browser_context(**options)
        page: Page = await context.new_page()
        await page.goto(await console.invite(name, role))
        await page.fill("[name=password]", PASSWORD)
        await page.click("main button")
        await page.wait_for_url(f"{console.url}/")
        return page

    return joined


async def save(page: Page, before: str, after: str) -> None:
    await page.fill(BODY, (await page.input_value(BODY)).replace(before, after))
    await page.click("[data-editor] button.primary")


async def test_one_goes_through_drafts_by_keys(
    console: Any, drafts: list[str], join: Callable[..., Any]
) -> None:
    page = await join("Ada")
    await page.goto(f"{console.url}/b/acme/drafts")
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    assert "Cold brew 2" in await page.evaluate("document.activeElement.textContent")
    await page.keyboard.press("k")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/drafts/{drafts[0]}")
    await page.keyboard.press("a")
    await page.wait_for_url(f"**/drafts/{drafts[1]}?done=approve**")
    await page.keyboard.press("j")
    await page.wait_for_url(f"**/drafts/{drafts[2]}")
    await page.keyboard.press("r")
    assert await page.evaluate("document.activeElement.name") == "words"
    await page.keyboard.type("Not ours: a, j and k are words here.")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/drafts/{drafts[3]}?done=reject**")
    states = [(await console.orchestrator.get_draft(each))["state"] for each in drafts[:4]]
    assert states == ["approved", "waiting", "rejected", "waiting"]
    by = (await console.orchestrator.get_draft(drafts[2]))["decision"]
    assert (by["by"], by["comment"]) == ("ada", "Not ours: a, j and k are words here.")


async def test_a_sentence_shows_its_passage_and_one_that_is_gone_is_not_marked(
    console: Any, drafts: list[str], join: Callable[..., Any]
) -> None:
    page = await join("Ada")
    await page.goto(f"{console.url}/b/acme/drafts/{drafts[0]}")
    assert await page.inner_text("#text-title") == "5 of 5 sentences carried"
    await page.get_by_role("link", name="It keeps for two weeks in the refrigerator.").click()
    await page.wait_for_selector("#evidence mark")
    assert await page.inner_text("#evidence mark") == "It keeps for two weeks in the refrigerator."
    assert "Use a bottle." in await page.inner_text("#evidence")
    await page.get_by_role("link", name="It tastes mild.").click()
    await page.get_by_text("Said by the model judge-1").wait_for()
    await page.get_by_role("link", name="Use glass.").click()
    await page.wait_for_selector("#evidence .not-found")
    assert not await page.query_selector("#evidence mark")


async def test_what_no_passage_says_is_marked_and_words_outlive_the_session(
    console: Any, drafts: list[str], join: Callable[..., Any]
) -> None:
    page = await join("Ada")
    address = f"{console.url}/b/acme/drafts/{drafts[0]}"
    await page.goto(address)
    await page.fill(BODY, (await page.input_value(BODY)).replace("twelve", "thirty"))
    cookies = await page.context.cookies()
    await page.context.clear_cookies()
    await page.click("[data-editor] button.primary")
    await page.wait_for_load_state()
    assert (await console.orchestrator.get_draft(drafts[0]))["version"] == 1
    await page.context.add_cookies(cookies)
    await page.goto(address)
    assert "thirty hours" in await page.input_value(BODY), "every word is still there"
    await page.click("[data-editor] button.primary")
    await page.wait_for_selector("[data-saved='2']")
    assert "thirty hours" in await page.inner_text(".sentence.verdict-unsupported")
    assert await page.inner_text("#text-title") == "4 of 5 sentences carried"
    assert await page.evaluate("localStorage.length") == 0


async def test_of_two_editors_the_second_sees_what_changed_and_loses_nothing(
    console: Any, drafts: list[str], join: Callable[..., Any]
) -> None:
    address = f"{console.url}/b/acme/drafts/{drafts[0]}"
    ada, bob = await join("Ada"), await join("Bob")
    for page in (ada, bob):
        await page.goto(address)
    await save(ada, "Use glass.", "Use a glass bottle.")
    await ada.wait_for_selector("[data-saved='2']")
    await save(bob, "twelve hours", "ten hours")
    await bob.wait_for_selector("#edit [role=alert]")
    assert "ada" in await bob.inner_text("#edit [role=alert]")
    joined = await bob.input_value(BODY)
    assert "glass bottle" in joined
    assert "ten hours" in joined
    await bob.click("[data-editor] button.primary")
    await bob.wait_for_selector("[data-saved='3']")
    await bob.goto(f"{address}/versions/2..3")
    assert await bob.inner_text(".diff ins strong") == "ten"
    # Two tabs of one person are the same.
    tabs = [await bob.context.new_page() for _ in range(2)]
    for tab in tabs:
        await tab.goto(address)
    await save(tabs[0], "It tastes mild.", "It tastes round.")
    await tabs[0].wait_for_selector("[data-saved='4']")
    await save(tabs[1], "Label the bottle.", "Label each bottle.")
    await tabs[1].wait_for_selector("#edit [role=alert]")
    assert "tastes round" in await tabs[1].input_value(BODY)
    assert "each bottle" in await tabs[1].input_value(BODY)


async def test_a_paragraph_is_cut_and_put_back_a_sentence_kept_and_a_note_answered(
    console: Any, drafts: list[str], join: Callable[..., Any]
) -> None:
    address = f"{console.url}/b/acme/drafts/{drafts[0]}"
    ada, eve = await join("Ada"), await join("Eve", "viewer")
    await ada.goto(address)
    await ada.locator("button.cut").last.click()
    await ada.wait_for_url("**cut=2**")
    assert "Label" not in await ada.input_value(BODY)
    await ada.get_by_role("button", name="Put it back").click()
    await ada.wait_for_function(f"document.querySelector('{BODY}').value.includes('Label')")
    await ada.get_by_role("button", name="Keep this sentence in my name").click()
    await ada.wait_for_selector(".verdict-kept")
    await ada.locator("#notes textarea").last.fill("Is that so? <b>x</b>")
    await ada.get_by_role("button", name="Add the note").click()
    await ada.wait_for_selector(".note")
    await eve.goto(address)
    assert not await eve.query_selector(f"{BODY}, #decide, button.cut")
    await eve.locator(".thread textarea").fill("Yes.")
    await eve.get_by_role("button", name="Answer").click()
    await eve.wait_for_function("document.querySelectorAll('.note').length === 2")
    forbidden = await eve.request.post(
        f"{address}/decisions/approve",
        form={"version": "4", "once": "x"},
        headers={"Origin": console.url, "Sec-Fetch-Site": "same-origin"},
    )
    assert forbidden.status == 403


async def test_many_are_decided_at_once_and_one_for_a_time(
    console: Any, drafts: list[str], join: Callable[..., Any]
) -> None:
    page = await join("Ada")
    await page.goto(f"{console.url}/b/acme/drafts/{drafts[6]}")
    await page.get_by_text("Approve for a time").first.click()
    await page.fill("input[name=at]", "2030-03-01T09:00")
    await page.get_by_role("button", name="Approve for this time").click()
    await page.wait_for_url("**done=schedule**")
    assert (await console.orchestrator.get_draft(drafts[6]))["state"] == "scheduled"
    await page.goto(f"{console.url}/b/acme/drafts?state=waiting&q=brew")
    for at in (0, 2):
        await page.locator("input[name=chosen]").nth(at).check()
    await page.fill("input[name=reason]", "Too much of it.")
    await page.get_by_role("button", name="Reject these drafts").click()
    await page.get_by_text("2 drafts are rejected.").wait_for()
    found = await console.orchestrator.list_drafts(brand="acme", state="rejected")
    assert [each["content_id"] for each in found["items"]] == [drafts[0], drafts[2]]


@pytest.mark.real
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_hostile_words_run_nothing_and_axe_finds_nothing(
    console: Any, drafts: list[str], join: Callable[..., Any], page_checks: Any, width: int, scheme: str
) -> None:
    page = await join("Ada", viewport={"width": width, "height": 900}, color_scheme=scheme)
    address = f"{console.url}/b/acme/drafts"
    await page.goto(f"{address}/{drafts[1]}")
    await save(page, "twelve", "<script>window.hacked=1</script> [x](javascript:alert(1))")
    await page.wait_for_selector("[data-saved]")
    for path in (address, f"{address}/{drafts[1]}?sentence=1", f"{address}/{drafts[1]}/versions/1..2"):
        await page.goto(path)
        assert await page.evaluate("window.hacked") is None
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        assert not await page.query_selector("a[href^='javascript:']")
        assert await page_checks.accessibility(page) == []
    await page.goto(f"{address}/{drafts[1]}")
    await page.locator("iframe").scroll_into_view_if_needed()
    shown = page.frame_locator("iframe").locator("h1")
    await shown.wait_for()
    assert "<script>" in await shown.inner_text()
