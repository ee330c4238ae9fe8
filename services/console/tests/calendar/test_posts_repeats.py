"""Repeats of a post on its account and of its article everywhere, beside a real social."""

import re
from typing import Any

import httpx
import pytest
from playwright.async_api import Page

from client import RefusedError
from console.posts.repeats import MonthLineError, RepeatForm, asked_of, stored_form

NO_DAYS = dict.fromkeys(("mon", "tue", "wed", "thu", "fri", "sat", "sun"), "")
HOSTILE = '<script>window.hit = 1</script>"><img src=x onerror="window.hit = 1">'


def form_with(**fields: Any) -> RepeatForm:
    return RepeatForm(
        **{
            "place": "account",
            "kind": "recurring",
            "at_most": "3",
            "cool_down": "",
            "days": NO_DAYS,
            "monthly": "",
            "zone": "UTC",
            **fields,
        }
    )


def test_days_with_the_same_times_are_one_line_and_come_back_as_they_were() -> None:
    typed = form_with(
        days={**NO_DAYS, "mon": "9:00, 17:30", "thu": "17:30 09:00", "sun": "10:00"},
        monthly="1, 15,last 9:00\n\n second-tue 17:30;18:00 ",
        zone="Europe/Berlin",
    )
    asked = asked_of(typed)
    assert asked["times"] == [
        {"days": ["mon", "thu"], "times": ["09:00", "17:30"]},
        {"days": ["sun"], "times": ["10:00"]},
    ]
    assert asked["monthly"] == [
        {"days": ["1", "15", "last"], "times": ["09:00"]},
        {"days": ["second-tue"], "times": ["17:30", "18:00"]},
    ]
    shown = stored_form(asked, "account", "UTC")
    assert shown.zone == "Europe/Berlin"
    assert asked_of(shown) == asked
    every_day = stored_form(
        {"kind": "recurring", "time_zone": "UTC", "at_most": 1, "times": [{"days": [], "times": ["08:00"]}]},
        "account",
        "UTC",
    )
    assert set(every_day.days.values()) == {"08:00"}


@pytest.mark.parametrize("line", ["last", "09:00", "1 9h", "1, 15 <b>"])
def test_a_line_of_the_month_without_days_or_times_is_named(line: str) -> None:
    with pytest.raises(MonthLineError, match=re.escape(line)):
        asked_of(form_with(monthly=line))


@pytest.mark.extended
async def test_a_post_is_repeated_changed_and_stopped_and_each_can_be_taken_back(
    planned: Any, person: httpx.AsyncClient
) -> None:
    path = f"/b/acme/posts/{planned.post}"
    repeats = f"{path}/repeats"
    assert f'href="{repeats}"' in (await person.get(path)).text
    assert (await person.get(repeats)).text.count("It is not repeated.") == 2

    evergreen = {"place": "account", "kind": "evergreen", "cool_down": "45", "at_most": "4", "do": "save"}
    for _ in range(2):
        told = await person.post(repeats, data={"once": "a", **evergreen}, follow_redirects=True)
        assert "The post is repeated by this rule." in told.text
    assert "It is repeated 45 days later at the earliest" in told.text
    assert "0 of 4 are made or planned. Set by ada," in told.text
    rule = await planned.social.get_post_repeats(planned.post)
    assert (rule["kind"], rule["cool_down_days"], rule["at_most"]) == ("evergreen", 45, 4)

    weekly = {
        "place": "account", "kind": "recurring", "at_most": "2", "mon": "9:00", "monthly": "last 17:30",
        "zone": "Europe/Berlin", "do": "save",
    }  # fmt: skip
    changed = await person.post(repeats, data={"once": "b", **weekly}, follow_redirects=True)
    assert 'value="09:00"' in changed.text
    assert "last 17:30" in changed.text
    undo = re.search(r'action="(/undo/[0-9a-f-]+)"', changed.text)
    assert undo
    await person.post(undo[1], data={"once": "c"})
    assert (await planned.social.get_post_repeats(planned.post))["kind"] == "evergreen"

    stopped = await person.post(
        repeats, data={"once": "d", "place": "account", "do": "stop"}, follow_redirects=True
    )
    assert "Its planned repeats are removed." in stopped.text
    with pytest.raises(RefusedError, match="no repetitions"):
        await planned.social.get_post_repeats(planned.post)

    everywhere = {**evergreen, "place": "article"}
    await person.post(repeats, data={"once": "e", **everywhere})
    post = await planned.social.get_post(planned.post)
    found = await planned.social.get_article_repeats("acme", post["content_id"])
    assert (found["account"], found["cool_down_days"]) == (None, 45)


@pytest.mark.extended
async def test_a_refused_rule_keeps_what_was_typed_and_stores_nothing(
    planned: Any, person: httpx.AsyncClient
) -> None:
    repeats = f"/b/acme/posts/{planned.post}/repeats"
    typed = {"place": "account", "kind": "recurring", "at_most": "2", "zone": "UTC", "do": "save"}
    month = await person.post(repeats, data={"once": "a", **typed, "monthly": "<b> soon"})
    assert month.status_code == 422
    assert "The line “&lt;b&gt; soon” is not days followed by times." in month.text
    assert ">&lt;b&gt; soon</textarea>" in month.text
    for number, wrong in enumerate(({"mon": "25:00"}, {"at_most": "many"}, {"zone": "Nowhere"}, {})):
        refused = await person.post(repeats, data={"once": f"b{number}", **typed, **wrong})
        assert refused.status_code == 422, wrong
        assert 'role="alert"' in refused.text
        assert all(f'"{each}"' in refused.text or each == "Nowhere" for each in wrong.values())
    with pytest.raises(RefusedError, match="no repetitions"):
        await planned.social.get_post_repeats(planned.post)


@pytest.mark.extended
async def test_who_only_looks_sees_the_rule_and_changes_none(
    planned: Any, person: httpx.AsyncClient, viewer: httpx.AsyncClient
) -> None:
    repeats = f"/b/acme/posts/{planned.post}/repeats"
    await planned.social.set_post_repeats(planned.post, kind="evergreen", at_most=2, cool_down_days=1)
    shown = (await viewer.get(repeats)).text
    assert "It is repeated a day later at the earliest" in shown
    assert "the right “review”, which your role (viewer) does not have" in shown
    assert 'method="post" action="/b/' not in shown
    press = {"once": "v", "place": "account", "do": "stop"}
    assert (await viewer.post(repeats, data=press)).status_code == 403
    assert (await planned.social.get_post_repeats(planned.post))["at_most"] == 2
    await planned.orchestrator.set_brand("rival", name="Rival")
    assert (await person.get(repeats.replace("acme", "rival"))).status_code == 404
    assert (await person.post(repeats.replace("acme", "rival"), data=press)).status_code == 404
    assert (await person.get("/b/acme/posts/nothing/repeats")).status_code == 404


@pytest.mark.extended
@pytest.mark.parametrize("width", [360, 1280])
async def test_a_person_repeats_a_post_in_a_browser(
    console: Any, planned: Any, signed_in: Page, page_checks: Any, width: int
) -> None:
    page = signed_in
    await page.set_viewport_size({"width": width, "height": 900})
    await page.goto(f"{console.url}/b/acme/posts/{planned.post}")
    async with page.expect_navigation():
        await page.get_by_role("link", name="Repeat this post").click()
    section = page.get_by_role("region", name="On mastodon-eu only")
    await section.get_by_text("Repeat it", exact=True).click()
    await section.get_by_label("At times of the week or the month").check()
    await section.get_by_label("Monday").fill("9:00")
    async with page.expect_navigation():
        await section.get_by_role("button", name="Repeat the post on mastodon-eu").click()
    assert "The post is repeated by this rule." in await page.inner_text("main")
    assert (await planned.social.get_post_repeats(planned.post))["times"] == [
        {"days": ["mon"], "times": ["09:00"]}
    ]
    await page.evaluate("document.querySelectorAll('main details').forEach((each) => each.open = true)")
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert await page.evaluate("window.hit") is None
    assert await page_checks.accessibility(page) == []
