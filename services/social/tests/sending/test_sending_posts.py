"""Posts on other platforms: each once, none for another's failure, none that is no longer wanted."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import structlog

from chassis.http.client import Peer, ServiceClient
from chassis.testing import eventually
from envelope.brand.payloads import Picture, SocialCreate
from envelope.brand.work import sending_id
from receipts import NotSent
from services.social.tests.sending.conftest import Networks, Orchestrator
from social.sending import pictures

NewCommand = Callable[..., SocialCreate]
COVER = Picture(
    url="https://daily-grind.example/sites/daily-grind/pour-over-coffee/cover.png",
    alt="A cup, seen from above.",
    media_type="image/png",
    width=1200,
    height=630,
)


async def told(social: Any, count: int) -> dict[str, str]:
    """Of the next events: where each channel's post is, or why it is not."""
    events = await social.events(count)
    return {event["platform"]: event.get("post_url") or event["reason"] for event in events}


async def posts(social: Any, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await social.api.get("/v1/posts", params=query)).json()["items"]
    return found


@pytest.mark.extended
async def test_each_channel_has_its_own_text_once_and_a_repeated_command_finds_it(
    social: Any, networks: Networks, new_command: NewCommand
) -> None:
    await networks.connect("mastodon", "bluesky", "webhook")
    channels = ("feed", "Mastodon", "bluesky", "webhook", "x", "pigeon")
    command = new_command(channels=channels, language="en", picture=COVER)
    await social.send(command)
    first = await told(social, 6)
    assert (first["x"], first["pigeon"]) == ("channel_not_connected", "unknown_channel")
    assert first["Mastodon"] == f"{networks.mastodon.url}/@acme/1"
    assert first["bluesky"].startswith("https://bsky.app/profile/acme.example/post/")
    assert first["webhook"].startswith(f"{networks.webhook.url}/messages/post-")

    [toot], [skeet], [message] = (each.accepted for each in networks.all)
    assert command.published_url in toot.text
    assert (toot.more["language"], toot.more["alternatives"]) == ("en", ["A cup, seen from above."])
    [link, *_] = (each for each in skeet.more["facets"] if "uri" in each["features"][0])
    start, end = link["index"]["byteStart"], link["index"]["byteEnd"]
    assert skeet.text.encode()[start:end].decode() == command.published_url
    card = skeet.more["embed"]["external"]
    assert (card["uri"], card["thumb"]["mimeType"]) == (command.published_url, "image/png")
    assert message.more["link"] == command.published_url
    assert message.more["pictures"][0]["alt"] == COVER.alt
    assert len({toot.text, skeet.text, message.text}) == 3
    page = (await social.http.get(first["feed"])).text
    assert f'<a href="{first["Mastodon"]}" rel="noopener">Posted on Mastodon</a>' in page
    assert "none of them has been posted" not in page

    await social.send(command.model_copy(update={"approval": "everything"}))
    assert await told(social, 6) == first
    assert [len(each.accepted) for each in networks.all] == [1, 1, 1]


@pytest.mark.extended
async def test_the_log_tells_of_each_post_that_is_out_and_of_each_that_is_not(
    social: Any, networks: Networks, new_command: NewCommand
) -> None:
    await networks.connect("mastodon", "bluesky")
    command = new_command(channels=("feed", "mastodon"))
    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as lines:
        for _ in range(2):
            await social.send(command)
            await told(social, 2)
        # What went to the same account for another article is refused, and nothing is wrong.
        await social.send(new_command(channels=("mastodon",), title="Other", tags=("other",)))
        assert await told(social, 1) == {"mastodon": "duplicate_link"}

    out = {each["channel"]: each for each in lines if each["event"] == "post_is_out"}
    assert sorted(out) == ["feed", "mastodon"]
    assert len([each for each in lines if each["event"] == "post_is_out"]) == 2
    shown = {each["channel"]: each["post_id"] for each in await posts(social, state="posted")}
    assert {channel: each["post_id"] for channel, each in out.items() if channel in shown} == shown
    for each in out.values():
        assert (each["brand"], each["content_id"]) == (command.brand_slug, str(command.content_id))
        assert each["correlation_id"]
    assert out["mastodon"]["url"] == f"{networks.mastodon.url}/@acme/1"
    (refused,) = (each for each in lines if each["event"] == "post_is_not_out")
    assert (refused["asked_as"], refused["reason"]) == ("mastodon", "duplicate_link")


@pytest.mark.extended
async def test_posts_lead_by_short_links_that_say_where_they_are_and_are_kept_apart_by_the_article(
    social: Any, networks: Networks, new_command: NewCommand, social_database: asyncpg.Connection
) -> None:
    await networks.connect("mastodon", "bluesky", "webhook")
    short = "https://daily-grind.example/s/mfzwizltob"
    command = new_command(channels=("feed", "mastodon", "bluesky", "webhook"), short_link=short)
    await social.send(command)
    await told(social, 4)
    registered = {each["channel"]: each for each in await social.commands("publisher-commands", 3)}
    [toot], [skeet], [message] = (each.accepted for each in networks.all)
    marks = {channel: each["mark"] for channel, each in registered.items()}
    assert len(set(marks.values())) == 3
    assert f"{short}{marks['mastodon']}" in toot.text
    assert command.published_url not in toot.text + skeet.text
    [link, *_] = (each for each in skeet.more["facets"] if "uri" in each["features"][0])
    start, end = link["index"]["byteStart"], link["index"]["byteEnd"]
    bluesky = f"{short}{marks['bluesky']}"
    assert (skeet.text.encode()[start:end].decode(), link["features"][0]["uri"]) == (bluesky, bluesky)
    assert skeet.more["embed"]["external"]["uri"] == bluesky
    assert message.more["link"] == f"{short}{marks['webhook']}"
    posted = {each["channel"]: each["post_id"] for each in await posts(social, state="posted")}
    assert {channel: each["post_id"] for channel, each in registered.items()} == {
        channel: post_id for channel, post_id in posted.items() if channel in registered
    }
    # Another article at the same address is the same to whoever follows the account, whatever its short link.
    await social.send(
        new_command(
            channels=("mastodon",), short_link="https://daily-grind.example/s/aaaaaaaaaa", title="Other"
        )
    )
    assert await told(social, 1) == {"mastodon": "duplicate_link"}


@pytest.mark.extended
async def test_only_what_failed_is_tried_again_then_parked_and_retried_by_a_person(
    social: Any, networks: Networks, new_command: NewCommand
) -> None:
    await networks.connect("mastodon", "bluesky")
    fault = networks.mastodon.faults.inject("error_before", "GET /api/v2/instance", times=None)
    await social.send(new_command(channels=("bluesky", "mastodon")))
    ended = await told(social, 2)
    assert ended["bluesky"].startswith("https://bsky.app/")
    assert ended["mastodon"] == "no_answer"
    assert fault.fired == 4
    reason, detail = await social.dead_letter()
    assert (reason, "brandctl posts retry" in detail) == ("permanent", True)
    [failed] = await posts(social, state="failed")
    assert (failed["channel"], failed["account"], failed["reason"]) == ("mastodon", "mastodon", "no_answer")
    assert "no answer, or none that is whole" in failed["detail"]

    networks.mastodon.faults.clear()
    again = [await social.api.post(f"/v1/posts/{failed['post_id']}/retry") for _ in range(2)]
    assert [each.status_code for each in again] == [200, 200]
    assert await told(social, 1) == {"mastodon": f"{networks.mastodon.url}/@acme/1"}
    assert [len(each.accepted) for each in networks.all] == [1, 1, 0]
    # Its dead letter is done with; of the other post, which went out at once, there is nothing to say.
    [report] = await social.commands("monitor-commands", 1)
    sent = str(sending_id("daily-grind", UUID(failed["post_id"])))
    assert (report["type"], report["work_id"]) == ("work.finished", sent)
    late = await social.api.post(f"/v1/posts/{failed['post_id']}/retry")
    assert (late.status_code, "has not failed" in late.json()["detail"]) == (409, True)


@pytest.mark.extended
async def test_a_publisher_that_is_away_costs_no_post_an_attempt(
    social: Any,
    networks: Networks,
    new_command: NewCommand,
    orchestrator: tuple[Orchestrator, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pictures, "AGAIN_AFTER", timedelta(seconds=0.1))
    state, _ = orchestrator
    state.pages_are = 503
    await networks.connect("mastodon")
    await social.send(new_command(channels=("mastodon",), picture=COVER))
    await eventually(lambda: _asked_for_pictures(state) > 1)
    [waiting] = await posts(social)
    assert (waiting["state"], waiting["reason"]) == ("sending", "publisher")
    state.pages_are = None
    assert await told(social, 1) == {"mastodon": f"{networks.mastodon.url}/@acme/1"}
    [toot] = networks.mastodon.accepted
    assert toot.more["alternatives"] == [COVER.alt]


@pytest.mark.parametrize(
    ("status", "counts"), [(503, False), (502, False), (429, False), (500, True), (404, True)]
)
async def test_only_what_a_publisher_that_is_there_says_of_a_picture_counts_as_an_attempt(
    orchestrator: tuple[Orchestrator, str], status: int, counts: bool
) -> None:
    state, url = orchestrator
    state.pages_are = status
    peer = Peer("the publisher", url, "PAGES_URL", None)
    async with ServiceClient(peer, timeout_seconds=60, max_bytes=1_000) as client:
        with pytest.raises(NotSent) as raised:
            await pictures.PublishedPictures(client).read(COVER.url)
    assert (raised.value.retry_at is None) is counts


def _asked_for_pictures(state: Orchestrator) -> int:
    return sum(path.startswith("/sites/") for path in state.asked)


@pytest.mark.extended
async def test_an_account_is_named_where_there_are_several_and_posts_once(
    social: Any, networks: Networks, new_command: NewCommand
) -> None:
    await networks.connect_as("mastodon-eu", "mastodon")
    await social.send(new_command(channels=("mastodon-eu", "mastodon")))
    ended = await told(social, 2)
    assert sorted(ended.values()) == [f"{networks.mastodon.url}/@acme/1", "same_account"]

    await networks.connect_as("mastodon-us", "mastodon")
    await social.send(new_command(channels=("mastodon",), published_url="https://daily-grind.example/other"))
    assert await told(social, 1) == {"mastodon": "channel_ambiguous"}
    [failed] = [each for each in await posts(social, state="failed") if each["reason"] == "channel_ambiguous"]
    assert "mastodon-eu, mastodon-us" in failed["detail"]


@pytest.mark.extended
async def test_each_channels_post_waits_is_edited_within_its_rules_and_goes_out_at_its_time(
    social: Any, networks: Networks, new_command: NewCommand, social_database: asyncpg.Connection
) -> None:
    await networks.connect("mastodon", "bluesky")
    await social.send(new_command(channels=("feed", "mastodon", "bluesky"), approval="everything"))
    assert await told(social, 3) == dict.fromkeys(("feed", "mastodon", "bluesky"), "needs_review")
    waiting = {each["channel"]: each for each in await posts(social)}
    assert set(waiting) == {"feed", "mastodon", "bluesky"}
    assert waiting["bluesky"]["counts"][0]["maximum"] == 300
    toot, skeet = (f"/v1/posts/{waiting[name]['post_id']}" for name in ("mastodon", "bluesky"))

    text = "w" * 400
    assert (await social.api.post(f"{skeet}/edit", json={"version": 1, "text": text})).status_code == 422
    edited = await social.api.post(
        f"{toot}/edit", json={"version": 1, "text": f"{text} https://example.org/a#b #Tea"}
    )
    assert (edited.status_code, edited.json()["version"]) == (200, 2)
    at = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    planned = await social.api.post(f"{toot}/approve", json={"version": 2, "publish_at": at})
    assert planned.json()["state"] == "scheduled"
    off = await social.api.post(f"{toot}/unschedule")
    assert (off.json()["state"], off.json()["publish_at"]) == ("waiting", None)
    await social.api.post(f"{toot}/approve", json={"version": 2, "publish_at": at})
    assert networks.mastodon.accepted == ()
    await social_database.execute("update channel_posts set due_at = now() where state = 'planned'")
    assert await told(social, 1) == {"mastodon": f"{networks.mastodon.url}/@acme/1"}
    assert networks.mastodon.accepted[0].text.startswith(text)

    rejected = [
        await social.api.post(f"{skeet}/reject", json={"version": 1, "reason": "off our tone"})
        for _ in range(2)
    ]
    assert rejected[0].json() == rejected[1].json()
    assert await told(social, 1) == {"bluesky": "rejected"}
    assert networks.bluesky.accepted == ()
    decisions = (await social.api.get(f"{toot}/decisions")).json()["items"]
    assert [each["decision"] for each in decisions] == ["scheduled", "called_off", "scheduled", "edited"]


@pytest.mark.extended
async def test_nothing_goes_out_for_a_paused_brand_or_a_page_that_is_gone(
    social: Any,
    networks: Networks,
    new_command: NewCommand,
    orchestrator: tuple[Orchestrator, str],
    social_database: asyncpg.Connection,
) -> None:
    state, _ = orchestrator
    await networks.connect("mastodon")
    state.paused_at = "2026-11-22T12:00:00Z"
    await social.send(new_command(channels=("mastodon",)))

    async def held_for(reason: str) -> bool:
        await social_database.execute("update channel_posts set held_until = now()")
        return bool(await social_database.fetchval("select bool_and(reason = $1) from channel_posts", reason))

    async def is_kept(reason: str) -> bool:
        return any(each["reason"] == reason for each in await posts(social))

    async def is_explained() -> bool:
        # Between two looks at the brand it is being sent.
        return any(
            "brandctl brands resume" in each["detail"] for each in await posts(social, state="scheduled")
        )

    await eventually(lambda: held_for("brand_paused"))
    await eventually(is_explained)
    state.paused_at, state.taken_down_at = None, "2026-11-22T12:00:00Z"
    await eventually(lambda: held_for("page_taken_down"))
    state.taken_down_at = None
    assert networks.mastodon.accepted == ()

    async def is_out() -> bool:
        await social_database.execute("update channel_posts set held_until = now()")
        return len(networks.mastodon.accepted) == 1

    await eventually(is_out)
    assert await told(social, 1) == {"mastodon": f"{networks.mastodon.url}/@acme/1"}

    state.deleted = True
    other = {"title": "Cold brew", "keyword": "cold brew", "key_points": (), "channels": ("mastodon",)}
    await social.send(
        new_command(meta_description="Cold brew takes twelve hours.", published_url=None, **other)
    )
    assert await told(social, 1) == {"mastodon": "article_deleted"}

    # Nobody knows: it waits, and is not lost.
    state.deleted, state.away = False, True
    await social.send(
        new_command(meta_description="Cold brew takes coarse grounds.", published_url=None, **other)
    )
    await eventually(lambda: is_kept("orchestrator"))
    assert len(networks.mastodon.accepted) == 1


@pytest.mark.extended
async def test_a_brand_says_where_the_link_stands_and_which_hashtags(
    social: Any, networks: Networks, new_command: NewCommand
) -> None:
    await networks.connect("mastodon")
    path = "/v1/brands/daily-grind/channels"
    rules = {"link": "none", "hashtags": ["#home coffee"], "most_hashtags": 2}
    put = [(await social.api.put(f"{path}/mastodon", json=rules)).json() for _ in range(2)]
    assert put[0] == put[1]
    assert (put[0]["link"], put[0]["hashtags"]) == ("none", ["HomeCoffee"])
    refused = await social.api.put(f"{path}/mastodon", json={"link": "first_comment"})
    assert (refused.status_code, "in_text, none" in refused.json()["detail"]) == (422, True)
    assert (await social.api.put(f"{path}/feed", json={})).status_code == 404

    command = new_command(channels=("mastodon",))
    await social.send(command)
    await told(social, 1)
    [toot] = networks.mastodon.accepted
    assert "https://" not in toot.text
    assert toot.text.endswith("#HomeCoffee #Coffee")

    removed = [(await social.api.delete(f"{path}/mastodon")).status_code for _ in range(2)]
    listed = {each["channel"]: each for each in (await social.api.get(path)).json()["items"]}
    assert removed == [204, 204]
    assert (listed["mastodon"]["is_set"], listed["mastodon"]["link"]) == (False, "in_text")


@pytest.mark.extended
async def test_a_token_that_is_valid_no_more_is_told_in_plain_words(
    social: Any, networks: Networks, new_command: NewCommand
) -> None:
    await networks.connect("mastodon")
    networks.mastodon.token = "another"
    await social.send(new_command(channels=("mastodon",)))
    assert await told(social, 1) == {"mastodon": "needs_reconnecting"}
    [failed] = await posts(social, state="failed")
    assert "connect the account again" in failed["detail"]
    assert "mastodon-token" not in str(failed)


@pytest.mark.extended
async def test_a_post_whose_command_was_lost_goes_on_when_it_is_asked_for_again(
    social: Any, networks: Networks, new_command: NewCommand, social_database: asyncpg.Connection
) -> None:
    """As after a fail-over to a database that lacks the last commits: the row stands, and no message brings it further."""
    await networks.connect("mastodon")
    command = new_command(channels=("mastodon",))
    await social.send(command)
    first = await told(social, 1)
    await social_database.execute("update channel_posts set state = 'sending', post_url = null")
    await social.send(command)
    assert await told(social, 1) == first
    [toot] = networks.mastodon.accepted
    [post] = await posts(social, state="posted")
    assert post["post_url"] == first["mastodon"]
    assert command.published_url in toot.text
