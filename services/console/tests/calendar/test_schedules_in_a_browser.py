"""Schedules beside a real orchestrator in a real browser: made, run, paused, changed and removed."""

import re
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from chassis.testing import eventually

SCHEDULES = "/b/acme/schedules"
WEEKLY = {
    "name": "news",
    "keywords": "latte art\ncold brew",
    "rhythm": "weekly",
    "days": ["mon", "wed"],
    "clock": "09:30",
    "zone": "Europe/Berlin",
    "priority": "normal",
}


@pytest.mark.extended
async def test_a_schedule_from_its_making_to_its_end(planned: Any, person: httpx.AsyncClient) -> None:
    made, again = [await person.post(SCHEDULES, data={"once": "s1", **WEEKLY}) for _ in range(2)]
    assert made.headers["location"] == again.headers["location"] == f"{SCHEDULES}/news?done=made"
    assert (await planned.orchestrator.get_schedule("acme", "news"))["cron"] == "30 9 * * MON,WED"
    listed = (await person.get(SCHEDULES)).text
    assert "Every Monday and Wednesday at 09:30" in listed
    assert "Every Monday at 09:00" in listed
    # Its times are told in its own zone.
    assert ", 09:30</time>" in listed
    assert (await person.get(f"{SCHEDULES}/news")).text.count(", 09:30</time>") == 5
    for once, wrong, status, told in (
        ("w1", {}, 409, "There is a schedule news already"),
        ("w2", {"name": "No <b>"}, 400, "The name has small letters"),
        ("w3", {"name": "x", "days": []}, 400, "Choose at least one day"),
        (
            "w4",
            {"name": "x", "rhythm": "cron", "cron": "every <b>sunday"},
            422,
            "a cron expression has 5 fields",
        ),
        ("w5", {"name": "x", "zone": "Mars/Olympus"}, 422, "there is no time zone"),
        ("w6", {"name": "x", "rhythm": "once", "date": "2020-01-01"}, 422, "has passed"),
    ):
        refused = await person.post(SCHEDULES, data={"once": once, **WEEKLY, **wrong})
        assert (refused.status_code, told in refused.text) == (status, True), refused.text
        assert "latte art\ncold brew</textarea>" in refused.text

    # What the form does not show stays: priorities of keywords.
    await planned.orchestrator.set_schedule(
        "acme", "news", keywords=["latte art", "cold brew"], priorities=["high", None], cron="30 9 * * *"
    )
    page = f"{SCHEDULES}/news"
    saved = await person.post(page, data={"once": "e1", **WEEKLY, "keywords": "tea\nlatte art", "take": "1"})
    assert saved.headers["location"] == f"{page}?done=saved"
    found = await planned.orchestrator.get_schedule("acme", "news")
    assert (found["keyword_list"], found["priorities"]) == (["tea", "latte art"], {"latte art": "high"})
    assert found["take"] == 1

    async def ran() -> bool:
        firings = await planned.orchestrator.list_schedule_firings("acme", "news")
        return [each["keywords"] for each in firings["items"]] == [1]

    # In the brand's quiet hours nothing is handed in, and those would depend on when this test runs.
    await planned.orchestrator.set_brand("acme", name="Acme", quiet_hours=None)
    run = [await person.post(f"{page}/run", data={"once": "r1"}) for _ in range(2)]
    assert {each.headers["location"] for each in run} == {f"{page}?done=run"}
    await eventually(ran)
    shown = (await person.get(page)).text
    assert "1 at a time; 1 of 2 keywords are submitted." in shown
    assert "One keyword was submitted." in shown

    for verb, done, state in (("pause", "paused", "paused"), ("resume", "resumed", "active")):
        answer = await person.post(f"{page}/{verb}", data={"once": verb})
        assert answer.headers["location"].startswith(f"{page}?done={done}")
        assert (await planned.orchestrator.get_schedule("acme", "news"))["state"] == state
    removed = [await person.post(f"{page}/remove", data={"once": "x1"}) for _ in range(2)]
    assert removed[0].headers["location"] == removed[1].headers["location"]
    assert removed[0].headers["location"].startswith(f"{SCHEDULES}?done=removed")
    assert "The schedule is removed." in (await person.get(removed[0].headers["location"])).text
    assert (await person.get(page)).status_code == 404
    # A list of which a part is handed in would begin anew, so it is not made again; another one is.
    assert "/undo/" not in (await person.get(removed[0].headers["location"])).text
    weekly = f"{SCHEDULES}/weekly-basics"
    gone = await person.post(f"{weekly}/remove", data={"once": "x2"}, follow_redirects=True)
    assert (await person.get(weekly)).status_code == 404
    undo = re.search(r'action="(/undo/[0-9a-f-]+)"', gone.text)
    assert undo
    assert (await person.post(undo[1], data={"once": "x3"})).status_code == 303
    assert "Every Monday at 09:00" in (await person.get(weekly)).text


@pytest.mark.extended
async def test_of_two_who_change_a_schedule_the_second_is_told_and_loses_nothing(
    planned: Any, person: httpx.AsyncClient
) -> None:
    await person.post(SCHEDULES, data={"once": "m1", **WEEKLY})
    shown = (await person.get(f"{SCHEDULES}/news")).text
    seen = shown.partition('name="seen" value="')[2].partition('"')[0]
    assert seen
    await planned.orchestrator.set_schedule("acme", "news", keywords=["theirs"], cron="30 9 * * *")
    mine = {"once": "o1", **WEEKLY, "seen": seen, "keywords": "mine"}
    told = await person.post(f"{SCHEDULES}/news", data=mine)
    assert (told.status_code, "Another person changed this" in told.text) == (409, True)
    assert "mine</textarea>" in told.text
    assert (await planned.orchestrator.get_schedule("acme", "news"))["keyword_list"] == ["theirs"]


@pytest.mark.extended
async def test_without_the_right_there_is_no_button_and_the_request_is_refused(
    planned: Any, viewer: httpx.AsyncClient
) -> None:
    page = f"{SCHEDULES}/weekly-basics"
    for path in (SCHEDULES, page):
        shown = (await viewer.get(path)).text
        assert "Every Monday at 09:00" in shown
        assert 'method="post" action="/b/' not in shown
    for path in (SCHEDULES, page, f"{page}/run", f"{page}/pause", f"{page}/resume", f"{page}/remove"):
        refused = await viewer.post(path, data={"once": path, **WEEKLY})
        assert refused.status_code == 403, path
    found = await planned.orchestrator.list_schedules("acme")
    # The one of the weekly audit comes by itself, a little later than the brand.
    assert {each["name"] for each in found["items"]} - {"weekly-audit"} == {"weekly-basics"}
    assert next(each for each in found["items"] if each["name"] == "weekly-basics")["state"] == "active"


@pytest.mark.extended
async def test_schedules_in_a_browser(console: Any, planned: Any, signed_in: Page, page_checks: Any) -> None:
    page, url = signed_in, console.url
    await planned.orchestrator.set_schedule(
        "acme", "hostile", keywords=["<script>window.hit = 1</script>"], cron="*/7 3 * 2 *"
    )

    async def has_audit() -> bool:
        found = await planned.orchestrator.list_schedules("acme")
        return "weekly-audit" in {each["name"] for each in found["items"]}

    await eventually(has_audit)
    await page.goto(url + SCHEDULES)
    await page.get_by_text("Make a schedule").click()
    await page.fill("[name=name]", "chapters")
    await page.fill("[name=keywords]", "one\ntwo\nthree")
    await page.get_by_label("Once a month").check()
    await expect(page.locator("[name=days]").first).not_to_be_visible()
    await page.fill("[name=month_day]", "15")
    await page.fill("[name=clock]", "08:15")
    await page.fill("[name=take]", "1")
    await page.get_by_role("button", name="Make the schedule").click()
    await expect(page.locator("main")).to_contain_text("On day 15 of every month at 08:15")
    assert await page.locator("#coming + ol li").count() == 3  # then the list is used up
    await page.get_by_role("button", name="Pause", exact=True).click()
    await expect(page.locator("header.head")).to_contain_text("Paused")
    for width in (1280, 360):
        await page.set_viewport_size({"width": width, "height": 900})
        for name in ("", "/chapters", "/hostile", "/weekly-audit"):
            await page.goto(f"{url}{SCHEDULES}{name}")
            for details in await page.locator("main details").all():
                # Its own: others may be inside.
                await details.locator("summary").first.click()
            assert not await page.evaluate("window.hit")
            wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, f"{name} is {wide} px too wide at {width}"
            assert await page_checks.accessibility(page) == [], name
