"""A person moves posts, puts one first, takes one out: planned posts can be moved, and the same again changes nothing."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
ACCOUNT = "/v1/brands/daily-grind/accounts/mastodon-eu"


async def order(calendar: Any) -> list[str]:
    queue = (await calendar.api.get(f"{ACCOUNT}/queue")).json()["items"]
    assert [each["at"] for each in queue] == sorted({each["at"] for each in queue})
    return [each["post_id"] for each in queue]


async def test_a_post_is_moved_to_a_time_and_back_into_the_queue(calendar: Any) -> None:
    await calendar.set_slots()
    first, second = [await calendar.planned() for _ in range(2)]
    slots = await calendar.times(first, second)
    at = (NOW + 40 * DAY).replace(hour=10, minute=30, second=0)

    moved = [await calendar.api.put(f"/v1/calendar/{first}", json={"at": at.isoformat()}) for _ in range(2)]
    assert {each.status_code for each in moved} == {200}
    assert moved[0].json() == moved[1].json()
    assert (await calendar.times(first), moved[0].json()["in_queue"]) == ([at], False)
    # Its slot is free for others; it comes back into the one that is free then.
    third = await calendar.planned()
    assert await calendar.times(third) == slots[:1]
    back = [await calendar.api.put(f"/v1/calendar/{first}", json={}) for _ in range(2)]
    assert back[0].json() == back[1].json()
    assert back[0].json()["in_queue"]
    assert await order(calendar) == [str(third), str(second), str(first)]


async def test_a_person_can_have_it_at_once_whatever_the_slots(calendar: Any) -> None:
    await calendar.set_slots(slots=[{"days": [f"{NOW + 3 * DAY:%a}".lower()], "times": ["12:00"]}])
    first, second = [await calendar.planned() for _ in range(2)]
    slots = await calendar.times(first, second)
    waits = await calendar.add("waiting")

    moved = [await calendar.api.put(f"/v1/calendar/{first}", json={"now": True}) for _ in range(2)]
    assert moved[0].json() == moved[1].json()
    assert (moved[0].json()["state"], moved[0].json()["in_queue"]) == ("planned", False)
    assert datetime.fromisoformat(moved[0].json()["at"]) <= datetime.now(UTC)
    # What waits for a person gets the slot that is free now, and is told of it; said again, it goes out at once, and once.
    path = f"/v1/posts/{waits}/approve"
    slot = (await calendar.api.post(path, json={"version": 1})).json()["publish_at"]
    assert datetime.fromisoformat(slot) == slots[0]
    at_once = [await calendar.api.post(path, json={"version": 1, "now": True}) for _ in range(2)]
    assert at_once[0].json() == at_once[1].json()
    assert datetime.fromisoformat(at_once[0].json()["publish_at"]) <= datetime.now(UTC)
    for place, body in (
        (f"/v1/calendar/{second}", {"now": True, "at": slot}),
        (path, {"version": 1, "now": True, "publish_at": slot}),
    ):
        both = await calendar.api.request("POST" if "posts" in place else "PUT", place, json=body)
        assert (both.status_code, "leave one of them out" in both.text) == (422, True)


async def test_a_time_that_is_taken_quiet_or_past_is_refused(calendar: Any) -> None:
    quiet = {"begin": "22:00", "end": "07:00"}
    await calendar.set_slots(spacing_minutes=30, quiet_hours=quiet, time_zone="Europe/Berlin")
    first, second = [await calendar.planned() for _ in range(2)]
    (slot,) = await calendar.times(first)

    async def moved(at: datetime) -> tuple[int, str]:
        answer = await calendar.api.put(f"/v1/calendar/{second}", json={"at": at.isoformat()})
        return answer.status_code, answer.json().get("detail", "")

    status, detail = await moved(slot + timedelta(minutes=10))
    assert (status, f"{slot + timedelta(minutes=30):%H:%M} UTC" in detail) == (409, True)
    status, detail = await moved((NOW + 30 * DAY).replace(hour=1, minute=0))
    assert (status, "within the account's quiet hours, which end on" in detail) == (409, True)
    status, detail = await moved(NOW - DAY)
    assert (status, "has gone by" in detail) == (422, True)
    assert (await calendar.entry(second))["in_queue"]


async def test_one_is_put_first_and_the_queue_put_into_another_order(calendar: Any) -> None:
    await calendar.set_slots()
    posts = [str(await calendar.planned()) for _ in range(5)]
    slots = await calendar.times(*posts)

    for _ in range(2):
        answer = await calendar.api.post(f"/v1/calendar/{posts[3]}/first")
        assert (answer.status_code, answer.json()["in_queue"]) == (200, True)
        assert await order(calendar) == [posts[3], *posts[:3], posts[4]]
        assert await calendar.times(posts[3], *posts[:3], posts[4]) == slots

    wanted = {"post_ids": [posts[4], posts[0]]}
    for _ in range(2):
        answer = await calendar.api.put(f"{ACCOUNT}/queue", json=wanted)
        assert [each["post_id"] for each in answer.json()["items"]] == await order(calendar)
        assert await order(calendar) == [posts[4], posts[0], posts[3], posts[1], posts[2]]
    # Other slots hold for what comes, and for all of the queue once it is put into order.
    await calendar.set_slots(slots=[{"days": ["sat"], "times": ["10:00"]}])
    assert await calendar.times(posts[4]) == slots[:1]
    await calendar.api.put(f"{ACCOUNT}/queue", json={"post_ids": []})
    assert {each.weekday() for each in await calendar.times(*posts)} == {5}
    assert await order(calendar) == [posts[4], posts[0], posts[3], posts[1], posts[2]]

    unknown = await calendar.api.put(f"{ACCOUNT}/queue", json={"post_ids": [str(uuid4())]})
    assert (unknown.status_code, "has no slot of mastodon-eu" in unknown.json()["detail"]) == (409, True)
    twice = await calendar.api.put(f"{ACCOUNT}/queue", json={"post_ids": [posts[0]] * 2})
    assert twice.status_code == 422


@pytest.mark.extended
async def test_one_is_taken_out_and_put_back(calendar: Any) -> None:
    await calendar.set_slots()
    first, second = [await calendar.planned(correlation_id="chain-1") for _ in range(2)]

    off = [await calendar.api.post(f"/v1/calendar/{first}/call-off") for _ in range(2)]
    assert off[0].json() == off[1].json()
    assert (off[0].json()["state"], off[0].json()["detail"]) == (
        "called_off",
        "service took it out of the calendar",
    )
    told = await calendar.sql("select body from outbox")
    assert [b'"reason":"called_off"' in each["body"] for each in told] == [True]
    assert await order(calendar) == [str(second)]
    late = await calendar.api.post(f"/v1/calendar/{first}/first")
    assert (late.status_code, "give it a time first" in late.json()["detail"]) == (409, True)
    back = await calendar.api.put(f"/v1/calendar/{first}", json={})
    assert (back.json()["state"], back.json()["detail"]) == ("planned", "")


@pytest.mark.extended
@pytest.mark.parametrize("state", ["sending", "posted", "failed", "in_doubt", "called_off"])
async def test_what_is_sent_or_ended_otherwise_cannot_be_moved(calendar: Any, state: str) -> None:
    await calendar.set_slots()
    post = await calendar.add(state, NOW - DAY, reason="page_taken_down", detail="The page is gone.")

    for method, path, body in (
        ("PUT", "", {}),
        ("PUT", "", {"at": (NOW + DAY).isoformat()}),
        ("POST", "/first", None),
        ("POST", "/call-off", None),
    ):
        answer = await calendar.api.request(method, f"/v1/calendar/{post}{path}", json=body)
        assert answer.status_code == 409
        assert "only what is planned can be moved" in answer.json()["detail"]
    assert (await calendar.entry(post))["state"] == state


async def test_whoever_moves_while_it_is_claimed_is_told_so(calendar: Any) -> None:
    post = await calendar.add("planned", NOW + DAY)
    async with calendar.database.transaction() as tx:
        # A replica has it in hand.
        await tx.connection.execute(
            "update channel_posts set state = 'sending', claimed_at = clock_timestamp() where post_id = $1",
            post,
        )
        moving = asyncio.create_task(
            calendar.api.put(f"/v1/calendar/{post}", json={"at": (NOW + 2 * DAY).isoformat()})
        )
        await asyncio.wait({moving}, timeout=0.2)
        assert not moving.done()
    answer = await moving
    assert (answer.status_code, "is sending" in answer.json()["detail"]) == (409, True)
    assert await calendar.times(post) == [NOW + DAY]


async def test_another_brands_calendar_is_as_one_that_is_empty(calendar: Any) -> None:
    await calendar.set_slots()
    post = await calendar.planned()
    before = await calendar.entry(post)

    for method, path, body in (
        ("GET", f"/v1/calendar/{post}", None),
        ("PUT", f"/v1/calendar/{post}", {}),
        ("POST", f"/v1/calendar/{post}/first", None),
        ("POST", f"/v1/calendar/{post}/call-off", None),
        ("GET", "/v1/brands/daily-grind/accounts", None),
        ("GET", f"{ACCOUNT}/slots", None),
        ("PUT", f"{ACCOUNT}/slots", {}),
        ("DELETE", f"{ACCOUNT}/slots", None),
        ("GET", f"{ACCOUNT}/queue", None),
        ("PUT", f"{ACCOUNT}/queue", {"post_ids": []}),
    ):
        answer = await calendar.others.request(method, path, json=body)
        assert answer.status_code == 404, (method, path)
    seen = (await calendar.others.get("/v1/calendar", params={"brand": "daily-grind"})).json()
    assert seen == {"items": [], "next": None}
    file = await calendar.others.get("/v1/calendar.ics", params={"brand": "daily-grind"})
    assert "VEVENT" not in file.text
    assert await calendar.entry(post) == before
