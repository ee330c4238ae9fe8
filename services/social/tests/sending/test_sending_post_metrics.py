"""Post metrics: requested only where a brand wants them, daily for two weeks, and given up where a network has none."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from envelope.brand.payloads import SocialCreate
from fakes.serving.exchange import as_json
from services.social.tests.sending.conftest import Networks
from services.social.tests.sending.test_sending_posts import told
from social.post_metrics import PostMetricsPoller

NewCommand = Callable[..., SocialCreate]
CHANNELS = "/v1/brands/daily-grind/channels"
REACH = "/v1/brands/daily-grind/reach"


async def later(database: asyncpg.Connection, days: float) -> None:
    """As if the posts were older, and all that was told of them."""
    passed = timedelta(days=days)
    await database.execute("update channel_posts set posted_at = posted_at - $1::interval", passed)
    await database.execute("update reach_looks set due_at = due_at - $1::interval", passed)
    await database.execute("update reach set day = day - $1::int", round(days))


async def reached(social: Any) -> dict[str, dict[str, Any]]:
    """By account."""
    answer = await social.api.get(REACH)
    assert answer.status_code == 200, answer.text
    return {each["account"]: each for each in answer.json()["items"]}


def counts(post: dict[str, Any]) -> list[tuple[int, int, int]]:
    return [(each["likes"], each["shares"], each["replies"]) for each in post["days"]]


async def test_a_brand_that_wants_it_learns_daily_for_two_weeks_how_its_posts_are_received(
    social: Any,
    networks: Networks,
    new_command: NewCommand,
    social_database: asyncpg.Connection,
    looks: PostMetricsPoller,
) -> None:
    await networks.connect("mastodon", "bluesky", "webhook")
    command = new_command(channels=("mastodon", "bluesky", "webhook"))
    await social.send(command)
    await told(social, 3)
    await later(social_database, 1.01)
    assert (await looks.tick(), await reached(social)) == (0, {})

    for channel in ("mastodon", "bluesky"):
        rules = (await social.api.put(f"{CHANNELS}/{channel}", json={"reach": True})).json()
        assert (rules["reach"], rules["reach_possible"]) == (True, True)
    refused = await social.api.put(f"{CHANNELS}/webhook", json={"reach": True})
    assert (refused.status_code, "is not asked" in refused.json()["detail"]) == (422, True)
    [skeet] = networks.bluesky.accepted
    networks.mastodon.receive("1", likes=12, shares=3, replies=2)
    networks.bluesky.receive(skeet.id, likes=30, reposts=4, replies=0, quotes=1)
    assert (await looks.tick(), await looks.tick()) == (2, 0)
    found = await reached(social)
    assert {name: counts(each) for name, each in found.items()} == {
        "mastodon": [(12, 3, 2)],
        "bluesky": [(30, 5, 0)],
    }
    assert found["bluesky"]["post_url"] == skeet.url
    assert all(each["next_at"] > each["posted_at"] for each in found.values())

    # The machine is off for three days: one answer for them, and the next a day later, by the post's own clock.
    await later(social_database, 3)
    networks.mastodon.receive("1", likes=20, shares=3, replies=2)
    assert (await looks.tick(), await looks.tick()) == (2, 0)
    assert counts((await reached(social))["mastodon"]) == [(12, 3, 2), (20, 3, 2)]
    # Asked again on that day, it is that day's answer.
    await social_database.execute("update reach_looks set due_at = now()")
    networks.mastodon.receive("1", likes=21, shares=3, replies=2)
    await looks.tick()
    assert counts((await reached(social))["mastodon"]) == [(12, 3, 2), (21, 3, 2)]

    await later(social_database, 11)
    assert (await looks.tick(), await looks.tick()) == (2, 0)
    found = await reached(social)
    assert {each["next_at"] for each in found.values()} == {None}
    await later(social_database, 1)
    assert await looks.tick() == 0

    of_article = await social.api.get(REACH, params={"article": str(command.content_id), "limit": 1})
    assert (len(of_article.json()["items"]), of_article.json()["next"] is not None) == (1, True)
    rest = await social.api.get(REACH, params={"after": of_article.json()["next"]})
    assert (len(rest.json()["items"]), rest.json()["next"]) == (1, None)
    elsewhere = await social.api.get(REACH, params={"article": "0197a3c4-5b6e-7c80-9d2f-3a4b5c6d7e8f"})
    assert elsewhere.json()["items"] == []
    assert (await social.api.get("/v1/brands/rival/reach")).json()["items"] == []


@pytest.mark.extended
async def test_who_does_not_answer_is_asked_later_and_given_up_in_the_end_and_who_tells_nothing_rests(
    social: Any,
    networks: Networks,
    new_command: NewCommand,
    social_database: asyncpg.Connection,
    looks: PostMetricsPoller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await networks.connect("mastodon", "bluesky")
    networks.bluesky.has_app_view = False
    for channel in ("mastodon", "bluesky"):
        await social.api.put(f"{CHANNELS}/{channel}", json={"reach": True})
    for number in range(2):
        address = f"https://daily-grind.example/{number}"
        await social.send(new_command(channels=("mastodon", "bluesky"), published_url=address))
        await told(social, 2)
    await later(social_database, 1.01)

    async def states() -> list[tuple[Any, ...]]:
        rows = await social_database.fetch(
            "select account, reason, failures, due_at is null as over from reach_looks order by account, reason"
        )
        return [tuple(row) for row in rows]

    def asked(path: str) -> int:
        return sum(path in each.path for each in (*networks.mastodon.requests, *networks.bluesky.requests))

    limited = networks.mastodon.faults.inject("limited", "GET /api/v1/statuses/*")
    assert await looks.tick() == 0
    # Bluesky was asked about one post, and says nothing of any; Mastodon asks to wait, which counts against no post.
    assert (limited.fired, asked("getPosts")) == (1, 1)
    assert await states() == [
        ("bluesky", "not_told", 0, True),
        ("bluesky", "not_told", 0, True),
        ("mastodon", "limit", 0, False),
        ("mastodon", "limit", 0, False),
    ]
    await social.send(new_command(channels=("bluesky",), published_url="https://daily-grind.example/2"))
    await told(social, 1)
    await later(social_database, 1.01)
    networks.mastodon.statuses.pop()
    # In words that no database takes.
    monkeypatch.setattr(
        networks.mastodon, "failed", lambda _, status: as_json({"error": "out of \0 order \ud800"}, status)
    )
    broken = networks.mastodon.faults.inject("error_before", "GET /api/v1/statuses/2", times=None)
    async with asyncio.timeout(60):
        # The gateway keeps the pause that Mastodon has asked for: that counts against no post either.
        while not all(over for *_, over in await states()):
            await social_database.execute("update reach_looks set due_at = now() where due_at is not null")
            await looks.tick()
    assert (broken.fired, asked("getPosts")) == (6, 1)
    assert [state for state in await states() if state[0] == "mastodon"] == [
        ("mastodon", "gone", 0, True),
        ("mastodon", "no_answer", 5, True),
    ]
    [newer, older] = [
        each for each in (await social.api.get(REACH)).json()["items"] if each["account"] == "mastodon"
    ]
    assert (older["reason"], newer["reason"], newer["next_at"]) == ("gone", "no_answer", None)

    # Off and on again, it is tried anew.
    await social.api.put(f"{CHANNELS}/mastodon", json={})
    await looks.tick()
    assert "mastodon" not in await reached(social)
    networks.mastodon.faults.clear()
    await social.api.put(f"{CHANNELS}/mastodon", json={"reach": True})
    assert await looks.tick() == 1
    told_of = [
        (each["reason"], counts(each))
        for each in (await social.api.get(REACH)).json()["items"]
        if each["account"] == "mastodon"
    ]
    assert told_of == [("", [(0, 0, 0)]), ("gone", [])]
