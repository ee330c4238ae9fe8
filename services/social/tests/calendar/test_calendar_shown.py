"""The calendar as a list in the times of a zone and for other programs; and valid slots."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import icalendar
import pytest

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)


async def shown(calendar: Any, **query: str) -> dict[str, Any]:
    answer = await calendar.api.get("/v1/calendar", params={"brand": "daily-grind", **query})
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_posts_of_all_places_stand_in_one_order_page_by_page(calendar: Any) -> None:
    await calendar.sql(
        "insert into accounts (brand_slug, channel, display_name) values ('daily-grind', 'feed', 'The Daily Grind')"
    )
    out, soon = uuid4(), uuid4()
    feed = "'daily-grind', $2, 'feed', 'Tea', 'Tea is steeped.', '[]', null, '[]'"
    await calendar.sql(
        "insert into posts (post_id, brand_slug, content_id, channel, title, text, tags, link, drafts, posted_at)"
        f" values ($1, {feed}, $3)",
        out,
        uuid4(),
        NOW - DAY,
    )
    await calendar.sql(
        "insert into pending_posts (post_id, brand_slug, content_id, channel, title, text, tags, link, drafts, display_name,"
        f" asked_as, publish_at) values ($1, {feed}, 'Grind', '{{feed}}', $3)",
        soon,
        uuid4(),
        NOW + 2 * DAY,
    )
    posted = await calendar.add("posted", NOW - 2 * DAY, posted_at=NOW - 2 * DAY + timedelta(seconds=3))
    failed = await calendar.add("failed", NOW, reason="account_away", detail="Connect it again.")
    planned = await calendar.add("planned", NOW + DAY)
    for state, due_at in (("new", None), ("waiting", None), ("rejected", NOW), ("planned", NOW + 99 * DAY)):
        await calendar.add(state, due_at)
    await calendar.add("planned", NOW + DAY, brand="other-brand")

    pages, after = [], {}
    while True:
        page = await shown(calendar, zone="Asia/Tokyo", limit="2", **after)
        pages.append(page["items"])
        if page["next"] is None:
            break
        after = {"after": page["next"]}

    found = [each for page in pages for each in page]
    assert [(each["post_id"], each["state"], each["channel"]) for each in found] == [
        (str(posted), "posted", "mastodon"),
        (str(out), "posted", "feed"),
        (str(failed), "failed", "mastodon"),
        (str(planned), "planned", "mastodon"),
        (str(soon), "planned", "feed"),
    ]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert {each["at"][-6:] for each in found} == {"+09:00"}
    assert datetime.fromisoformat(found[0]["at"]) == NOW - 2 * DAY + timedelta(seconds=3)
    assert found[2]["detail"] == "Connect it again."


async def test_other_programs_follow_a_post_that_is_moved_and_called_off(calendar: Any) -> None:
    post = await calendar.add("planned", NOW + DAY, text="One; two, three.\nFour \\ five: “☕”.")

    async def event() -> Any:
        file = await calendar.api.get("/v1/calendar.ics", params={"brand": "daily-grind"})
        (found,) = icalendar.Calendar.from_ical(file.text).walk("VEVENT")
        return found

    before = await event()
    assert str(before["UID"]) == f"{post}@social.brand-engine"
    assert str(before["DESCRIPTION"]).startswith("One; two, three.\nFour \\ five: “☕”.")
    at = NOW + 2 * DAY
    await calendar.api.put(f"/v1/calendar/{post}", json={"at": at.isoformat()})
    moved = await event()
    assert (moved["UID"], moved.decoded("DTSTART")) == (before["UID"], at)
    await calendar.api.post(f"/v1/calendar/{post}/call-off")
    off = await event()
    assert (str(moved["STATUS"]), str(off["STATUS"])) == ("CONFIRMED", "CANCELLED")
    assert before["SEQUENCE"] < moved["SEQUENCE"] < off["SEQUENCE"]
    assert before.decoded("DTSTAMP") <= moved.decoded("DTSTAMP") <= off.decoded("DTSTAMP")


async def test_slots_are_set_read_and_removed_and_who_did_is_noted(calendar: Any) -> None:
    path = "/v1/brands/daily-grind/accounts/mastodon-eu/slots"
    wanted = {"slots": [{"days": ["sun"], "times": ["02:30"]}], "time_zone": "Europe/Berlin"}
    made = [await calendar.api.put(path, json=wanted) for _ in range(2)]
    assert [each.status_code for each in made] == [201, 200]
    assert made[0].json() == made[1].json()
    assert len(made[0].json()["free"]) == 5
    assert (await calendar.api.get("/v1/brands/daily-grind/accounts")).json()["items"] == [made[0].json()]
    for _ in range(2):
        assert (await calendar.api.delete(path)).status_code == 204
    assert (await calendar.api.get(path)).status_code == 404
    log = (await calendar.api.get("/v1/audit-log")).json()["items"]
    assert {(each["operation"], each["brand"]) for each in log} == {
        (f"{method} /v1/brands/{{slug}}/accounts/{{account}}/slots", "daily-grind")
        for method in ("PUT", "DELETE")
    }


@pytest.mark.extended
@pytest.mark.parametrize(
    ("account", "rules", "complaint"),
    [
        ("feed", {}, "the built-in feed has no slots"),
        ("mastodon", {"time_zone": "Mars/Base"}, "there is no time zone"),
        ("mastodon", {"slots": [{"days": ["sun"], "times": ["25:00"]}]}, "slots[0].times[0]"),
        ("mastodon", {"slots": [{"days": [], "times": ["09:00"]}]}, "slots[0].days"),
        ("mastodon", {"quiet_hours": {"begin": "09:00", "end": "09:00"}}, "quiet hours must end"),
        (
            "mastodon",
            {"slots": [{"times": ["23:00"]}], "quiet_hours": {"begin": "22:00", "end": "07:00"}},
            "all of them lie within the quiet hours",
        ),
        ("mastodon", {"spacing_minutes": 0}, "spacing_minutes"),
        ("mastodon", {"spacing": 5}, "spacing"),
    ],
)
async def test_rules_by_which_nothing_could_go_out_are_refused(
    calendar: Any, account: str, rules: dict[str, Any], complaint: str
) -> None:
    answer = await calendar.api.put(f"/v1/brands/daily-grind/accounts/{account}/slots", json=rules)

    assert (answer.status_code, complaint in answer.json()["detail"]) == (422, True), answer.text
