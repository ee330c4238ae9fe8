"""A brand that reviews its posts first: the messages, and the states of its keywords."""

from typing import Any

import pytest

from envelope.brand.payloads import ContentPublished, DraftsWaiting, SocialFailed, SocialPosted
from orchestrator.integration_events import announce_due_events

POST_URL = "https://social.test/feeds/acme/1"


async def promoted(waiting: Any, **published: str) -> Any:
    """The requests to social once the article is public."""
    await waiting.decide("approve", version=1)
    await waiting.handle(*await waiting.sent())
    await waiting.sent()
    await waiting.hear(
        ContentPublished(
            brand_slug="acme",
            content_id=waiting.content_id,
            published_url="https://site.test/cold-brew",
            **published,
        )
    )
    (asked,) = [each.payload for each in await waiting.sent() if each.type == "social.create"]
    return asked


def answers(waiting: Any) -> dict[str, Any]:
    about = {"brand_slug": "acme", "content_id": waiting.content_id, "platform": "feed"}
    return {
        "waits": SocialFailed(**about, reason="needs_review", detail="post 1 waits for a person"),
        "posted": SocialPosted(**about, post_url=POST_URL),
        "rejected": SocialFailed(**about, reason="rejected", detail="anna: off our tone"),
    }


@pytest.mark.extended
@pytest.mark.parametrize("wish", ["everything", "nothing", None])
async def test_what_the_brand_wants_travels_with_the_command(waiting: Any, wish: str | None) -> None:
    said = {} if wish is None else {"posts_approval": wish}
    answer = await waiting.api.put("/v1/brands/acme", json={"name": "Acme", **said})
    assert answer.json()["posts_approval"] == answer.json()["policy"]["posts_approval"] == (wish or "nothing")
    assert (await promoted(waiting)).approval == (wish or "nothing")


@pytest.mark.extended
@pytest.mark.parametrize("wish", [True, False, None])
async def test_posts_have_short_links_if_the_brand_wants_them(waiting: Any, wish: bool | None) -> None:
    said = {} if wish is None else {"short_links": wish}
    answer = await waiting.api.put("/v1/brands/acme", json={"name": "Acme", **said})
    assert answer.json()["short_links"] == answer.json()["policy"]["short_links"] == bool(wish)
    short = "https://site.test/s/mfzwizltob"
    asked = await promoted(waiting, short_link=short)
    assert asked.short_link == (short if wish else None)
    assert asked.published_url == "https://site.test/cold-brew"


@pytest.mark.extended
@pytest.mark.parametrize(
    ("heard", "reason", "posts"),
    [
        (["waits", "waits"], "not posted yet on feed: needs_review: post 1 waits for a person", []),
        (["waits", "posted", "waits"], None, [POST_URL]),
        (["posted", "waits"], None, [POST_URL]),
        (["waits", "rejected", "waits"], "not posted on feed: rejected: anna: off our tone", []),
        (["rejected", "waits"], "not posted on feed: rejected: anna: off our tone", []),
    ],
)
async def test_a_keyword_whose_post_waits_has_ended_and_hears_how_it_was_decided(
    waiting: Any, heard: list[str], reason: str | None, posts: list[str]
) -> None:
    await waiting.api.put("/v1/brands/acme", json={"name": "Acme", "posts_approval": "everything"})
    await promoted(waiting)
    for answer in heard:
        await waiting.hear(answers(waiting)[answer])
        assert (await waiting.keyword())["state"] == "completed"
    keyword = await waiting.keyword()
    assert (keyword["reason"], [post["url"] for post in keyword["posts"]]) == (reason, posts)


async def test_posts_that_wait_are_reminded_of(waiting: Any) -> None:
    await promoted(waiting)
    await waiting.hear(answers(waiting)["waits"])
    await waiting.sent()
    for heard, drafts in ((None, [(0, 1, False)]), (None, []), ("posted", [])):
        if heard is not None:
            await waiting.hear(answers(waiting)[heard])
            async with waiting.database.connection() as connection:
                await connection.execute("update brands set reminded_at = reminded_at - interval '1 day'")
        await announce_due_events(waiting.database)
        told = [each.payload for each in await waiting.sent() if isinstance(each.payload, DraftsWaiting)]
        assert [(each.drafts, each.posts, each.held_up) for each in told] == drafts
