"""Callers who may not decide propose edits and publications; a person accepts or dismisses each."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from orchestrator.review import deciding
from orchestrator.review.proposals import MOST_OPEN

TEXT = "## Time\n\nSixteen hours are better. [1]\n"


@pytest.fixture
async def draft(make_waiting: Any) -> Any:
    return await make_waiting()


@asynccontextmanager
async def with_key(
    api: httpx.AsyncClient, name: str, *scopes: str, **more: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """The API, for a key with these scopes beside `read`."""
    asked = {"name": name, "scopes": ["read", *scopes], **more}
    made = (await api.post("/v1/keys", json=asked)).raise_for_status().json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    async with httpx.AsyncClient(base_url=api.base_url, headers=headers) as client:
        yield client


@pytest.fixture
async def assistant(api: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    async with with_key(api, "assistant", "submit") as client:
        yield client


async def propose(draft: Any, caller: httpx.AsyncClient, what: str = "edits", **body: Any) -> httpx.Response:
    sent = {"version": 1, "comment": "the source says sixteen", **body}
    return await caller.post(f"/v1/drafts/{draft.content_id}/proposals/{what}", json=sent)


async def decide(draft: Any, proposal: dict[str, Any], verb: str, **body: Any) -> httpx.Response:
    return await draft.api.post(f"/v1/drafts/{draft.content_id}/proposals/{proposal['id']}/{verb}", json=body)


async def listed(draft: Any) -> list[dict[str, Any]]:
    return (await draft.api.get(f"/v1/drafts/{draft.content_id}/proposals")).json()["items"]


async def test_a_proposed_edit_changes_nothing_until_a_person_accepts_it(
    draft: Any, assistant: httpx.AsyncClient
) -> None:
    made = (await propose(draft, assistant, body_markdown=TEXT)).json()
    assert made["kind"] == "edit"
    assert made["proposed_by"] == "assistant"
    assert "-Twelve hours are enough. [1]\n+Sixteen hours are better. [1]" in made["diff"]
    assert (await draft.draft())["version"] == 1
    waiting = (await draft.api.get("/v1/proposals?brand=acme")).json()
    assert [each["id"] for each in waiting["items"]] == [made["id"]]

    accepted = await decide(draft, made, "accept")
    assert accepted.json()["version"] == 2
    assert accepted.json()["state"] == "waiting"
    assert (await draft.article())["body_markdown"] == TEXT
    versions = (await draft.api.get(f"/v1/content/{draft.content_id}/versions")).json()["items"]
    assert versions[-1]["why"] == "proposed by assistant: the source says sixteen"
    assert versions[-1]["made_by"] != "assistant"
    (after,) = await listed(draft)
    assert (after["outcome"], after["is_outdated"]) == ("accepted", False)
    assert (await draft.api.get("/v1/proposals")).json()["items"] == []

    # Again: nothing more.
    assert (await decide(draft, made, "accept")).json()["version"] == 2
    assert (await decide(draft, made, "dismiss")).json()["code"] == "decided_otherwise"


async def test_a_proposed_publication_is_carried_out_when_it_is_accepted(
    draft: Any, assistant: httpx.AsyncClient
) -> None:
    at = (datetime.now(UTC) + timedelta(days=2)).replace(microsecond=0)
    made = (await propose(draft, assistant, "publications", publish_at=at.isoformat())).json()
    assert (made["kind"], made["diff"]) == ("publication", "")
    assert (await draft.draft())["state"] == "waiting"
    assert (await decide(draft, made, "accept")).json()["state"] == "scheduled"
    planned = (await draft.draft())["scheduled"]
    assert datetime.fromisoformat(planned["publish_at"]) == at
    at_once = (await propose(draft, assistant, "publications")).json()
    assert (await decide(draft, at_once, "accept")).json()["state"] == "approved"


async def test_a_dismissed_proposal_says_why_and_stays_dismissed(
    draft: Any, assistant: httpx.AsyncClient
) -> None:
    made = (await propose(draft, assistant, title="Colder brew")).json()
    gone = (await decide(draft, made, "dismiss", reason="no such word")).json()
    assert (gone["outcome"], gone["reason"]) == ("dismissed", "no such word")
    assert (await decide(draft, made, "dismiss")).json()["reason"] == "no such word"
    assert (await decide(draft, made, "accept")).json()["code"] == "decided_otherwise"
    # The same proposal again is the same, with its end.
    again = (await propose(draft, assistant, title="Colder brew")).json()
    assert (again["id"], again["outcome"]) == (made["id"], "dismissed")
    assert (await draft.draft())["title"] == "Cold brew"


async def test_the_same_proposal_twice_at_once_is_one(draft: Any, assistant: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(propose(draft, assistant, title="Iced brew") for _ in range(5)))
    assert {each.status_code for each in answers} == {200}
    assert len({each.json()["id"] for each in answers}) == 1
    assert len(await listed(draft)) == 1


async def test_two_people_at_once_accept_and_dismiss_one_of_them_wins(
    draft: Any, assistant: httpx.AsyncClient
) -> None:
    made = (await propose(draft, assistant, body_markdown=TEXT)).json()
    verbs = ["accept", "dismiss", "accept", "dismiss"]
    answers = await asyncio.gather(*(decide(draft, made, verb) for verb in verbs))
    (after,) = await listed(draft)
    won = [verb for verb, answer in zip(verbs, answers, strict=True) if answer.status_code == 200]
    assert set(won) == {after["outcome"].removesuffix("ed")}
    assert (await draft.draft())["version"] == (2 if after["outcome"] == "accepted" else 1)


async def test_an_edit_and_the_end_of_its_proposal_are_one(
    draft: Any, assistant: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (await propose(draft, assistant, body_markdown=TEXT)).json()
    edit = deciding.edit

    async def dismissed_meanwhile(*args: Any, **more: Any) -> Any:
        async with draft.database.connection() as connection:
            await connection.execute(
                "update draft_proposals set outcome = 'dismissed', decided_by = 'Bo', decided_at = now()"
            )
        return await edit(*args, **more)

    monkeypatch.setattr(deciding, "edit", dismissed_meanwhile)
    refused = await decide(draft, made, "accept")
    assert (refused.status_code, refused.json()["code"]) == (409, "decided_otherwise")
    assert (await draft.draft())["version"] == 1


async def test_who_may_propose_and_who_may_decide(draft: Any, assistant: httpx.AsyncClient) -> None:
    made = (await propose(draft, assistant, title="X")).json()
    place = f"/v1/drafts/{draft.content_id}/proposals"
    (await draft.api.put("/v1/brands/other", json={"name": "Other"})).raise_for_status()
    async with (
        with_key(draft.api, "reader") as reader,
        with_key(draft.api, "stranger", "submit", "review", brands=["other"]) as stranger,
    ):
        assert (await propose(draft, reader, title="Y")).status_code == 403
        assert (await propose(draft, stranger, title="Y")).status_code == 404
        for verb in ("accept", "dismiss"):
            assert (await assistant.post(f"{place}/{made['id']}/{verb}", json={})).status_code == 403
            assert (await stranger.post(f"{place}/{made['id']}/{verb}", json={})).status_code == 404
        assert (await stranger.get(place)).status_code == 404
        assert (await stranger.get("/v1/proposals")).json()["items"] == []
    assert [each["outcome"] for each in await listed(draft)] == [None]


async def test_what_a_person_could_not_accept_is_refused(draft: Any, assistant: httpx.AsyncClient) -> None:

    async def code(what: str = "edits", **body: Any) -> str:
        return (await propose(draft, assistant, what, **body)).json()["code"]

    assert await code(body_markdown="It tastes of tin. [7]\n") == "unusable_text"
    assert await code(title="Cold brew") == "unusable_text"
    assert await code(version=3, title="X") == "unknown_version"
    assert await code("publications", publish_at="2020-01-01T00:00:00Z") == "past_time"
    assert await code(title="X", comment="") == "invalid_request"
    assert await listed(draft) == []


async def test_a_proposal_for_an_older_version_is_outdated_and_can_only_be_dismissed(
    draft: Any, assistant: httpx.AsyncClient
) -> None:
    made = (await propose(draft, assistant, title="Iced brew")).json()
    (await draft.decide("edit", version=1, title="Cold brew at home")).raise_for_status()
    (now,) = await listed(draft)
    assert now["is_outdated"]
    assert (await decide(draft, made, "accept")).status_code == 409
    assert (await decide(draft, made, "dismiss")).json()["outcome"] == "dismissed"


async def test_an_article_has_few_open_proposals(draft: Any, assistant: httpx.AsyncClient) -> None:
    for number in range(MOST_OPEN):
        (await propose(draft, assistant, title=f"Brew {number}")).raise_for_status()
    assert (await propose(draft, assistant, title="One more")).json()["code"] == "too_many_proposals"
    # Sent again, an open one is still known.
    assert (await propose(draft, assistant, title="Brew 3")).status_code == 200
    first = (await listed(draft))[0]
    await decide(draft, first, "dismiss")
    assert (await propose(draft, assistant, title="One more")).status_code == 200


async def test_proposals_go_with_their_article(draft: Any, assistant: httpx.AsyncClient) -> None:
    made = (await propose(draft, assistant, title="Iced brew")).json()
    (await draft.decide("delete", reason="a mistake")).raise_for_status()
    assert (await decide(draft, made, "accept")).status_code == 410
    assert (await draft.api.get("/v1/proposals")).json()["items"] == []
