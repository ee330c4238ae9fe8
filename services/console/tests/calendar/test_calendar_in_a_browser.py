"""The calendar beside real services in a real browser: looked at in three views, and moved by form and by dragging."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import httpx
import pytest
from playwright.async_api import Page, expect

BERLIN = ZoneInfo("Europe/Berlin")
CALENDAR = "/b/acme/calendar"


def address(planned: Any, view: str, **more: str) -> str:
    day = planned.base.date().isoformat()
    return f"{CALENDAR}?{urlencode({'view': view, 'day': day, **more})}"


async def move(client: httpx.AsyncClient, path: str, at: datetime, once: str) -> httpx.Response:
    local = at.astimezone(BERLIN)
    form = {
        "once": once,
        "date": local.date().isoformat(),
        "time": f"{local:%H:%M}",
        "zone": "Europe/Berlin",
        "back": "?view=week",
    }
    return await client.post(path, data=form)


async def drag(page: Page, source: str, target: str) -> None:
    """Drags once the browser's driver has hold of it: it misses a drag that begins just when the page was laid out anew."""
    await page.evaluate("document.addEventListener('dragenter', () => { window.entered = true; })")
    for _ in range(20):
        await page.hover(source)
        await page.mouse.down()
        await page.hover(target, force=True)
        if taken := await page.evaluate("Boolean(window.entered)"):
            await page.hover(target, force=True)
        await page.mouse.up()
        if taken:
            return
    raise AssertionError(f"{source} cannot be dragged")


@pytest.mark.extended
async def test_a_move_is_made_once_and_a_refused_one_says_why(
    planned: Any, person: httpx.AsyncClient
) -> None:
    post = f"{CALENDAR}/posts/{planned.post}"
    at = planned.base + timedelta(days=2)
    moved, again = [await move(person, f"{post}/move", at, "m1") for _ in range(2)]
    assert moved.status_code == again.status_code == 303
    assert moved.headers["location"] == again.headers["location"]
    assert f"on={at.astimezone(BERLIN).date().isoformat()}" in moved.headers["location"]
    assert await planned.post_time(planned.post) == at

    # Too near to another post, within quiet hours, gone by, and no time at all.
    other = await planned.post_time(planned.other)
    for once, bad, told in (
        ("m2", other + timedelta(minutes=10), "minutes apart"),
        ("m3", at.replace(hour=22, minute=30), "quiet hours"),
        ("m4", at - timedelta(days=2000), "has gone by"),
    ):
        refused = await move(person, f"{post}/move", bad, once)
        assert refused.status_code in {409, 422}, once
        assert told in refused.text
    none = await person.post(f"{post}/move", data={"once": "m5", "date": "2027-02-31", "time": "09:00"})
    assert none.status_code == 400
    assert "There is no such time" in none.text
    assert await planned.post_time(planned.post) == at

    first = await person.post(f"{post}/slot", data={"once": "m6"})
    assert first.status_code == 303
    assert (await planned.social.get_calendar_entry(planned.post))["in_queue"]
    assert (await person.post(f"{post}/first", data={"once": "m7"})).status_code == 303
    assert (await person.post(f"{post}/unschedule", data={"once": "m8"})).status_code == 303
    assert (await planned.social.get_post(planned.post))["state"] == "waiting"

    draft = f"{CALENDAR}/articles/{planned.draft}"
    past = await move(person, f"{draft}/move", at - timedelta(days=2000), "d0")
    assert past.status_code == 422
    assert "This time has gone by." in past.text
    assert "publish_at" not in past.text
    later = planned.base + timedelta(days=1)
    assert (await move(person, f"{draft}/move", later, "d1")).status_code == 303
    scheduled = (await planned.orchestrator.get_draft(planned.draft))["scheduled"]
    assert datetime.fromisoformat(scheduled["publish_at"]) == later
    assert (await person.post(f"{draft}/unschedule", data={"once": "d2"})).status_code == 303
    assert (await planned.orchestrator.get_draft(planned.draft))["state"] == "waiting"
    await planned.orchestrator.set_brand("other", name="Other")
    elsewhere = f"/b/other/calendar/posts/{planned.other}/move"
    assert (await move(person, elsewhere, later, "o1")).status_code == 404
    assert "BEGIN:VCALENDAR" in (await person.get(f"{CALENDAR}/posts.ics")).text


async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    planned: Any, viewer: httpx.AsyncClient
) -> None:
    for view in ("list", "week", "month"):
        shown = (await viewer.get(address(planned, view))).text
        assert "Moka" in shown
        assert 'method="post" action="/b/' not in shown
        assert "draggable" not in shown
    before = await planned.post_time(planned.post)
    for verb in ("move", "slot", "first", "unschedule"):
        answer = await move(viewer, f"{CALENDAR}/posts/{planned.post}/{verb}", planned.base, f"v-{verb}")
        assert answer.status_code == 403, verb
    assert await planned.post_time(planned.post) == before


@pytest.mark.extended
async def test_three_views_by_form_and_by_dragging(
    console: Any, planned: Any, signed_in: Page, page_checks: Any
) -> None:
    page, url = signed_in, console.url
    for width in (1280, 360):
        await page.set_viewport_size({"width": width, "height": 900})
        for view in ("list", "week", "month"):
            await page.goto(url + address(planned, view))
            told = await page.inner_text("main")
            assert "All times are those of Europe/Berlin." in told
            assert "Moka" in told
            assert not await page.evaluate("window.hit")
            wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, f"{view} is {wide} px too wide at {width}"
            assert await page_checks.accessibility(page) == [], view
    # The same entry stands at the same time in all views.
    local = (await planned.post_time(planned.post)).astimezone(BERLIN)
    for view in ("list", "week", "month"):
        await page.goto(url + address(planned, view))
        clock = page.locator(f"#post-{planned.post} .clock")
        await expect(clock).to_have_text(f"{local:%H:%M}")
    await page.goto(url + address(planned, "list", kind="slot"))
    assert "Moka" not in await page.inner_text("main .calendar > section, main .empty")

    # By the keyboard alone, on the phone.
    await page.goto(url + address(planned, "list"))
    await page.locator(f"#post-{planned.post} > button").focus()
    await page.keyboard.press("Enter")
    form = page.locator(".mover:popover-open form")
    await form.locator("[name=date]").fill((local.date() + timedelta(days=2)).isoformat())
    await form.get_by_role("button", name="Move", exact=True).focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("[role=status].notice")).to_contain_text("Moved to")
    assert await planned.post_time(planned.post) == local + timedelta(days=2)

    # Its other buttons need no time in the fields.
    await page.goto(url + address(planned, "list"))
    await page.locator(f"#post-{planned.post} > button").click()
    await form.locator("[name=date]").fill("")
    await form.locator("[formaction$='/slot']").click()
    await expect(page.locator("[role=status].notice")).to_be_visible()
    assert (await planned.social.get_calendar_entry(planned.post))["in_queue"]
    await planned.social.move_post(planned.post, at=local + timedelta(days=2))

    # Dragged to another day, it keeps its time of day; where the rules say no, the page says why.
    await page.set_viewport_size({"width": 1280, "height": 1200})
    for view, days in (("month", -1), ("week", 1)):
        await page.goto(url + address(planned, view))
        target = local.date() + timedelta(days=days)
        await drag(page, f"#post-{planned.post} .clock", f"[data-day='{target}'] h3")
        await expect(page.locator("[role=status].notice")).to_contain_text("Moved to")
        at = (await planned.post_time(planned.post)).astimezone(BERLIN)
        assert (at.date(), at.time()) == (target, local.time())
    other = (await planned.post_time(planned.other)).astimezone(BERLIN)
    await planned.social.move_post(planned.post, at=other + timedelta(days=1, minutes=5))
    await page.goto(url + address(planned, "week"))
    await drag(page, f"#post-{planned.post} .clock", f"[data-day='{other.date()}'] h3")
    await expect(page.locator("[role=alert]")).to_contain_text("30 minutes apart")
    assert not await page.evaluate("window.hit")
    assert await page_checks.accessibility(page) == []


@pytest.mark.extended
async def test_the_form_is_that_of_the_entry_whose_button_was_pressed_last(
    console: Any, planned: Any, signed_in: Page
) -> None:
    page = signed_in
    await page.goto(console.url + address(planned, "list"))
    form, buttons = page.locator(".mover:popover-open form"), {}
    for entry in (planned.post, planned.other):
        buttons[entry] = page.locator(f"#post-{entry} > button")
    await buttons[planned.other].click()
    # The button of another entry does not close what is open.
    for entry in (planned.post, planned.other):
        await buttons[entry].evaluate("button => button.click()")
        assert (await form.get_attribute("action") or "").endswith(f"/posts/{entry}/move")
    at = (await planned.post_time(planned.other)).astimezone(BERLIN)
    await expect(form.locator("[name=time]")).to_have_value(f"{at:%H:%M}")
    # Only what is typed keeps live updates back.
    assert await form.locator("input").evaluate_all(
        "fields => fields.every((each) => each.value === each.defaultValue)"
    )
    # Opened again for the same entry, it has what was typed.
    await form.locator("[name=time]").fill("11:11")
    await page.keyboard.press("Escape")
    await buttons[planned.other].click()
    await expect(form.locator("[name=time]")).to_have_value("11:11")
