"""A brand with several targets: the first is an article's home, the others follow it and are reported apart."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from envelope.brand.payloads import ContentPublished, ContentPublishFailed, DeadLetterRecorded

HOME = "https://acme.example/cold-brew"
BLOG = "https://blog.example/cold-brew"
FIRST = datetime(2027, 1, 1, tzinfo=UTC)
SECOND = datetime(2027, 2, 1, tzinfo=UTC)


def asked(messages: list[Any]) -> list[tuple[str, str | None, bool]]:
    """Which targets were asked for it, with the address that they are to name."""
    return [
        (each.payload.target, each.payload.canonical_url, each.payload.overwrite)
        for each in messages
        if each.type == "content.publish"
    ]


@pytest.fixture
async def spread(waiting: Any) -> Any:
    """An approved, unpublished article of a brand that has three targets."""
    targets = ["site", "blog", "files"]
    brand = await waiting.api.put("/v1/brands/acme", json={"name": "Acme", "targets": targets})
    assert (brand.json()["target"], brand.json()["targets"]) == ("site", targets)
    await waiting.decide("approve", version=1)
    await waiting.handle(*await waiting.sent())
    assert asked(await waiting.sent()) == [("site", None, False)]
    return waiting


def published(waiting: Any, url: str, target: str | None, as_of: datetime = FIRST) -> ContentPublished:
    return ContentPublished(
        brand_slug="acme", content_id=waiting.content_id, published_url=url, target=target, as_of=as_of
    )


def failed(waiting: Any, target: str) -> ContentPublishFailed:
    return ContentPublishFailed(
        brand_slug="acme",
        content_id=waiting.content_id,
        target=target,
        reason="changed_elsewhere",
        detail="Ann",
    )


async def placements(waiting: Any) -> dict[str, tuple[str, str | None, str | None]]:
    answer = (await waiting.api.get(f"/v1/content/{waiting.content_id}/placements")).json()
    return {each["target"]: (each["state"], each["url"], each["reason"]) for each in answer["items"]}


async def test_further_targets_follow_once_the_home_has_an_address_and_name_it(spread: Any) -> None:
    await spread.hear(published(spread, HOME, "site"))
    assert asked(await spread.sent()) == [("blog", HOME, False), ("files", HOME, False)]
    # Told a second time, or of another replica's version, which does not say of which target.
    await spread.hear(published(spread, HOME, "site"))
    await spread.hear(published(spread, HOME, None))
    assert asked(await spread.sent()) == []
    # A later state of the article.
    await spread.hear(published(spread, HOME, "site", SECOND))
    assert asked(await spread.sent()) == [("blog", HOME, False), ("files", HOME, False)]


async def test_a_home_that_fails_keeps_the_others_from_being_asked(spread: Any) -> None:
    await spread.hear(failed(spread, "site"))
    assert asked(await spread.sent()) == []
    assert (await spread.keyword())["state"] == "failed"
    refused = await spread.api.post(f"/v1/content/{spread.content_id}/placements/blog", json={})
    assert refused.status_code == 409
    again = await spread.api.post(f"/v1/content/{spread.content_id}/placements/site", json={})
    assert again.status_code == 200
    assert asked(await spread.sent()) == [("site", None, False)]


async def test_a_keyword_is_completed_by_its_home_and_shows_what_others_answer(spread: Any) -> None:
    await spread.hear(published(spread, HOME, "site"))
    await spread.sent()
    await spread.hear(published(spread, BLOG, "blog", SECOND))
    await spread.hear(failed(spread, "files"))
    keyword = await spread.keyword()
    assert keyword["published_url"] == HOME
    assert keyword["state"] == "promoting"
    assert keyword["reason"] == "not published at files: changed_elsewhere: Ann"
    assert [(each["target"], each["state"]) for each in keyword["placements"]] == [
        ("blog", "published"),
        ("files", "failed"),
    ]
    assert (await spread.article())["published_url"] == HOME
    assert asked(await spread.sent()) == []


async def test_one_target_is_asked_again_alone(spread: Any) -> None:
    await spread.hear(published(spread, HOME, "site"))
    await spread.sent()
    lost = DeadLetterRecorded(
        dead_event_id=UUID(int=1),
        queue="publisher-commands",
        message_type="content.publish",
        reason="exhausted",
        brand_slug="acme",
        content_id=spread.content_id,
        target="files",
    )
    await spread.hear(lost)
    assert (await placements(spread))["files"][0] == "failed"
    assert (await spread.keyword())["state"] == "promoting"
    path = f"/v1/content/{spread.content_id}/placements"
    assert (await spread.api.post(f"{path}/files", json={"overwrite": True})).status_code == 200
    assert asked(await spread.sent()) == [("files", HOME, True)]
    assert (await placements(spread))["files"] == ("asked", None, None)
    assert (await spread.api.post(f"{path}/elsewhere", json={})).status_code == 404


async def test_what_is_taken_down_or_deleted_goes_from_all_targets(spread: Any) -> None:
    await spread.hear(published(spread, HOME, "site"))
    await spread.sent()
    await spread.hear(published(spread, BLOG, "blog"))
    await spread.decide("take-down", reason="wrong")
    assert [target for target, _, _ in asked(await spread.sent())] == ["site", "blog", "files"]
    # What was published before that, and is told late.
    await spread.hear(published(spread, BLOG, "blog"))
    assert {target: state for target, (state, _, _) in (await placements(spread)).items()} == {
        "blog": "withdrawn",
        "files": "withdrawn",
    }
    await spread.hear(failed(spread, "blog"))
    assert (await placements(spread))["blog"][0] == "failed"

    await spread.decide("approve", version=1)
    assert asked(await spread.sent()) == [("site", None, False)]
    await spread.hear(published(spread, HOME, "site", SECOND))
    assert [target for target, _, _ in asked(await spread.sent())] == ["blog", "files"]

    await spread.decide("delete", reason="wrong")
    sent = await spread.sent()
    assert [target for target, _, _ in asked(sent)] == ["blog", "files"]
    assert "content.delete" in [message.type for message in sent]
    await spread.hear(failed(spread, "blog"))


async def test_a_home_elsewhere_is_asked_to_take_away_what_is_deleted(waiting: Any) -> None:
    brand = await waiting.api.put("/v1/brands/acme", json={"name": "Acme", "target": "blog"})
    assert (brand.json()["targets"], brand.json()["approval"]) == (["blog"], "everything")
    async with waiting.database.connection() as connection:
        await connection.execute("update cycles set target = 'blog'")
    await waiting.decide("approve", version=1)
    await waiting.handle(*await waiting.sent())
    await waiting.hear(published(waiting, BLOG, "blog"))
    await waiting.sent()
    await waiting.decide("delete", reason="wrong")
    assert [target for target, _, _ in asked(await waiting.sent())] == ["blog"]


async def test_targets_that_contradict_each_other_are_refused(api: Any) -> None:
    refused = await api.put(
        "/v1/brands/acme", json={"name": "Acme", "target": "site", "targets": ["blog", "site"]}
    )
    assert (refused.status_code, "say the same" in refused.text) == (422, True)
    kept = await api.put("/v1/brands/acme", json={"name": "Acme", "targets": ["blog", "site"]})
    assert kept.json()["policy"]["targets"] == ["blog", "site"]
    alone = await api.put("/v1/brands/acme", json={"name": "Acme", "target": "blog"})
    assert (alone.json()["targets"], alone.json()["policy"]["targets"]) == (["blog"], [])
