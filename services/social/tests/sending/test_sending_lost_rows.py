"""The database has lost rows of posts: announced posts are stored again, possible ones are looked up, and none is out twice."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from chassis.testing import eventually
from envelope.brand.payloads import KnownPost, SocialCreate
from gateway.app import GatewayApp
from services.social.tests.sending.conftest import Networks, Orchestrator
from social.sending import note_loss

NewCommand = Callable[..., SocialCreate]
FAILS_OVER = "update server_history set kept_until = now() - interval '1 minute', noticed_at = now()"


async def told(social: Any, count: int) -> dict[str, str]:
    """Of the next events: where each channel's post is, or why it is not."""
    events = await social.events(count)
    return {event["platform"]: event.get("post_url") or event["reason"] for event in events}


async def lose_rows(social_database: asyncpg.Connection, gateway: GatewayApp) -> None:
    """As if nothing had been posted yet: the standby lacks the last commits of all services."""
    await social_database.execute(
        "delete from channel_posts; delete from posts; delete from pending_posts; delete from receipts; delete from processed_events"
    )
    await social_database.execute(FAILS_OVER)
    async with gateway.connections.connection() as connection:
        await connection.execute("delete from account_effects")


def again(command: SocialCreate, **known: str) -> SocialCreate:
    """The command with which the orchestrator asks once more."""
    posts = tuple(KnownPost(platform=platform, post_url=url) for platform, url in known.items())
    asked_since = datetime.now(UTC) - timedelta(minutes=1)
    return command.model_copy(update={"known_posts": posts, "asked_since": asked_since})


@pytest.mark.extended
@pytest.mark.parametrize("approval", ["nothing", "everything"])
async def test_posts_that_were_announced_are_there_again_and_none_goes_out_twice(
    social: Any,
    networks: Networks,
    gateway: GatewayApp,
    new_command: NewCommand,
    social_database: asyncpg.Connection,
    approval: str,
) -> None:
    await networks.connect("mastodon", "bluesky", "webhook")
    channels = ("feed", "mastodon", "bluesky", "webhook")
    command = new_command(channels=channels)
    await social.send(command)
    first = await told(social, 4)
    await lose_rows(social_database, gateway)
    assert (await social.http.get(first["feed"])).status_code == 404

    for _ in range(2):
        await social.send(again(command.model_copy(update={"approval": approval}), **first))
        assert await told(social, 4) == first
    assert (await social.http.get(first["feed"])).status_code == 200
    assert [len(each.accepted) for each in networks.all] == [1, 1, 1]
    listed = (await social.api.get("/v1/posts", params={"state": "posted"})).json()["items"]
    assert {each["post_url"] for each in listed} >= {first["mastodon"], first["webhook"]}


@pytest.mark.extended
async def test_a_row_that_has_forgotten_its_post_remembers_it_before_it_is_sent(
    social: Any,
    networks: Networks,
    gateway: GatewayApp,
    new_command: NewCommand,
    orchestrator: tuple[Orchestrator, str],
    social_database: asyncpg.Connection,
) -> None:
    """It was planned in the last commit that the standby has."""
    await networks.connect("mastodon")
    state, _ = orchestrator
    state.paused_at = "2026-11-22T12:00:00Z"
    command = new_command(channels=("mastodon",))
    await social.send(command)

    async def is_held() -> bool:
        return bool(
            await social_database.fetchval("select true from channel_posts where held_until is not null")
        )

    await eventually(is_held)
    url = f"{networks.mastodon.url}/@acme/1"
    await social.send(again(command, mastodon=url))
    assert await told(social, 1) == {"mastodon": url}
    state.paused_at = None
    await social_database.execute("update channel_posts set held_until = null")
    await social.send(command)
    assert await told(social, 1) == {"mastodon": url}
    assert networks.mastodon.accepted == ()


@pytest.mark.extended
async def test_what_may_be_out_is_looked_for_and_where_that_is_not_possible_a_person_is_asked(
    social: Any,
    networks: Networks,
    gateway: GatewayApp,
    new_command: NewCommand,
    social_database: asyncpg.Connection,
) -> None:
    await networks.connect("mastodon", "bluesky")
    command = new_command(channels=("mastodon", "bluesky"))
    await social.send(command)
    first = await told(social, 2)
    await lose_rows(social_database, gateway)
    await social.send(again(command))
    assert await told(social, 2) == {"mastodon": first["mastodon"], "bluesky": "in_doubt"}
    assert (len(networks.mastodon.accepted), len(networks.bluesky.accepted)) == (1, 1)


async def test_a_post_is_sent_without_a_look_where_no_row_was_lost(
    social: Any, networks: Networks, new_command: NewCommand
) -> None:
    await networks.connect("bluesky")
    await social.send(again(new_command(channels=("bluesky",))))
    assert (await told(social, 1))["bluesky"].startswith("https://")
    assert len(networks.bluesky.accepted) == 1


@pytest.mark.extended
async def test_rows_that_may_have_gone_out_since_are_looked_for_and_those_for_later_are_not(
    social: Any,
    networks: Networks,
    gateway: GatewayApp,
    new_command: NewCommand,
    orchestrator: tuple[Orchestrator, str],
    social_database: asyncpg.Connection,
) -> None:
    await networks.connect("mastodon", "bluesky")
    state, _ = orchestrator
    state.paused_at = "2026-11-22T12:00:00Z"
    await social.send(new_command(channels=("mastodon", "bluesky")))

    async def are_held() -> bool:
        held = "select count(*) from channel_posts where state = 'planned' and held_until is not null"
        return bool(await social_database.fetchval(held) == 2)

    await eventually(are_held)
    await social_database.execute(
        "update channel_posts set due_at = now() + interval '1 day' where channel = 'mastodon'"
    )
    kept_until = datetime.now(UTC) - timedelta(minutes=1)
    for _ in range(2):
        await note_loss(social_database, kept_until)
    marked = await social_database.fetch("select channel, may_be_out_since from channel_posts")
    assert dict(map(tuple, marked)) == {"mastodon": None, "bluesky": kept_until}
    state.paused_at = None
    await social_database.execute("update channel_posts set held_until = null")
    assert await told(social, 1) == {"bluesky": "in_doubt"}
    assert networks.bluesky.accepted == ()


@pytest.mark.extended
async def test_the_service_says_that_its_database_has_lost_commits(
    social: Any, social_database: asyncpg.Connection
) -> None:
    async def has_looked() -> bool:
        return await social_database.fetchval("select true from server_history") is True

    await eventually(has_looked)
    await social_database.execute("update server_history set timeline = '00000000'")
    [event] = await social.commands("orchestrator-events", 1)
    assert (event["type"], event["service"]) == ("database.fell_back", "social")
    kept_until = await social_database.fetchval("select kept_until from server_history")
    assert datetime.fromisoformat(event["kept_until"]) == kept_until


@pytest.mark.extended
async def test_a_post_is_found_by_the_short_link_that_it_was_asked_for_with(
    social: Any,
    networks: Networks,
    gateway: GatewayApp,
    new_command: NewCommand,
    social_database: asyncpg.Connection,
) -> None:
    await networks.connect("mastodon")
    networks.mastodon.keeps_keys = False
    command = new_command(channels=("mastodon",), short_link="https://daily-grind.example/s/abc12345")
    await social.send(command)
    first = await told(social, 1)
    await lose_rows(social_database, gateway)
    await social.send(again(command))
    assert await told(social, 1) == first
    assert len(networks.mastodon.accepted) == 1
    assert await social_database.fetchval("select prepared ? 'is_uncertain' from receipts")
