"""Articles with a lost answer, where the account is refused, gone or another user's since: one, or a visible doubt."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from fakes.sites.devto import FakeDevTo
from fakes.sites.ghost import FakeGhost
from fakes.sites.receiver import FakeReceiver
from fakes.sites.wordpress import FakeWordPress
from messaging import RetryLater
from services.publisher.tests.targets.test_target_conformance import made

SITES: list[tuple[Callable[[], Any], str, str]] = [
    (FakeWordPress, "wordpress", "POST /wp-json/wp/v2/posts"),
    (FakeGhost, "ghost", "POST /ghost/api/admin/posts/"),
    (FakeDevTo, "devto", "POST /api/articles"),
]
WRITTEN = {
    "wordpress": "POST /wp-json/wp/v2/posts/*",
    "ghost": "PUT /ghost/api/admin/posts/*",
    "devto": "PUT /api/articles/*",
}
each_site = pytest.mark.parametrize(("make", "kind", "match"), SITES, ids=[kind for _, kind, _ in SITES])


async def lose(
    targets: Any, content_id: UUID, target: str, there: Any, match: str, fault: str = "reset_after"
) -> Any:
    """Sends it until an answer is lost; returns the command."""
    there.faults.inject(fault, match)
    command = targets.command(content_id, target)
    with pytest.raises(RetryLater):
        await targets.once(command)
    return command


@each_site
async def test_a_draft_that_is_made_45_seconds_late_is_one(
    make: Callable[[], Any], kind: str, match: str, targets: Any, connect: Any
) -> None:
    content_id = targets.orchestrator.add()
    there = await connect(make(), kind)
    command = await lose(targets, content_id, kind, there, match, "reset_before")

    async def pass_time(seconds: int) -> None:
        async with targets.database.connection() as connection:
            await connection.execute(
                f"""
                update receipts set held_until = held_until - interval '{seconds} s',
                                    not_before = not_before - interval '{seconds} s',
                                    quiet_since = quiet_since - interval '{seconds} s'
                """
            )

    await pass_time(45)
    with pytest.raises(RetryLater):
        await targets.once(command)
    method, _, path = match.partition(" ")
    there.answer(next(each for each in there.requests if (each.method, each.path) == (method, path)))
    await pass_time(110)
    answered = await targets.publish(content_id, kind)
    assert answered["type"] == "content.published"
    assert await made(there) == 1
    assert len(there.posts if kind != "devto" else there.articles) == 1


@each_site
async def test_what_is_there_has_not_failed_because_its_account_is_gone(
    make: Callable[[], Any], kind: str, match: str, targets: Any, connect: Any
) -> None:
    del match
    content_id = targets.orchestrator.add()
    there = await connect(make(), kind)
    await lose(targets, content_id, kind, there, WRITTEN[kind])
    targets.connected.clear()
    answered = await targets.publish(content_id, kind)
    assert (answered["type"], answered["reason"]) == ("content.publish_failed", "in_doubt")
    assert await made(there) == 1


@each_site
async def test_what_is_there_has_not_failed_because_its_account_is_refused(
    make: Callable[[], Any], kind: str, match: str, targets: Any, connect: Any
) -> None:
    del match
    content_id = targets.orchestrator.add()
    there = await connect(make(), kind)
    await lose(targets, content_id, kind, there, WRITTEN[kind])
    answer = there.answer
    there.answer = lambda request: there.expired(request) if there.accepted else answer(request)
    answered = await targets.publish(content_id, kind)
    assert (answered["type"], answered["reason"]) == ("content.publish_failed", "in_doubt")
    assert await made(there) == 1


async def test_a_message_that_was_taken_has_not_failed_because_the_receiver_is_gone(
    targets: Any, connect: Any
) -> None:
    content_id = targets.orchestrator.add()
    there = await connect(FakeReceiver(), "webhook")
    await lose(targets, content_id, "webhook", there, "POST /")
    targets.connected.clear()
    answered = await targets.publish(content_id, "webhook")
    assert (answered["reason"], await made(there)) == ("in_doubt", 1)


@each_site
async def test_an_article_that_was_begun_for_one_user_is_not_made_for_another(
    make: Callable[[], Any], kind: str, match: str, targets: Any, connect: Any
) -> None:
    content_id = targets.orchestrator.add()
    there = await connect(make(), kind)
    [account] = targets.connected
    targets.connected[:] = [replace(account, identities=("user:ann",))]
    await lose(targets, content_id, kind, there, match)
    targets.connected[:] = [replace(account, identities=("user:bob",))]
    answered = await targets.publish(content_id, kind)
    assert (answered["type"], answered["reason"]) == ("content.publish_failed", "in_doubt")
    assert "another user" in answered["detail"]
    assert len(there.posts if kind != "devto" else there.articles) == 1


async def test_what_never_left_fails_plainly(targets: Any, connect: Any) -> None:
    content_id = targets.orchestrator.add()
    there = await connect(FakeWordPress(), "wordpress")
    await lose(targets, content_id, "wordpress", there, "GET /wp-json/wp/v2/posts", "limited")
    targets.connected.clear()
    answered = await targets.publish(content_id, "wordpress")
    assert answered["reason"] == "not_connected"
