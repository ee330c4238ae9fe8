"""What holds of every target that is an account with others, whichever: written once, changed in place, left alone when a person changed it."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from starlette.responses import JSONResponse

from fakes.serving.fake import Fake
from fakes.serving.faults import Kind
from fakes.sites.devto import FakeDevTo
from fakes.sites.ghost import FakeGhost
from fakes.sites.receiver import FakeReceiver
from fakes.sites.wordpress import FakeWordPress
from messaging import WaitFor

LATER = {"updated_at": "2026-02-01T10:00:00Z"}
ADDRESS = {"updated_at": "2026-02-01T10:00:00Z", "title": "Colder brew at home"}


def shown(fake: Any) -> list[tuple[str, str]]:
    """What readers see there now: title and text."""
    match fake:
        case FakeWordPress():
            posts = (each for each in fake.posts.values() if each["status"] == "publish")
            return [(each["title"], each["content"]) for each in posts]
        case FakeGhost():
            posts = (each for each in fake.posts.values() if each["status"] == "published")
            return [(each["title"], each["lexical"]) for each in posts]
        case FakeDevTo():
            articles = (each for each in fake.articles.values() if each["published"])
            return [(each["title"], each["body_markdown"]) for each in articles]
        case FakeReceiver():
            latest: dict[str, Any] = {}
            for message in fake.messages.values():
                latest[message["data"]["content_id"]] = message
            seen = (each["data"] for each in latest.values() if each["type"] != "article.unpublished")
            return [(each["title"], each["html"]) for each in seen]
        case _:
            raise AssertionError(fake)


def edit(fake: Any, **changes: Any) -> None:
    """As a person does there."""
    match fake:
        case FakeWordPress():
            next(iter(fake.posts.values())).update(changes)
        case FakeGhost():
            next(iter(fake.posts.values())).update(changes, updated_at="2027-01-01T00:00:00.000Z")
        case FakeDevTo():
            next(iter(fake.articles.values())).update(changes)


@pytest.fixture
async def there(kind: str, connect: Any) -> Any:
    return await connect(FAKES[kind](), kind)


FAKES: Mapping[str, Callable[[], Fake]] = {
    "wordpress": FakeWordPress,
    "ghost": FakeGhost,
    "devto": FakeDevTo,
    "webhook": FakeReceiver,
}
KINDS = tuple(FAKES)
EDITED = ("wordpress", "ghost", "devto")
"""Those at which a person can change an article."""


@pytest.mark.parametrize("kind", KINDS)
async def test_an_article_is_written_once_and_then_changed_in_place(
    targets: Any, there: Any, kind: str
) -> None:
    content_id = targets.orchestrator.add()
    first = await targets.publish(content_id, kind)
    assert first["type"] == "content.published", first
    assert first["published_url"].startswith(there.url)
    assert (first["target"], first["as_of"]) == (kind, "2026-01-01T10:00:00Z")
    asked = len(there.requests)
    assert await targets.publish(content_id, kind) == first
    assert len(there.requests) == asked

    targets.change(content_id, **ADDRESS)
    second = await targets.publish(content_id, kind)
    assert (second["published_url"], second["as_of"]) == (first["published_url"], ADDRESS["updated_at"])
    ((title, text),) = shown(there)
    assert (title, "Twelve hours" in text) == ("Colder brew at home", True)
    # Back to the text before that: an edition that was written already is written again.
    targets.change(content_id, title="Cold brew at home", updated_at="2026-03-01T10:00:00Z")
    await targets.publish(content_id, kind)
    assert [title for title, _ in shown(there)] == ["Cold brew at home"]
    assert len(there.accepted) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_an_article_that_was_taken_down_or_deleted_goes_and_comes_back(
    targets: Any, there: Any, kind: str
) -> None:
    content_id = targets.orchestrator.add()
    first = await targets.publish(content_id, kind, canonical_url="https://acme.example/cold-brew")
    targets.change(content_id, **LATER, taken_down_at="2026-02-01T10:00:00Z", held_for=["wrong"])
    for _ in range(2):
        assert await targets.publish(content_id, kind) == {}
        assert shown(there) == []
    targets.change(content_id, taken_down_at=None, held_for=[], updated_at="2026-03-01T10:00:00Z")
    again = await targets.publish(content_id, kind)
    assert (again["type"], again["published_url"]) == ("content.published", first["published_url"])
    assert len(shown(there)) == 1
    targets.orchestrator.answer = lambda _: JSONResponse({"detail": "it was deleted"}, 410)
    assert await targets.publish(content_id, kind) == {}
    assert shown(there) == []


@pytest.mark.parametrize("kind", EDITED)
async def test_what_a_person_changed_there_is_overwritten_only_when_told(
    targets: Any, there: Any, kind: str
) -> None:
    content_id = targets.orchestrator.add()
    await targets.publish(content_id, kind)
    edit(there, title="Ann's title")
    targets.change(content_id, **ADDRESS)
    for _ in range(2):
        refused = await targets.publish(content_id, kind)
        assert (refused["type"], refused["reason"]) == ("content.publish_failed", "changed_elsewhere")
        assert [title for title, _ in shown(there)] == ["Ann's title"]
    done = await targets.publish(content_id, kind, overwrite=True)
    assert done["type"] == "content.published"
    assert [title for title, _ in shown(there)] == ["Colder brew at home"]
    targets.change(content_id, title="Coldest brew", updated_at="2026-04-01T10:00:00Z")
    assert (await targets.publish(content_id, kind))["type"] == "content.published"
    assert len(there.accepted) == 1


@pytest.mark.parametrize("kind", EDITED)
async def test_what_a_person_deleted_there_is_made_anew_only_when_told(
    targets: Any, there: Any, kind: str
) -> None:
    content_id = targets.orchestrator.add()
    await targets.publish(content_id, kind)
    (there.articles if kind == "devto" else there.posts).clear()
    targets.change(content_id, **ADDRESS)
    assert (await targets.publish(content_id, kind))["reason"] == "gone_elsewhere"
    assert (await targets.publish(content_id, kind, overwrite=True))["type"] == "content.published"
    assert [title for title, _ in shown(there)] == ["Colder brew at home"]


FAULTS: tuple[Kind, ...] = ("reset_after", "error_before", "error_after")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
async def test_whatever_goes_wrong_at_whichever_request_one_article_is_there(
    targets: Any, there: Any, kind: str, fault: Kind
) -> None:
    await targets.publish(targets.orchestrator.add(slug="first"), kind)
    requests = len(there.requests)
    for place in range(requests):
        title = f"Brew number {place}"
        content_id = targets.orchestrator.add(slug=f"brew-{place}", title=title)
        there.faults.inject(fault, skip=place)
        answer = await targets.publish(content_id, kind)
        assert answer["type"] == "content.published", (place, answer)
        there.faults.clear()
        assert [each for each, _ in shown(there)].count(title) == 1, place
        assert [each.more["title"] for each in there.accepted].count(title) == 1, place
    assert targets.waits >= requests - 1
    if kind == "wordpress":
        assert {each["status"] for each in there.posts.values()} == {"publish"}


@pytest.mark.parametrize("kind", KINDS)
async def test_who_is_asked_too_often_is_asked_again_when_it_says(
    targets: Any, there: Any, kind: str
) -> None:
    there.faults.inject("limited")
    content_id = targets.orchestrator.add()
    with pytest.raises(WaitFor) as waits:
        await targets.once(targets.command(content_id, kind))
    assert waits.value.after > timedelta(0)
    await targets.let_time_pass()
    assert (await targets.publish(content_id, kind))["type"] == "content.published"
    assert len(there.accepted) == 1


@pytest.mark.parametrize("kind", EDITED)
async def test_an_account_that_is_known_no_more_is_to_be_connected_again(
    targets: Any, there: Any, kind: str
) -> None:
    there.faults.inject("expired", times=None)
    refused = await targets.publish(targets.orchestrator.add(), kind)
    assert (refused["type"], refused["reason"]) == ("content.publish_failed", "needs_reconnecting")
    assert "connect the account again" in refused["detail"]
    there.faults.clear()
    assert (await targets.publish(next(iter(targets.orchestrator.documents)), kind))[
        "type"
    ] == "content.published"


@pytest.mark.parametrize("kind", KINDS)
async def test_two_states_of_an_article_do_not_overtake_each_other(
    targets: Any, there: Any, kind: str
) -> None:
    """The first command is gone in the midst of it; the second one waits for its time to be over."""
    content_id = targets.orchestrator.add()
    first = targets.command(content_id, kind)
    there.faults.inject("hang_before")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await targets.once(first)
    targets.change(content_id, **ADDRESS)
    with pytest.raises(Exception, match="on its way"):
        await targets.once(targets.command(content_id, kind))
    assert (await targets.publish(content_id, kind))["as_of"] == ADDRESS["updated_at"]
    await targets.let_time_pass()
    late = await targets.once(first)
    assert late[0]["payload"]["as_of"] == ADDRESS["updated_at"]
    assert [title for title, _ in shown(there)] == ["Colder brew at home"]
    assert len(there.accepted) == 1
