"""Repeated posts: evergreen ones where there is room, recurring ones at their times; each once, and never before new posts."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from social.calendar.repeat_planner import RepeatPlanner

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
EVERGREEN = {"kind": "evergreen", "cool_down_days": 30, "at_most": 2}
HOURLY = [{"times": [f"{hour:02}:00" for hour in range(24)]}]


async def posted(calendar: Any, ago: timedelta = 31 * DAY, **columns: Any) -> UUID:
    post: UUID = await calendar.add("posted", NOW - ago, posted_at=NOW - ago, **columns)
    return post


async def evergreen(calendar: Any, post: UUID, **rule: Any) -> dict[str, Any]:
    answer = await calendar.api.put(f"/v1/calendar/{post}/repeats", json=EVERGREEN | rule)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def repetitions(calendar: Any) -> list[Any]:
    found: list[Any] = await calendar.sql(
        "select * from channel_posts where occurrence > 0 order by occurrence, post_id"
    )
    return found


async def tick(calendar: Any, *, replicas: int = 1) -> None:
    loops = [RepeatPlanner(calendar.database, calendar.due) for _ in range(replicas)]
    await asyncio.gather(*(each.tick() for each in loops))


async def send(calendar: Any, post_id: UUID, ago: timedelta = timedelta()) -> None:
    await calendar.sql(
        "update channel_posts set state = 'posted', begun_at = now(), due_at = $2, posted_at = $2 where post_id = $1",
        post_id,
        NOW - ago,
    )


async def test_an_evergreen_post_comes_again_after_its_cool_down_with_other_words_and_so_often(
    calendar: Any,
) -> None:
    slots = await calendar.set_slots(slots=HOURLY)
    old, young = await posted(calendar), await posted(calendar, 20 * DAY)
    for post in (old, young):
        assert await evergreen(calendar, post) == await evergreen(calendar, post)

    await tick(calendar, replicas=3)
    (first,) = await repetitions(calendar)
    assert first["due_at"] == datetime.fromisoformat(slots["free"][0])
    assert (first["state"], first["in_queue"], first["repeats"], first["occurrence"]) == (
        "planned",
        True,
        "evergreen",
        1,
    )
    original = (await calendar.sql("select * from channel_posts where post_id = $1", old))[0]
    assert first["text"] != original["text"]
    shown = (await calendar.api.get(f"/v1/calendar/{old}/repeats")).json()
    assert (shown["made"], shown["made_by"], shown["account"]) == (1, "service", "mastodon-eu")

    # Not again before that one is out, nor before its cool-down is over; then with other words again, and no more than twice.
    await tick(calendar)
    await send(calendar, first["post_id"])
    await tick(calendar)
    assert len(await repetitions(calendar)) == 1
    await send(calendar, first["post_id"], 31 * DAY)
    await tick(calendar)
    _, second = await repetitions(calendar)
    assert second["text"] not in {first["text"], original["text"]}
    await send(calendar, second["post_id"], 31 * DAY)
    await tick(calendar)
    assert len(await repetitions(calendar)) == 2


async def test_what_is_new_comes_first(calendar: Any) -> None:
    await calendar.set_slots(slots=HOURLY)
    old = await posted(calendar)
    await evergreen(calendar, old)
    await tick(calendar)
    (before,) = await repetitions(calendar)

    # A new post takes its slot, and as long as it waits, nothing is posted again.
    new = await calendar.planned()
    assert await calendar.times(new) == [before["due_at"]]
    await tick(calendar)
    assert await repetitions(calendar) == []
    await send(calendar, new)
    await tick(calendar)
    (after,) = await repetitions(calendar)
    # It is the same repetition, and has the same receipt.
    assert (after["post_id"], after["text"]) == (before["post_id"], before["text"])
    # One that was begun is not taken back: it may be out.
    await calendar.sql("update channel_posts set begun_at = now() where post_id = $1", after["post_id"])
    newer = await calendar.planned()
    assert (await repetitions(calendar))[0]["post_id"] == after["post_id"]
    assert (await calendar.times(newer))[0] > after["due_at"]


async def test_without_slots_or_with_all_of_them_taken_nothing_is_posted_again(calendar: Any) -> None:
    old = await posted(calendar)
    await evergreen(calendar, old)
    await tick(calendar)
    # The next slot is too far off for it to be planned by now.
    await calendar.set_slots(slots=[{"days": [f"{NOW + 3 * DAY:%a}".lower()], "times": ["12:00"]}])
    await tick(calendar)
    assert await repetitions(calendar) == []


@pytest.mark.extended
@pytest.mark.parametrize("has_slots", [True, False])
async def test_a_recurring_post_comes_at_its_times(calendar: Any, has_slots: bool) -> None:
    if has_slots:
        await calendar.set_slots()
    post = await posted(calendar, DAY)
    day = f"{NOW + 2 * DAY:%a}".lower()
    rule = {"kind": "recurring", "times": [{"days": [day], "times": ["10:30"]}], "at_most": 5}
    assert (await calendar.api.put(f"/v1/calendar/{post}/repeats", json=rule)).status_code == 200
    # A post that waits is no reason against it.
    await calendar.add("planned", NOW + 4 * DAY)

    await tick(calendar, replicas=3)
    (found,) = await repetitions(calendar)
    assert found["due_at"] == (NOW + 2 * DAY).replace(hour=10, minute=30, second=0)
    assert (found["state"], found["in_queue"], found["repeats"]) == ("planned", False, "recurring")

    assert (await calendar.api.delete(f"/v1/calendar/{post}/repeats")).status_code == 204
    assert await repetitions(calendar) == []
    assert (await calendar.api.get(f"/v1/calendar/{post}/repeats")).status_code == 404


async def test_an_article_is_posted_again_on_each_account_unless_one_has_its_own_rule(calendar: Any) -> None:
    content_id = UUID(int=7)
    for account in ("mastodon-eu", "mastodon-us"):
        await calendar.set_slots(account, slots=HOURLY)
    await posted(calendar, content_id=content_id)
    other = await posted(calendar, content_id=content_id, account="mastodon-us")
    path = f"/v1/brands/daily-grind/articles/{content_id}/repeats"
    made = await calendar.api.put(path, json=EVERGREEN)
    assert (made.status_code, made.json()["account"]) == (200, None)
    await evergreen(calendar, other, cool_down_days=60)

    await tick(calendar)
    assert [each["account"] for each in await repetitions(calendar)] == ["mastodon-eu"]
    assert (await calendar.others.get(path)).status_code == 404
    assert (await calendar.others.put(path, json=EVERGREEN)).status_code == 404
    assert (await calendar.others.put(f"/v1/calendar/{other}/repeats", json=EVERGREEN)).status_code == 404


async def test_a_brand_that_sees_its_posts_first_sees_new_words_too(calendar: Any) -> None:
    await calendar.set_slots(slots=HOURLY)
    post = await posted(calendar, approval="everything")
    await evergreen(calendar, post)

    await tick(calendar)
    (waits,) = await repetitions(calendar)
    assert (waits["state"], waits["due_at"]) == ("waiting", None)
    await tick(calendar)
    assert len(await repetitions(calendar)) == 1
    # Approved, it gets its slot, and is no duplicate of what it repeats.
    approved = await calendar.api.post(f"/v1/posts/{waits['post_id']}/approve", json={"version": 1})
    assert approved.json()["state"] == "scheduled", approved.text
    assert (await repetitions(calendar))[0]["in_queue"]


@pytest.mark.extended
@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "evergreen", "at_most": 1},
        {"kind": "evergreen", "at_most": 1, "cool_down_days": 3, "times": [{"times": ["09:00"]}]},
        {"kind": "recurring", "at_most": 1},
        {"kind": "recurring", "at_most": 1, "monthly": [{"days": ["sixth-mon"], "times": ["09:00"]}]},
        {
            "kind": "evergreen",
            "at_most": 1,
            "cool_down_days": 3,
            "monthly": [{"days": ["1"], "times": ["09:00"]}],
        },
        {"kind": "recurring", "at_most": 1, "times": [{"times": ["09:00"]}], "time_zone": "Mars/Base"},
        {"kind": "evergreen", "at_most": 0, "cool_down_days": 3},
    ],
)
async def test_what_is_neither_evergreen_nor_recurring_is_refused(
    calendar: Any, rule: dict[str, Any]
) -> None:
    answer = await calendar.api.put(f"/v1/brands/daily-grind/articles/{UUID(int=7)}/repeats", json=rule)

    assert answer.status_code == 422


async def test_a_monthly_post_is_expected_on_its_days_until_it_is_planned_as_the_same_event(
    calendar: Any,
) -> None:
    post = await posted(calendar, DAY)
    rule = {
        "kind": "recurring",
        "monthly": [{"days": ["last", "31", "second-tue"], "times": ["09:30"]}],
        "time_zone": "Europe/Berlin",
        "at_most": 4,
    }
    made = await calendar.api.put(f"/v1/calendar/{post}/repeats", json=rule)
    assert (made.status_code, made.json()["monthly"]) == (200, rule["monthly"]), made.text

    async def shown(**query: str) -> list[dict[str, Any]]:
        year = {"from": NOW.isoformat(), "to": (NOW + 366 * DAY).isoformat(), "zone": "Europe/Berlin"}
        asked = {"brand": "daily-grind", **year, **query}
        found: list[dict[str, Any]] = (await calendar.api.get("/v1/calendar", params=asked)).json()["items"]
        return found

    expected = await shown()
    assert [(each["state"], each["repeats"], each["repetition"]) for each in expected] == [
        ("expected", "recurring", number) for number in (1, 2, 3, 4)
    ]
    for each in expected:
        day = datetime.fromisoformat(each["at"])
        assert f"{day:%H:%M}" == "09:30"
        assert (day + DAY).month != day.month or (day.weekday() == 1 and 8 <= day.day <= 14)
    # Page by page it is the same list, and what is behind the end is not in it.
    first = (
        await calendar.api.get(
            "/v1/calendar", params={"brand": "daily-grind", "limit": "1", "to": expected[3]["at"]}
        )
    ).json()
    rest = await shown(after=first["next"], to=expected[3]["at"])
    assert [each["post_id"] for each in rest if each["state"] == "expected"] == [
        each["post_id"] for each in expected[:3]
    ]

    file = {"brand": "daily-grind", "from": NOW.isoformat()}
    before = (await calendar.api.get("/v1/calendar.ics", params=file)).text
    assert f"UID:{expected[0]['post_id']}" in before.replace("\r\n ", "")
    assert "STATUS:TENTATIVE" in before
    await tick(calendar)
    (planned,) = await repetitions(calendar)
    assert (str(planned["post_id"]), planned["due_at"]) == (
        expected[0]["post_id"],
        datetime.fromisoformat(expected[0]["at"]),
    )
    after = await shown()
    assert [each["state"] for each in after] == ["planned", "expected", "expected", "expected"]
    assert [each["post_id"] for each in after] == [each["post_id"] for each in expected]
