"""Posts get the slots of their account: one each, the next free one first, on any replica."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from social.calendar import SlotScheduler
from social.domain import PostRefusal

NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)


async def test_without_slots_a_post_goes_out_at_once(calendar: Any) -> None:
    post = await calendar.planned()

    entry = await calendar.entry(post)
    assert (entry["state"], entry["in_queue"]) == ("planned", False)
    assert datetime.fromisoformat(entry["at"]) <= datetime.now(UTC)


async def test_with_slots_each_new_post_gets_the_next_free_one(calendar: Any) -> None:
    slots = await calendar.set_slots(time_zone="Europe/Berlin")
    free = [datetime.fromisoformat(each) for each in slots["free"]]

    posts = [await calendar.planned() for _ in range(3)]

    assert await calendar.times(*posts) == free[:3]
    assert (await calendar.entry(posts[0]))["in_queue"]
    left = (await calendar.api.get("/v1/brands/daily-grind/accounts/mastodon-eu/slots")).json()
    assert (left["free"][:2], left["queued"]) == (slots["free"][3:], 3)
    # Another account has slots of its own, and another brand's posts on the account take it up, too.
    elsewhere = await calendar.set_slots("bluesky-eu", time_zone="Europe/Berlin")
    assert elsewhere["free"] == slots["free"]
    others = await calendar.set_slots(brand="other-brand", time_zone="Europe/Berlin")
    assert others["free"][:2] == slots["free"][3:]


async def test_posts_that_come_at_once_never_share_a_slot(calendar: Any) -> None:
    await calendar.set_slots()
    posts = [await calendar.add() for _ in range(12)]

    await asyncio.gather(*(calendar.place(each) for each in posts))

    times = sorted(await calendar.times(*posts))
    assert all(earlier < later for earlier, later in pairwise(times))
    assert {each.hour for each in times} <= {9, 12, 18}
    assert times[-1] - times[0] <= timedelta(days=4)


async def test_the_database_itself_refuses_two_posts_in_one_slot(calendar: Any) -> None:
    await calendar.set_slots()
    first = await calendar.planned()
    (at,) = await calendar.times(first)

    with pytest.raises(Exception, match="channel_posts_in_slots"):
        await calendar.add("planned", at, in_queue=True)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("columns", "what"),
    [({"text": "Said BEFORE."}, "text"), ({"material": {"link": "https://daily-grind.example/a"}}, "link")],
)
async def test_the_same_text_or_link_is_refused_within_a_window(
    calendar: Any, columns: dict[str, Any], what: str
) -> None:
    old = {"text": "Said before.", "material": {"link": "https://daily-grind.example/a"}}
    await calendar.add("posted", NOW - timedelta(days=8), posted_at=NOW - timedelta(days=8), **old)

    refused = await calendar.place(await calendar.add(**columns))
    assert isinstance(refused, PostRefusal)
    assert refused.reason == f"duplicate_{what}"
    assert f"has the same {what}; such posts are kept 30 days apart" in refused.detail
    # On another account it is said for the first time.
    assert await calendar.place(await calendar.add(account="bluesky-eu", **columns)) is None

    await calendar.set_slots(duplicates_days=7)
    assert await calendar.place(await calendar.add(**columns)) is None
    # That one is planned, and counts.
    assert isinstance(await calendar.place(await calendar.add(**columns)), PostRefusal)
    await calendar.set_slots(duplicates_days=0)
    assert await calendar.place(await calendar.add(**columns)) is None


async def test_what_was_missed_goes_out_one_after_the_other(calendar: Any) -> None:
    now = datetime.now(UTC)
    await calendar.set_slots(spacing_minutes=30)
    missed = [await calendar.add("planned", now - hours * HOUR, in_queue=True) for hours in (5, 4, 3)]
    next_one = await calendar.add("planned", now + HOUR, in_queue=True)
    far = await calendar.add("planned", now + 9 * HOUR, in_queue=True)
    # What is held, by a paused brand say, is not due; and where there are no rules, all go out as they are due.
    held = await calendar.add("planned", now - 6 * HOUR, held_until=now + HOUR)
    free = [await calendar.add("planned", now - HOUR, account="bluesky-eu") for _ in range(2)]

    async def tick() -> None:
        async with calendar.database.transaction() as tx:
            await SlotScheduler().space_out(tx.connection)

    begin = datetime.now(UTC)
    await asyncio.gather(tick(), tick())
    times = await calendar.times(*missed, next_one, far)
    assert begin <= times[0] <= datetime.now(UTC)
    assert [later - earlier for earlier, later in pairwise(times[:4])] == [timedelta(minutes=30)] * 3
    assert times[4] == now + 9 * HOUR
    assert await calendar.times(held, *free) == [now - 6 * HOUR, now - HOUR, now - HOUR]

    # The first is sent; nothing changes until the next is due, nor by then.
    await calendar.sql("update channel_posts set state = 'sending' where post_id = $1", missed[0])
    await tick()
    assert await calendar.times(*missed, next_one, far) == times
