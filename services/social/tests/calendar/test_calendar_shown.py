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


async def test_each_day_has_its_first_posts_and_the_number_of_all(calendar: Any) -> None:
    monday = datetime(2031, 3, 3, tzinfo=UTC)
    for hours in (23, 30, 26, 34, 48.5):
        await calendar.add("planned", monday + timedelta(hours=hours))
    for state in ("new", "waiting", "rejected"):
        await calendar.add(state, None)
    wanted = {
        "brand": "daily-grind",
        "first": "2031-03-03",
        "days": "3",
        "zone": "Europe/Berlin",
        "a_day": "2",
    }

    async def days(api: Any = calendar.api, **query: str) -> list[Any]:
        answer = await api.get("/v1/calendar/days", params={**wanted, **query})
        assert answer.is_success, answer.text
        found: list[Any] = answer.json()["items"]
        return found

    shown_days = await days()
    listed = await shown(calendar, zone="Europe/Berlin", **{"from": "2031-03-01", "to": "2031-03-09"})
    items = listed["items"]
    # 23 h in UTC is midnight of the next day in Berlin; of the four of that day the first two are shown.
    assert [(each["day"], each["count"], each["is_exact"]) for each in shown_days] == [
        ("2031-03-03", 0, True),
        ("2031-03-04", 4, True),
        ("2031-03-05", 1, True),
    ]
    assert [each["entries"] for each in shown_days] == [[], items[:2], items[4:]]
    assert [each["count"] for each in await days(zone="UTC")] == [1, 3, 1]
    assert [each["count"] for each in await days(brand="other-brand")] == [0, 0, 0]
    assert [each["count"] for each in await days(calendar.others)] == [0, 0, 0], "a key of another brand"


@pytest.mark.extended
async def test_the_expected_repetitions_of_a_day_count(calendar: Any) -> None:
    post = await calendar.add("posted", NOW - DAY, posted_at=NOW - DAY, content_id=(article := uuid4()))
    path = f"/v1/brands/daily-grind/articles/{article}/repeats"
    rule = {"kind": "recurring", "times": [{"times": ["09:00"]}], "at_most": 10}
    answer = await calendar.api.put(path, json=rule)
    assert answer.is_success, (post, answer.text)
    listed = (await shown(calendar, zone="UTC"))["items"]
    expected = [each for each in listed if each["state"] == "expected"]
    day = datetime.fromisoformat(expected[0]["at"]).date().isoformat()
    answer = await calendar.api.get(
        "/v1/calendar/days", params={"brand": "daily-grind", "first": day, "days": "3"}
    )
    assert [(each["count"], each["entries"]) for each in answer.json()["items"]] == [
        (1, [each]) for each in expected[:3]
    ]


@pytest.mark.extended
@pytest.mark.parametrize(
    "wrong",
    [
        {"first": "0001-01-01"},
        {"first": "9999-12-31"},
        {"first": "x"},
        {"days": "43"},
        {"a_day": "51"},
        {"zone": "Mars"},
    ],
)
async def test_days_that_do_not_exist_or_too_many_are_refused(calendar: Any, wrong: dict[str, str]) -> None:
    answer = await calendar.api.get(
        "/v1/calendar/days", params={"brand": "daily-grind", "first": "2031-03-03", **wrong}
    )
    assert answer.status_code == 422
