"""Going through drafts in a real browser: by keys, with the passage of a sentence, two people at once, and nothing lost."""

import re
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest
from playwright.async_api import Page, expect

pytestmark = pytest.mark.extended
BODY = "textarea[name=body_markdown]"


async def save(page: Page, before: str, after: str) -> None:
    await page.fill(BODY, (await page.input_value(BODY)).replace(before, after))
    await page.click("[data-editor] button.primary")


async def test_one_goes_through_twenty_drafts_by_keys(
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
    wanted = []
    for at, each in enumerate(drafts):
        following = f"**/drafts/{drafts[at + 1]}" if at + 1 < len(drafts) else "**/drafts"
        if at % 3 == 0:
            await page.keyboard.press("a")
            await page.wait_for_url(f"{following}?done=approve&of={each}")
            wanted.append("approved")
        elif at % 3 == 1:
            await page.keyboard.press("r")
            assert await page.evaluate("document.activeElement.name") == "words"
            await page.keyboard.type("Not ours: a, j and k are words here.")
            await page.keyboard.press("Enter")
            await page.wait_for_url(f"{following}?done=reject&of={each}")
            wanted.append("rejected")
        else:
            await page.keyboard.press("e")
            assert await page.evaluate("document.activeElement.name") == "body_markdown"
            await page.keyboard.type("ajkre")
            await page.evaluate("document.activeElement.blur()")
            await page.keyboard.press("j")
            await page.wait_for_url(following)
            wanted.append("waiting")
    states = [(await console.orchestrator.get_draft(each))["state"] for each in drafts]
    assert states == wanted
    by = (await console.orchestrator.get_draft(drafts[1]))["decision"]
    assert (by["by"], by["comment"]) == ("ada", "Not ours: a, j and k are words here.")


@pytest.mark.parametrize("width", [1280, 360])
async def test_sentences_are_checked_while_one_types_and_what_others_store_is_told(
    console: Any, drafts: list[str], join: Callable[..., Any], page_checks: Any, width: int
) -> None:
    page = await join("Ada", viewport={"width": width, "height": 900})
    await page.goto(f"{console.url}/b/acme/drafts/{drafts[0]}")
    body = await page.input_value(BODY)
    await page.fill(BODY, "🙂 " + body.replace("twelve", "thirty"))
    found = page.locator("[data-checked] .found")
    await found.filter(has_text="thirty hours").wait_for()
    await found.filter(has_text="thirty hours").click()
    chosen = "area => area.value.slice(area.selectionStart, area.selectionEnd)"
    assert "thirty hours." in await page.eval_on_selector(BODY, chosen)
    assert (await console.orchestrator.get_draft(drafts[0]))["version"] == 1
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert await page_checks.accessibility(page) == []
    await console.orchestrator.edit_draft(drafts[0], version=1, title="Cold brew, anew")
    await page.locator("#draft-newer [data-newest='2']").wait_for(state="visible")
    assert "thirty" in await page.input_value(BODY), "what is typed stays"
    await page.click("[data-editor] button.primary")
    await page.wait_for_selector("#edit [role=alert] .diff ins")
    assert "anew" in await page.inner_text("#edit [role=alert] .diff")
    assert "thirty" in await page.input_value(BODY)
    eve = await join("Eve", "viewer")
    refused = await eve.request.post(
        f"{console.url}/b/acme/drafts/{drafts[0]}/check",
        form={"body_markdown": "x", "version": "1"},
        headers={"Origin": console.url, "Sec-Fetch-Site": "same-origin"},
    )
    assert refused.status == 403


async def test_a_sentence_shows_its_passage_and_one_that_is_gone_is_not_marked(
    console: Any, drafts: list[str], join: Callable[..., Any]
) -> None:
    page = await join("Ada")
    await page.goto(f"{console.url}/b/acme/drafts/{drafts[0]}")
    assert await page.inner_text("#text-title") == "5 of 5 sentences backed by a source"
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
    assert await page.inner_text("#text-title") == "4 of 5 sentences backed by a source"
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


async def test_notes_and_reasons_stay_while_other_forms_are_sent_and_others_write(
    console: Any, drafts: list[str], join: Callable[..., Any]
) -> None:
    address = f"{console.url}/b/acme/drafts/{drafts[0]}"
    ada, bob = await join("Ada"), await join("Bob")
    for page in (ada, bob):
        await page.goto(address)
    note, reason = ada.locator("#notes textarea").last, ada.locator("#reject [name=words]")
    await note.press_sequentially("Half a no")
    await ada.click("#reject summary")
    await reason.fill("Not our tone.")

    # Another person edits and notes; both are told, and nothing that is typed moves.
    await save(bob, "Use glass.", "Use a glass bottle.")
    await bob.wait_for_selector("[data-saved='2']")
    await bob.locator("#notes textarea").last.fill("Is it glass?")
    await bob.get_by_role("button", name="Add the note").click()
    await bob.locator(".note", has_text="Is it glass?").wait_for()
    await ada.locator("#draft-newer [data-newest='2']").wait_for(state="visible")
    assert await note.input_value() == "Half a no"
    assert await reason.input_value() == "Not our tone."

    # One's own other form is sent; the words are on the page that answers, also after a conflict.
    await note.press_sequentially("te")
    await save(ada, "twelve hours", "ten hours")
    await ada.wait_for_selector("#edit [role=alert]")
    assert await note.input_value() == "Half a note"
    assert await reason.input_value() == "Not our tone."
    assert await reason.is_visible()
    await ada.click("[data-editor] button.primary")
    await ada.wait_for_selector("[data-saved='3']")
    assert await note.input_value() == "Half a note"

    # Both answer the same thread, which one of them settles.
    answers = [page.locator(".thread", has_text="Is it glass?").locator("textarea") for page in (ada, bob)]
    await answers[0].fill("It is.")
    await bob.get_by_role("button", name="Settled").click()
    await bob.locator(".thread.settled").wait_for()
    await ada.locator(".thread").get_by_role("button", name="Answer").click()
    await ada.locator(".note", has_text="It is.").wait_for()
    assert await note.input_value() == "Half a note"
    await ada.get_by_role("button", name="Add the note").click()
    await ada.locator(".note", has_text="Half a note").wait_for()
    assert await note.input_value() == ""
    assert await reason.input_value() == "Not our tone."
    await bob.goto(address)
    shown = await bob.inner_text("#notes")
    assert all(words in shown for words in ("It is.", "Half a note"))


async def test_a_new_note_appears_live_and_moves_nothing_that_another_types_or_selects(
    console: Any, drafts: list[str], join: Callable[..., Any], page_checks: Any
) -> None:
    address = f"{console.url}/b/acme/drafts/{drafts[0]}"
    ada, bob = await join("Ada"), await join("Bob", "viewer", viewport={"width": 360, "height": 800})

    async def note(page: Page, words: str) -> None:
        await page.locator("#notes textarea").last.fill(words)
        await page.get_by_role("button", name="Add the note").click()
        await page.locator(".note", has_text=words).wait_for()

    await ada.goto(address)
    await note(ada, "Is it glass?")
    await note(ada, "Who wrote this?")
    await bob.goto(address)
    await bob.mouse.move(0, 0)
    first, second = bob.locator(".thread").nth(0), bob.locator(".thread").nth(1)

    # Bob answers one thread, and writes a note of his own; a new note, and an answer in the same thread, stand beside it.
    answer, own = first.locator("textarea"), bob.locator("#notes textarea").last
    await own.fill("Half a no")
    await answer.press_sequentially("It is gl")
    await note(ada, "A third one")
    await expect(bob.locator(".note", has_text="A third one")).to_be_visible()
    thread = ada.locator(".thread").nth(0)
    await thread.locator("textarea").fill("Yes, of glass.")
    await thread.get_by_role("button", name="Answer").click()
    await expect(first.locator(".note")).to_have_count(2)
    assert await answer.evaluate("area => area === document.activeElement")
    await answer.press_sequentially("ass.")
    assert await answer.input_value() == "It is glass."
    assert await own.input_value() == "Half a no"
    assert await page_checks.accessibility(bob) == []

    # What he selects stays, while a thread that was settled waits until he has finished his answer there.
    await bob.evaluate("document.getSelection().selectAllChildren(document.querySelectorAll('.thread')[1])")
    selected = await bob.evaluate("document.getSelection().toString()")
    assert "Who wrote this?" in selected
    await ada.locator(".thread").nth(0).get_by_role("button", name="Settled").click()
    await ada.locator(".thread.settled").wait_for()
    await expect(bob.locator("[data-live-note]")).to_have_text(re.compile("Something new is here"))
    await note(ada, "A fourth one")
    await expect(bob.locator(".note", has_text="A fourth one")).to_be_visible()
    assert await answer.input_value() == "It is glass."
    assert await bob.evaluate("document.getSelection().toString()") == selected
    await bob.locator(".thread", has_text="Is it glass?").get_by_role("button", name="Answer").click()
    await bob.locator(".note", has_text="It is glass.").wait_for()
    assert await own.input_value() == "Half a no"
    await expect(second).to_be_visible()


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


@pytest.mark.parametrize("width", [1280, 360])
async def test_a_guest_without_an_account_reads_one_version_and_comments_until_the_link_is_withdrawn(
    console: Any,
    drafts: list[str],
    join: Callable[..., Any],
    new_browser_context: Callable[..., Any],
    page_checks: Any,
    width: int,
) -> None:
    address = f"{console.url}/b/acme/drafts/{drafts[1]}"
    ada = await join("Ada", viewport={"width": width, "height": 900})
    await ada.goto(address)
    await ada.locator("#notes textarea").last.fill("Only for us.")
    await ada.get_by_role("button", name="Add the note").click()
    await ada.locator(".note").wait_for()
    await ada.fill("#guests [name=guest]", "Carla of the client")
    await ada.get_by_role("button", name="Make a link to version 1").click()
    link = await ada.locator("[data-select]").input_value()
    assert await ada.evaluate("document.documentElement.scrollWidth") <= width
    link = link.replace("http://127.0.0.1:8016", console.url)
    token = link.rpartition("/")[2]
    await console.orchestrator.edit_draft(drafts[1], version=1, title="Changed since")

    context = await new_browser_context(viewport={"width": width, "height": 900})
    guest: Page = await context.new_page()
    await guest.goto(link)
    shown = guest.frame_locator("iframe").locator("h1")
    await shown.wait_for()
    assert "Cold brew 2" in await shown.inner_text(), "the version of the link, not the newest"
    assert await guest.evaluate("window.hacked") is None
    assert "version 1" in await guest.inner_text("main")
    assert "Only for us." not in await guest.content()
    assert await page_checks.accessibility(guest) == []
    assert await guest.evaluate("document.documentElement.scrollWidth") <= width
    await guest.locator("#notes textarea").last.fill("Say <b>less</b>.")
    await guest.get_by_role("button", name="Send the comment").click()
    await guest.locator(".note").wait_for()
    await guest.goto(address)
    await guest.wait_for_url("**/sign-in**")

    await ada.goto(address)
    assert "guest" in await ada.locator(".note", has_text="Say <b>less</b>.").inner_text()
    await ada.locator(".thread", has_text="less").locator("textarea").fill("We did.")
    await ada.locator(".thread", has_text="less").get_by_role("button", name="Answer").click()
    await ada.locator(".note", has_text="We did.").wait_for()
    await guest.goto(link)
    assert "We did." in await guest.inner_text("#notes")
    await ada.get_by_role("button", name="Withdraw the link for Carla of the client").click()
    await ada.get_by_role("button", name="Withdraw the link for Carla of the client").wait_for(
        state="detached"
    )
    answer = await guest.goto(link)
    assert answer is not None
    assert answer.status == 404
    assert (await guest.request.get(f"{link}/page")).status == 404
    await ada.goto(address)
    assert "Say <b>less</b>." in await ada.inner_text("#notes"), "what was written stays"
    assert token not in await stored_words(console.database_url)


async def stored_words(database_url: str) -> str:
    """All that the database has of links and of answers."""
    connection = await asyncpg.connect(database_url)
    try:
        links = await connection.fetchval("select string_agg(t::text, ' ') from guest_links as t")
        answers = await connection.fetchval("select string_agg(encode(answer, 'escape'), ' ') from done_once")
    finally:
        await connection.close()
    return f"{links} {answers}"


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
    await page.goto(f"{console.url}/b/acme/drafts?state=scheduled")
    row = await page.locator("[data-row]").inner_text()
    assert "Goes out on 1 Mar 2030, 09:00" in row
    assert "It was held because" in row
    assert "Waits because" not in row
    await page.goto(f"{console.url}/b/acme/drafts?state=waiting&q=brew")
    for at in (0, 2):
        await page.locator("input[name=chosen]").nth(at).check()
    await page.fill("input[name=reason]", "Too much of it.")
    await page.get_by_role("button", name="Reject 2 drafts").click()
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
