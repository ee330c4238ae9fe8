"""A person's decisions about a draft, over the API, and their effects."""

import asyncio
from typing import Any

import pytest

from envelope.brand.payloads import (
    ContentGenerated,
    ContentPublished,
    ContentRefused,
    CycleCompleted,
    SocialPosted,
)
from orchestrator.integration_events import announce_due_events

SHORTER = "## Time\n\nEight hours are enough. [1]\n"


def types(messages: list[Any]) -> list[str]:
    return [message.type for message in messages]


async def test_what_waits_is_listed_with_its_reasons(make_waiting: Any) -> None:
    drafts = [await make_waiting(keyword) for keyword in ("cold brew", "moka pot", "chemex")]
    await make_waiting("tea", held_for=())
    api = drafts[0].api

    page = (await api.get("/v1/drafts", params={"brand": "acme", "limit": 2})).json()
    rest = (await api.get("/v1/drafts", params={"limit": 2, "after": page["next"]})).json()

    listed = page["items"] + rest["items"]
    assert [each["content_id"] for each in listed] == [str(each.content_id) for each in drafts]
    assert rest["next"] is None
    assert {each["state"] for each in listed} == {"waiting"}
    assert listed[0]["held_for"] == ["231 words"]
    assert (listed[0]["version"], listed[0]["made_by"], listed[0]["decision"]) == (1, "writer", None)
    assert (await api.get("/v1/drafts", params={"brand": "other"})).json() == {"items": [], "next": None}


async def test_an_approved_version_goes_its_way_once_however_often_it_is_approved(waiting: Any) -> None:
    answers = [await waiting.decide("approve", version=1) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[0].json() == answers[1].json() == answers[2].json()
    assert answers[0].json()["state"] == "approved"
    assert (
        answers[0].json()["decision"].items()
        >= {"decision": "approved", "version": 1, "by": "service"}.items()
    )

    sent = await waiting.sent()
    assert types(sent) == ["content.generated"]
    assert sent[0].correlation_id == waiting.correlation_id
    await waiting.handle(*sent)
    assert types(await waiting.sent()) == ["content.publish"]
    assert (await waiting.keyword())["state"] == "publishing"
    article = await waiting.article()
    assert (article["slug"], article["held_for"]) == ("cold-brew", [])


async def test_the_approved_version_is_what_is_published_whatever_is_edited_later(waiting: Any) -> None:
    await waiting.decide("approve", version=1)
    edited = await waiting.decide("edit", version=1, body_markdown=SHORTER, title="Cold brew, sooner")
    assert (edited.json()["state"], edited.json()["version"], edited.json()["stands"]) == ("correction", 2, 1)

    article = await waiting.article()
    assert (article["title"], article["body_markdown"]) == (
        "Cold brew",
        "## Time\n\nTwelve hours are enough. [1]",
    )


@pytest.mark.extended
async def test_an_edit_is_measured_kept_and_published_once_approved(waiting: Any) -> None:
    edited = await waiting.decide("edit", version=1, body_markdown=SHORTER, comment="sooner")
    assert (edited.json()["state"], edited.json()["version"], edited.json()["made_by"]) == (
        "waiting",
        2,
        "service",
    )
    again = await waiting.decide("edit", version=1, body_markdown=SHORTER, comment="sooner")
    assert again.json() == edited.json()
    version = (await waiting.api.get(f"/v1/content/{waiting.content_id}/versions/2")).json()
    assert (version["body_markdown"], version["why"], version["slug"]) == (SHORTER, "sooner", "cold-brew")
    measures = {each["name"]: each for each in version["measures"]}
    assert not measures["words"]["holds"]

    await waiting.decide("approve", version=2)
    article = await waiting.article()
    assert (article["body_markdown"], article["held_for"], article["slug"]) == (SHORTER, [], "cold-brew")
    assert types(await waiting.sent()) == ["content.generated"]


async def test_nothing_is_kept_of_an_edit_that_changes_nothing(waiting: Any) -> None:
    same = await waiting.decide("edit", version=1, title="Cold brew", comment="none")
    assert (same.status_code, same.json()["version"]) == (200, 1)


@pytest.mark.extended
async def test_an_older_version_is_approved_only_if_that_is_said(waiting: Any) -> None:
    await waiting.decide("edit", version=1, body_markdown=SHORTER)
    refused = await waiting.decide("approve", version=1)
    assert refused.status_code == 409
    assert "version 2 was made by service" in refused.json()["detail"]
    assert await waiting.sent() == []

    said = await waiting.decide("approve", version=1, despite_newer=True)
    assert (said.json()["state"], said.json()["stands"]) == ("approved", 1)
    assert (await waiting.article())["body_markdown"] == "## Time\n\nTwelve hours are enough. [1]"


async def test_a_rejected_draft_ends_its_keyword_for_good(waiting: Any) -> None:
    answers = [await waiting.decide("reject", version=1, reason="off our tone") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["state"] == "rejected"
    sent = await waiting.sent()
    assert types(sent) == ["content.refused"]
    await waiting.handle(*sent)
    keyword = await waiting.keyword()
    assert (keyword["state"], keyword["reason"]) == ("rejected", "rejected: service: off our tone")

    # What waits is told once more, late.
    await waiting.hear(
        ContentRefused(
            brand_slug="acme", content_id=waiting.content_id, keyword="cold brew", reason="needs_review"
        )
    )
    assert await waiting.keyword() == keyword
    for what, body in (
        ("approve", {}),
        ("edit", {"title": "Other"}),
        ("reject", {"reason": "another reason"}),
    ):
        refused = await waiting.decide(what, version=1, **body)
        assert refused.status_code == 409
        assert "was rejected by service" in refused.json()["detail"]
    assert (await waiting.api.get("/v1/drafts")).json()["items"] == []
    rejected = (await waiting.api.get("/v1/drafts", params={"state": "rejected"})).json()["items"]
    assert [each["content_id"] for each in rejected] == [str(waiting.content_id)]


async def test_of_two_people_the_second_hears_what_happened(waiting: Any) -> None:
    first, second = await asyncio.gather(
        waiting.decide("approve", version=1), waiting.decide("reject", version=1, reason="no")
    )
    assert sorted([first.status_code, second.status_code]) == [200, 409]
    loser = second if second.status_code == 409 else first
    assert " by service on " in loser.json()["detail"]
    assert len(await waiting.sent()) == 1


async def test_two_edits_of_one_version_do_not_overwrite_each_other(waiting: Any) -> None:
    answers = await asyncio.gather(
        *(waiting.decide("edit", version=1, title=title) for title in ("One", "Another"))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert (await waiting.draft())["version"] == 2


@pytest.mark.extended
async def test_approvals_at_the_same_moment_send_one_message(waiting: Any) -> None:
    answers = await asyncio.gather(*(waiting.decide("approve", version=1) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert types(await waiting.sent()) == ["content.generated"]


@pytest.mark.extended
async def test_a_correction_is_published_at_the_same_address_and_not_posted_again(waiting: Any) -> None:
    await waiting.decide("approve", version=1)
    await waiting.handle(*await waiting.sent())
    url = "https://acme.example/cold-brew"
    published = ContentPublished(brand_slug="acme", content_id=waiting.content_id, published_url=url)
    await waiting.hear(published)
    post = "https://acme.example/posts/1"
    await waiting.hear(
        SocialPosted(brand_slug="acme", content_id=waiting.content_id, platform="feed", post_url=post)
    )
    assert (await waiting.keyword())["state"] == "completed"
    await waiting.sent()

    await waiting.decide("edit", version=1, body_markdown=SHORTER)
    corrected = await waiting.decide("approve", version=2)
    assert (corrected.json()["state"], corrected.json()["published_url"]) == ("approved", url)
    sent = await waiting.sent()
    assert types(sent) == ["content.publish"]
    await waiting.hear(published)
    assert await waiting.sent() == []
    assert (await waiting.keyword())["state"] == "completed"
    article = await waiting.article()
    assert (article["body_markdown"], article["slug"]) == (SHORTER, "cold-brew")


async def test_a_correction_moves_a_page_and_no_other_article_gets_its_address(
    make_waiting: Any,
) -> None:
    waiting, other = await make_waiting(), await make_waiting("moka pot")
    await waiting.decide("approve", version=1)
    await waiting.handle(*await waiting.sent())
    about = {"brand_slug": "acme", "content_id": waiting.content_id}
    before = ContentPublished(
        **about, published_url="https://acme.example/cold-brew", as_of=(await waiting.article())["updated_at"]
    )
    await waiting.hear(before)
    await waiting.sent()

    await waiting.decide("edit", version=1, slug="steeping")
    assert (await waiting.article())["slug"] == "cold-brew"
    for _ in range(2):
        assert (await waiting.decide("approve", version=2)).json()["state"] == "approved"
    assert types(await waiting.sent()) == ["content.publish"]
    article = await waiting.article()
    assert article["slug"] == "steeping"
    url = "https://acme.example/steeping"
    after = ContentPublished(**about, published_url=url, as_of=article["updated_at"])
    # The one from before the move comes once more, and late.
    await waiting.hear(after)
    await waiting.hear(before)
    assert (await waiting.article())["published_url"] == url
    assert (await waiting.keyword())["published_url"] == url

    await other.decide("approve", version=1)
    assert (await other.article())["slug"] == "cold-brew-2"
    for _ in range(2):
        refused = await other.decide("edit", version=1, slug="steeping")
        assert (refused.status_code, "'steeping' is the address of another" in refused.text) == (422, True)
        # Back to where it was; the address that it leaves is not free, either.
        await waiting.decide("approve", version=1, despite_newer=True)
        assert (await waiting.article())["slug"] == "cold-brew"


async def test_a_correction_that_is_rejected_leaves_the_article_as_it_is(waiting: Any) -> None:
    await waiting.decide("approve", version=1)
    await waiting.decide("edit", version=1, body_markdown=SHORTER)
    await waiting.sent()
    rejected = await waiting.decide("reject", version=2, reason="the first was better")
    assert (rejected.json()["state"], rejected.json()["stands"]) == ("approved", 1)
    assert await waiting.sent() == []
    assert "Twelve" in (await waiting.article())["body_markdown"]


async def test_a_page_is_taken_down_once_and_an_approval_brings_it_back(waiting: Any) -> None:
    on_its_way = await waiting.decide("take-down", reason="wrong")
    assert on_its_way.status_code == 409
    assert "has no page" in on_its_way.json()["detail"]
    await waiting.decide("approve", version=1)
    await waiting.handle(*await waiting.sent())
    about = {"brand_slug": "acme", "content_id": waiting.content_id}
    await waiting.hear(ContentPublished(**about, published_url="https://acme.example/cold-brew"))
    await waiting.hear(SocialPosted(**about, platform="feed", post_url="https://acme.example/posts/1"))
    await waiting.sent()

    answers = [await waiting.decide("take-down", reason="wrong") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert (answers[0].status_code, answers[0].json()["state"]) == (200, "taken_down")
    assert types(await waiting.sent()) == ["content.publish"]
    article = await waiting.article()
    assert article["taken_down_at"] is not None
    assert article["held_for"] == ["its page was taken down by service: wrong"]
    keyword = await waiting.keyword()
    assert (keyword["state"], keyword["reason"]) == ("completed", article["held_for"][0])
    assert [post["state"] for post in keyword["posts"]] == ["page_taken_down"]
    counters = (await waiting.api.get("/v1/brands/acme")).json()["agent"]["counters"]
    assert (counters["published"], counters["drafts_waiting"]) == (0, 0)
    assert (await waiting.api.get("/v1/drafts")).json()["items"] == []
    refused = await waiting.decide("edit", version=1, title="Other")
    assert "was taken down by service" in refused.json()["detail"]

    assert (await waiting.decide("approve", version=1)).json()["state"] == "approved"
    assert types(await waiting.sent()) == ["content.publish"]
    article = await waiting.article()
    assert (article["taken_down_at"], article["held_for"], article["slug"]) == (None, [], "cold-brew")
    keyword = await waiting.keyword()
    assert (keyword["reason"], keyword["posts"][0]["state"]) == (None, "posted")


@pytest.mark.extended
async def test_a_draft_whose_cycle_is_gone_is_published_all_the_same(waiting: Any) -> None:
    async with waiting.database.connection() as connection:
        await connection.execute("delete from cycles")
    await waiting.decide("approve", version=1)
    sent = await waiting.sent()
    assert types(sent) == ["content.publish"]
    assert sent[0].payload.target == "site"


@pytest.mark.extended
async def test_an_approval_before_the_router_knows_of_the_draft_holds(make_waiting: Any) -> None:
    waiting = await make_waiting(held_for=("231 words",))
    await waiting.decide("approve", version=1)
    approval = await waiting.sent()
    await waiting.handle(*approval)
    await waiting.hear(
        ContentRefused(
            brand_slug="acme", content_id=waiting.content_id, keyword="cold brew", reason="needs_review"
        )
    )
    assert (await waiting.keyword())["state"] == "publishing"
    assert isinstance(approval[0].payload, ContentGenerated)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("what", "body", "status", "said"),
    [
        ("approve", {"version": 9}, 404, "the newest is 1"),
        ("approve", {}, 422, "version"),
        ("reject", {"version": 1, "reason": " "}, 422, "blank"),
        ("edit", {"version": 1, "body_markdown": "So they say. [7]"}, 422, "[7]"),
        ("edit", {"version": 1, "body_markdown": " \n "}, 422, "blank"),
        ("edit", {"version": 1, "body_markdown": "a\x00b"}, 422, "control character"),
        ("edit", {"version": 1, "title": "a\nb"}, 422, "control character"),
        ("edit", {"version": 1, "slug": "../x"}, 422, "slug"),
        ("edit", {"version": 1, "body": "x"}, 422, "not a field"),
    ],
)
async def test_unusable_decisions_are_refused_with_a_sentence(
    waiting: Any, what: str, body: dict[str, Any], status: int, said: str
) -> None:
    answer = await waiting.decide(what, **body)
    assert answer.status_code == status
    assert said in answer.json()["detail"]
    assert await waiting.sent() == []
    assert (await waiting.draft())["version"] == 1


async def test_who_decided_what_is_kept(waiting: Any) -> None:
    await waiting.decide("edit", version=1, title="Steeping", comment="clearer")
    await waiting.decide("approve", version=2)
    told = (await waiting.api.get(f"/v1/drafts/{waiting.content_id}/decisions")).json()["items"]
    assert [(each["decision"], each["version"], each["by"], each["comment"]) for each in told] == [
        ("approved", 2, "service", ""),
        ("edited", 2, "service", "clearer"),
    ]


@pytest.mark.extended
async def test_a_cycle_whose_draft_waits_is_told_of_once_that_is_decided(waiting: Any) -> None:
    async def told() -> list[Any]:
        await announce_due_events(waiting.database)
        return [each.payload for each in await waiting.sent() if isinstance(each.payload, CycleCompleted)]

    shown = (await waiting.api.get(waiting.cycle)).json()
    assert (shown["state"], shown["ended_at"]) == ("waiting", None)
    assert await told() == []
    await waiting.decide("reject", version=1, reason="off our tone")
    await waiting.handle(*await waiting.sent())
    (ended,) = await told()
    assert (ended.state, ended.states) == ("failed", {"rejected": 1})
