"""Many posts and keywords at once: the frozen ones are acted on, later ones are reported, and an Undo works once."""

import re
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from console.mass_actions import acting
from console.mass_actions.acting import MassItem

MANY = "/b/acme/posts/many"


async def press(person: httpx.AsyncClient, path: str, **form: str) -> str:
    answer = await person.post(path, data=form, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    return answer.text


async def undo(person: httpx.AsyncClient, shown: str, once: str) -> str:
    found = re.search(r'action="(/undo/[0-9a-f-]+)"', shown)
    assert found, shown
    return await press(person, found[1], once=once)


async def test_what_matches_later_is_counted_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "MOST_AT_ONCE", 3)
    there = ["5", "4", "3", "2"]

    async def matching() -> AsyncIterator[MassItem]:
        for each in there:
            yield MassItem(each, each, "/")

    frozen = await acting.freeze(matching)
    assert ([each.id for each in frozen.items], frozen.left) == (["5", "4", "3"], 1)
    # The newest stand first, and what was decided has left the list.
    there[:] = ["7", "6", "4", "2"]
    assert await acting.count_later(matching, frozen) == 2


@pytest.mark.extended
async def test_posts_are_moved_skipped_and_taken_back(
    planned: Any, person: httpx.AsyncClient, viewer: httpx.AsyncClient
) -> None:
    posts = (planned.post, planned.other)
    before = [await planned.post_time(each) for each in posts]
    assert "2 posts" in (await person.get("/b/acme/posts?state=scheduled")).text

    every = {"which": "all", "state": "scheduled"}
    nothing = await press(person, MANY, once="a", do="shift", days="soon", **every)
    assert "Say by how many days" in nothing
    moved = await press(person, MANY, once="b", do="shift", days="1", **every)
    assert "2 posts are moved." in moved
    assert "2 posts are moved." in await press(person, MANY, once="b", do="shift", days="1", **every)
    day = timedelta(days=1)
    assert [(await planned.post_time(each)) for each in posts] == [at + day for at in before]
    assert "2 are undone." in await undo(person, moved, "c")
    assert [await planned.post_time(each) for each in posts] == before
    again = re.search(r'action="(/undo/[0-9a-f-]+)"', moved)
    assert again
    assert (await person.post(again[1], data={"once": "d"})).status_code == 404, "once"

    skipped = await press(person, MANY, once="e", do="skip", chosen=planned.post, which="chosen")
    assert "One post is skipped." in skipped
    assert (await planned.social.get_post(planned.post))["state"] == "rejected"
    assert (await planned.social.get_post(planned.other))["state"] == "scheduled"
    assert "It is undone." in await undo(person, skipped, "f")
    assert await planned.post_time(planned.post) == before[0]

    await planned.sql("social", "update channel_posts set state = 'in_doubt' where true")
    doubted = await press(person, MANY, once="g", do="retry", which="all")
    assert "To 2 it was not done, and why" in doubted
    assert "look" in doubted

    shown = (await viewer.get("/b/acme/posts")).text
    assert "/posts/many" not in shown or "<button name" not in shown
    assert (await viewer.post(MANY, data={"once": "h", "do": "skip", **every})).status_code == 403


@pytest.mark.extended
async def test_keywords_get_a_priority_and_what_ended_badly_is_submitted_again(
    planned: Any, person: httpx.AsyncClient
) -> None:
    await planned.orchestrator.pause_brand("acme")
    await planned.orchestrator.submit_keywords("acme", b"tea\nmoka", content_type="text/plain")

    async def keywords() -> dict[str, Any]:
        found = await planned.orchestrator.search_for_keywords(brand="acme")
        return {each["keyword"]: each for each in found["items"]}

    path = "/b/acme/keywords/many"
    raised = await press(person, path, once="a", do="priority", priority="high", which="all", q="tea")
    assert "One keyword has this priority now." in raised
    assert {name: each["priority"] for name, each in (await keywords()).items()} == {
        "tea": "high",
        "moka": "normal",
    }
    assert "It is undone." in await undo(person, raised, "b")
    assert (await keywords())["tea"]["priority"] == "normal"

    cycle = (await keywords())["tea"]["cycle_id"]
    await planned.orchestrator.cancel_cycle(cycle)
    submitted = await press(person, path, once="c", do="again", which="all", state="cancelled")
    assert "2 keywords are submitted again." in submitted
    queued = await planned.orchestrator.search_for_keywords(brand="acme", state="queued")
    assert {each["keyword"] for each in queued["items"]} == {"tea", "moka"}
    assert "It is undone." in await undo(person, submitted, "d")
    found = await planned.orchestrator.search_for_keywords(brand="acme")
    assert {each["state"] for each in found["items"]} == {"cancelled"}
    # Each was cancelled twice, and is one keyword all the same.
    assert len(found["items"]) == 4
    submitted = await press(person, path, once="e", do="again", which="all", state="cancelled")
    assert "2 keywords are submitted again." in submitted


@pytest.mark.extended
async def test_buttons_say_how_many_they_mean(
    console: Any, planned: Any, signed_in: Page, page_checks: Any
) -> None:
    page = signed_in
    for width in (1280, 360):
        await page.set_viewport_size({"width": width, "height": 900})
        await page.goto(f"{console.url}/b/acme/posts")
        await page.locator("[name=chosen]").first.check()
        await expect(page.get_by_role("button", name="Skip 1 post")).to_be_visible()
        await page.get_by_label("all 2 that match").check()
        await expect(page.get_by_role("button", name="Skip 2 posts")).to_be_visible()
        wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0
        assert await page_checks.accessibility(page) == []
    await page.get_by_role("button", name="Skip 2 posts").click()
    await expect(page.locator(".told")).to_contain_text("2 posts are skipped.")
    assert await page_checks.accessibility(page) == []
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator(".told")).to_contain_text("2 are undone.")
    assert datetime.now(planned.base.tzinfo) < await planned.post_time(planned.post)
