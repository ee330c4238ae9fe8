"""Addresses for calendar programs, weekly slots and queues in the browser, and a month with many entries."""

import gzip
import re
from datetime import timedelta
from html import unescape
from typing import Any

import httpx
import pytest

from tests.fixtures.console.screens import Links

CALENDAR = "/b/acme/calendar"
SLOTS = f"{CALENDAR}/slots/mastodon-eu"
MANY = 700


@pytest.mark.extended
async def test_an_address_shows_this_calendar_alone_until_it_is_revoked(
    console: Any, planned: Any, person: httpx.AsyncClient, viewer: httpx.AsyncClient
) -> None:
    made, again = [
        await person.post(f"{CALENDAR}/links", data={"once": "a", "name": "Ada's phone"}) for _ in range(2)
    ]
    (address,) = re.findall(r'value="(http[^"]*/c/[^"]+\.ics)"', made.text)
    assert address in again.text, "a second press loses nothing"
    path = "/c/" + address.rpartition("/c/")[2]
    async with httpx.AsyncClient(base_url=console.url, timeout=60) as program:
        found = await program.get(path)
        assert found.headers["content-type"].startswith("text/calendar")
        assert found.text.count("BEGIN:VCALENDAR") == found.text.count("END:VCALENDAR") == 1
        assert "Moka" in found.text
        assert "Cold brew" in found.text
        assert "weekly-basics" in found.text
        assert (await program.get(path.replace(".ics", "x.ics"))).status_code == 404

        key = next(
            each
            for each in (await console.orchestrator.list_keys())["items"]
            if each["name"].startswith("calendar-")
        )
        assert (key["scopes"], key["brands"]) == (["read"], ["acme"])
        shown = (await person.get(CALENDAR)).text
        assert "Ada&#39;s phone" in shown
        same = await person.post(
            f"{CALENDAR}/links", data={"once": "same", "name": " Ada's  phone "}, follow_redirects=True
        )
        assert "There is an address of this name already" in same.text
        assert path not in shown
        (revoke,) = [each for each in Links(shown).forms if each.endswith("/revoke")]
        assert (await viewer.post(revoke, data={"once": "b"})).status_code == 403
        assert (await viewer.post(f"{CALENDAR}/links", data={"once": "b"})).status_code == 403
        assert "revoke" not in (await viewer.get(CALENDAR)).text.casefold().replace("revoke it when", "")
        assert (await person.post(revoke, data={"once": "c"})).status_code == 303
        assert (await program.get(path)).status_code == 404
    again_key = await console.orchestrator.get_key(key["key_id"])
    assert again_key["revoked_by"] == "ada"


@pytest.mark.extended
async def test_slots_and_the_order_of_the_queue_are_changed_and_taken_back(
    planned: Any, person: httpx.AsyncClient, viewer: httpx.AsyncClient
) -> None:
    shown = (await person.get(SLOTS)).text
    assert 'value="09:00, 17:30"' in shown
    form = {"mon": "9:00", "tue": "9:00 12:00", "zone": "Europe/Berlin", "spacing": "30", "duplicates": "30"}
    saved = await person.post(SLOTS, data={"once": "a", "do": "save", **form}, follow_redirects=True)
    assert "The slots are saved." in saved.text
    now = await planned.social.get_account_slots("acme", "mastodon-eu")
    assert now["slots"] == [
        {"days": ["mon"], "times": ["09:00"]},
        {"days": ["tue"], "times": ["09:00", "12:00"]},
    ]
    assert now.get("quiet_hours") is None
    overtaken = {**form, "seen": shown.partition('name="seen" value="')[2].partition('"')[0], "mon": "10:00"}
    told = await person.post(SLOTS, data={"once": "s", "do": "save", **overtaken})
    assert (told.status_code, "Another person changed this" in told.text) == (409, True)
    assert 'value="10:00"' in told.text
    bad = await person.post(SLOTS, data={"once": "b", "do": "save", **form, "mon": "25:00"})
    assert bad.status_code == 422
    assert 'value="25:00"' in bad.text
    undo = re.search(r'action="(/undo/[0-9a-f-]+)"', saved.text)
    assert undo
    assert (await person.post(undo[1], data={"once": "c"})).status_code == 303
    former = await planned.social.get_account_slots("acme", "mastodon-eu")
    assert former["slots"] == [{"days": ["mon", "wed"], "times": ["09:00", "17:30"]}]
    assert former["quiet_hours"] == {"begin": "22:00", "end": "07:00"}

    for post in (planned.post, planned.other):
        await planned.social.move_post(post)

    async def order() -> list[str]:
        queue = await planned.social.get_account_queue("acme", "mastodon-eu")
        return [each["post_id"] for each in queue["items"]]

    assert await order() == [planned.post, planned.other]
    press = {"once": "d", "move": f"{planned.other}:up"}
    moved = await person.post(f"{SLOTS}/order", data=press, follow_redirects=True)
    assert "The queue has its new order." in moved.text
    assert await order() == [planned.other, planned.post]
    undo = re.search(r'action="(/undo/[0-9a-f-]+)"', moved.text)
    assert undo
    await person.post(undo[1], data={"once": "e"})
    assert await order() == [planned.post, planned.other]

    seen = (await viewer.get(SLOTS)).text
    assert "you need the right “operate”, which your role (viewer) does not have" in seen
    assert 'method="post" action="/b/' not in seen
    for path in (SLOTS, f"{SLOTS}/order"):
        assert (await viewer.post(path, data={"once": "f", **form})).status_code == 403


async def test_a_month_with_hundreds_of_entries_stays_whole_and_light(
    planned: Any, person: httpx.AsyncClient
) -> None:
    first = planned.base.replace(day=1, hour=8)
    await planned.sql(
        "social",
        """
        insert into channel_posts (post_id, brand_slug, content_id, asked_as, entry, material, channel, account, text, state, due_at)
        select gen_random_uuid(), 'acme', gen_random_uuid(), 'mastodon-eu', 'mastodon-eu',
               jsonb_build_object('title', 'Post ' || n, 'keyword', 'k', 'description', '', 'points', '[]'::jsonb,
                                  'tags', '[]'::jsonb, 'link', null, 'pictures', '[]'::jsonb, 'language', null),
               'mastodon', 'many-' || n, 'A post.', 'planned', $1::timestamptz + n * interval '57 minutes'
        from generate_series(1, $2::int) as n
        """,
        first,
        MANY,
    )
    last = (first + timedelta(minutes=57 * MANY)).date()
    answer = await person.get(CALENDAR, params={"view": "month", "day": first.date().isoformat()})
    assert answer.status_code == 200
    assert f'data-day="{last}"' in answer.text
    day = answer.text.partition(f'data-day="{last}"')[2].partition('data-day="')[0]
    assert "Post " in day, "the last day has its entries"
    assert len(gzip.compress(answer.content)) < 60_000
    listed = await person.get(CALENDAR, params={"view": "list", "day": last.isoformat()})
    assert f"Post {MANY}" in listed.text
    # A list that is longer than its page goes on from its end, until it has shown all.
    seen, address = set[str](), f"{CALENDAR}?view=list&day={first.date().isoformat()}"
    for _ in range(MANY):
        page = (await person.get(address)).text
        seen |= set(re.findall(r"Post (\d+)", page))
        further = re.search(
            r'href="(\?[^"]*since=[^"]*)"', page.partition("Go on from there")[0].rpartition("<p")[2]
        )
        if further is None:
            break
        address = f"{CALENDAR}{unescape(further[1])}"
    within = int(timedelta(days=14) / timedelta(minutes=57))
    assert {str(number) for number in range(1, min(within, MANY) - 30)} <= seen
