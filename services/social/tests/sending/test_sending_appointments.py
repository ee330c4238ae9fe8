"""Posts of the built-in feed that were approved for a time.

They wait while their brand is paused or its state unknown, and are called off with their article.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from pydantic import SecretStr

from chassis.http.client import Peer, ServiceClient, UnavailableError
from chassis.testing import eventually
from envelope.brand.payloads import SocialCreate
from messaging import Service
from services.social.tests.sending.conftest import KEY, Orchestrator
from social.review import ScheduledPostPublisher
from social.sending import SendingGate
from social.urls import FeedUrls

NewCommand = Callable[..., SocialCreate]


@pytest.fixture
def appointments(
    social_service: Service, orchestrator: tuple[Orchestrator, str], social_settings: dict[str, Any]
) -> ScheduledPostPublisher:
    """As another replica has them."""
    peer = Peer("the orchestrator", orchestrator[1], "ORCHESTRATOR_URL", SecretStr(KEY))
    client = ServiceClient(peer, timeout_seconds=60, max_bytes=64_000)
    known = social_service.dependency("the other's orchestrator", outages=(UnavailableError,))
    urls = FeedUrls.under(social_settings["public_url"])
    return ScheduledPostPublisher(social_service.database, urls, SendingGate(client, known))


async def approved_for_a_time(social: Any, command: SocialCreate) -> str:
    """The path of a post that is due in a moment."""
    await social.send(command)
    [waits] = await social.events(1)
    assert waits["reason"] == "needs_review"
    [shown] = (await social.api.get("/v1/posts", params={"state": "waiting"})).json()["items"]
    path = f"/v1/posts/{shown['post_id']}"
    soon = datetime.now(UTC) + timedelta(seconds=1)
    approved = await social.api.post(f"{path}/approve", json={"version": 1, "publish_at": soon.isoformat()})
    assert approved.json()["state"] == "scheduled", approved.text
    return path


@pytest.mark.extended
async def test_what_was_approved_for_a_time_waits_for_its_brand_and_goes_nowhere_without_its_article(
    social: Any,
    appointments: ScheduledPostPublisher,
    new_command: NewCommand,
    orchestrator: tuple[Orchestrator, str],
    social_database: asyncpg.Connection,
) -> None:
    state, _ = orchestrator

    async def is_kept_back() -> bool:
        """By the service itself, at its time."""
        return bool(await social_database.fetchval("select held_until from pending_posts"))

    async def looked_at() -> bool:
        """At what is due, until nothing is left to look at for now."""
        await social_database.execute("update pending_posts set held_until = null")
        found = await appointments.keep()
        while await appointments.keep():
            pass
        return found

    state.paused_at = "2026-11-22T12:00:00Z"
    path = await approved_for_a_time(social, new_command(approval="everything"))
    await eventually(is_kept_back)
    for change in ({"taken_down_at": "2026-11-22T12:00:00Z"}, {"away": True}):
        state.paused_at = state.taken_down_at = None
        vars(state).update(change)
        assert await looked_at()
    kept = (await social.api.get(path)).json()
    assert (kept["state"], kept["version"]) == ("scheduled", 1)

    state.taken_down_at, state.away = None, False
    assert await looked_at()
    [event] = await social.events(1)
    assert event["type"] == "social.posted"
    assert (await social.api.get(path)).json()["state"] == "posted"

    state.deleted = True
    other = new_command(title="Cold brew", keyword="cold brew", approval="everything", published_url=None)
    path = await approved_for_a_time(social, other)

    async def is_called_off() -> bool:
        return bool((await social.api.get(path)).json()["state"] == "waiting")

    await eventually(is_called_off)
    shown = (await social.api.get(path)).json()
    assert (shown["state"], shown["publish_at"]) == ("waiting", None)
    assert (shown["decision"]["by"], shown["decision"]["comment"]) == ("social", "its article was deleted")
