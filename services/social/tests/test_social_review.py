"""Posts that a person sees before they go out: nothing is posted unasked, and what is decided is done once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
import structlog
from starlette.requests import Request

from chassis.http.callers import Caller, Scope
from chassis.testing import eventually, serving
from envelope import new_event_id
from envelope.brand.payloads import SocialCreate
from social.api import create_api
from social.calendar import SlotScheduler
from social.http_api import create_app
from social.sending import DuePosts
from social.urls import FeedUrls
from tests.fixtures.commands.brandctl import Operator

NewCommand = Callable[..., SocialCreate]
TOMORROW = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)


class Held:
    """A post of the brand `daily-grind` that waits."""

    def __init__(self, social: Any, command: SocialCreate, shown: dict[str, Any]) -> None:
        self.social = social
        self.command = command
        self.path = f"/v1/posts/{shown['post_id']}"
        self.shown = shown

    async def decide(self, what: str, **body: Any) -> httpx.Response:
        response: httpx.Response = await self.social.api.post(f"{self.path}/{what}", json=body)
        return response

    async def now(self) -> dict[str, Any]:
        shown: dict[str, Any] = (await self.social.api.get(self.path)).json()
        return shown

    async def is_seen(self) -> bool:
        return bool((await self.social.http.get("/feeds/daily-grind")).is_success)


@pytest.fixture
async def held(social: Any, new_command: NewCommand) -> Held:
    command = new_command(approval="everything")
    await social.send(command)
    [event] = await social.events(1)
    assert (event["type"], event["reason"]) == ("social.failed", "needs_review")
    (shown,) = (await social.api.get("/v1/posts", params={"brand": "daily-grind"})).json()["items"]
    assert shown["post_id"] in event["detail"]
    return Held(social, command, shown)


async def test_it_waits_unseen_until_a_person_approves_it_and_is_posted_once(held: Held) -> None:
    assert (held.shown["state"], held.shown["version"], held.shown["channel"]) == ("waiting", 1, "feed")
    assert held.shown["content_id"] == str(held.command.content_id)
    assert held.shown["counts"][0]["used"] <= held.shown["counts"][0]["maximum"] == 1000
    assert not await held.is_seen()
    assert (await held.social.http.get(f"/feeds/daily-grind/{held.shown['post_id']}")).status_code == 404

    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as lines:
        answers = await asyncio.gather(*(held.decide("approve", version=1) for _ in range(5)))
    assert {answer.status_code for answer in answers} == {200}
    (line,) = (each for each in lines if each["event"] == "post_is_out")
    assert (line["channel"], line["brand"], line["content_id"]) == (
        "feed",
        "daily-grind",
        str(held.command.content_id),
    )
    assert line["correlation_id"]
    [event] = await held.social.events(1)
    assert (event["type"], event["platform"]) == ("social.posted", "feed")
    assert event["post_url"] == answers[0].json()["post_url"]
    seen = await held.social.http.get(event["post_url"])
    assert (seen.status_code, "How it reads elsewhere" in seen.text) == (200, True)
    decisions = (await held.social.api.get(f"{held.path}/decisions")).json()["items"]
    assert [(each["decision"], each["by"]) for each in decisions] == [("approved", "service")]

    # The command once more, and as a policy has it that has changed meanwhile: the post stands, and is told of.
    for approval in ("everything", "nothing"):
        await held.social.send(held.command.model_copy(update={"approval": approval}))
        [again] = await held.social.events(1)
        assert again == event


async def test_a_command_that_comes_again_changes_nothing_of_what_waits(held: Held) -> None:
    edited = (await held.decide("edit", version=1, text="Say it so.")).json()
    for approval in ("everything", "nothing"):
        await held.social.send(held.command.model_copy(update={"approval": approval}))
        [event] = await held.social.events(1)
        assert (event["type"], event["reason"]) == ("social.failed", "needs_review")
    assert await held.now() == edited
    assert not await held.is_seen()


async def test_what_is_edited_is_posted_within_the_rules_of_its_channel(held: Held) -> None:
    long = await held.decide("edit", version=1, text="long " * 300)
    assert (long.status_code, "takes 1,000; shorten it" in long.json()["detail"]) == (422, True)
    blank = await held.decide("edit", version=1, text="\u200b\n \u202e")
    assert (blank.status_code, "is blank" in blank.json()["detail"]) == (422, True)

    text = "Pour slowly.\u202e\r\n\r\n\r\n• In   circles.\n• Grind medium-fine."
    edits = [await held.decide("edit", version=1, text=text, comment="shorter") for _ in range(2)]
    assert edits[0].json() == edits[1].json()
    assert (edits[0].json()["version"], edits[0].json()["text"]) == (
        2,
        "Pour slowly.\n\n• In circles.\n• Grind medium-fine.",
    )
    stale = await held.decide("approve", version=1)
    assert (stale.status_code, "version 2 was edited by service" in stale.json()["detail"]) == (409, True)
    assert (await held.decide("approve", version=3)).status_code == 404
    approved = await held.decide("approve", version=2)
    [event] = await held.social.events(1)
    page = (await held.social.http.get(event["post_url"])).text
    assert "In circles." in page
    late = await held.decide("edit", version=2, text="Too late.")
    assert (late.status_code, approved.json()["state"]) == (409, "posted")


async def test_what_is_rejected_is_never_posted(held: Held) -> None:
    answers = [await held.decide("reject", version=1, reason="off our tone") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    [event] = await held.social.events(1)
    told = {"type": "social.failed", "reason": "rejected", "detail": "service: off our tone"}
    assert event.items() >= told.items()
    for what, body in (("approve", {}), ("edit", {"text": "Again."}), ("reject", {"reason": "other"})):
        refused = await held.decide(what, version=1, **body)
        assert (refused.status_code, "off our tone" in refused.json()["detail"]) == (409, True)
    await held.social.send(held.command.model_copy(update={"approval": "nothing"}))
    [again] = await held.social.events(1)
    assert again == event
    assert not await held.is_seen()


async def test_what_is_rejected_can_be_reopened_and_waits_again(held: Held) -> None:
    assert (await held.decide("reopen")).json()["state"] == "waiting"
    assert (await held.decide("reject", version=1, reason="off our tone")).json()["state"] == "rejected"
    await held.social.events(1)
    answers = [await held.decide("reopen") for _ in range(2)]
    assert [each.json()["state"] for each in answers] == ["waiting", "waiting"]
    assert not await held.is_seen()
    assert (await held.decide("approve", version=1)).json()["state"] == "posted"
    [event] = await held.social.events(1)
    assert event["type"] == "social.posted"
    assert (await held.decide("reopen")).status_code == 409


@pytest.mark.extended
async def test_a_post_has_its_time_is_moved_called_off_and_posted_once(
    held: Held, social_database: asyncpg.Connection
) -> None:
    planned = [await held.decide("approve", version=1, publish_at=TOMORROW.isoformat()) for _ in range(2)]
    assert planned[0].json() == planned[1].json()
    assert (planned[0].json()["state"], planned[0].json()["decision"]["decision"]) == (
        "scheduled",
        "scheduled",
    )
    off = [await held.decide("unschedule") for _ in range(2)]
    assert off[0].json() == off[1].json()
    assert (off[0].json()["state"], off[0].json()["publish_at"]) == ("waiting", None)
    past = await held.decide("approve", version=1, publish_at="2020-01-01T00:00:00Z")
    assert (past.status_code, "lies in the past" in past.json()["detail"]) == (422, True)

    # An edit ends it: nobody has approved what it says now.
    await held.decide("approve", version=1, publish_at=TOMORROW.isoformat())
    edited = (await held.decide("edit", version=1, text="Say it so.")).json()
    assert (edited["state"], edited["publish_at"]) == ("waiting", None)

    soon = datetime.now(UTC) + timedelta(seconds=1)
    moved = await held.decide("approve", version=2, publish_at=TOMORROW.isoformat())
    moved = await held.decide("approve", version=2, publish_at=soon.isoformat())
    assert moved.json()["state"] == "scheduled"
    assert not await held.is_seen()
    # An earlier time than the one that is slept for wakes the replica.
    await eventually(held.is_seen)
    [event] = await held.social.events(1)
    assert event["type"] == "social.posted"
    shown = await held.now()
    assert (shown["state"], shown["post_url"]) == ("posted", event["post_url"])
    assert (shown["decision"]["comment"], shown["decision"]["by"]) == ("as scheduled", "service")
    assert await social_database.fetchval("select count(*) from posts") == 1


async def test_those_that_wait_are_listed_page_by_page(social: Any, new_command: NewCommand) -> None:
    commands = [new_command(uuid4(), approval="everything") for _ in range(3)]
    for command in commands:
        await social.send(command)
        await social.events(1)
    page = (await social.api.get("/v1/posts", params={"limit": 2})).json()
    rest = (await social.api.get("/v1/posts", params={"limit": 2, "after": page["next"]})).json()
    found = [each["content_id"] for each in page["items"] + rest["items"]]
    assert (found, rest["next"]) == ([str(each.content_id) for each in commands], None)
    assert (await social.api.get("/v1/posts", params={"state": "posted"})).json()["items"] == []
    assert (await social.http.get("/v1/posts")).status_code == 401


@pytest.fixture
async def bound(held: Held, social_service: Any) -> AsyncIterator[httpx.AsyncClient]:
    """The API as a caller sees it who is bound to another brand."""

    async def authorise(_: Request) -> Caller:
        return Caller("other's", frozenset(Scope), frozenset({"other-brand"}))

    urls = FeedUrls.under("http://127.0.0.1:1")
    feeds = create_app(social_service.database, urls, posts_per_page=5)
    due = DuePosts(social_service.database, SlotScheduler(), at_once=1)
    async with (
        serving(create_api(social_service.database, authorise, urls, due, feeds=feeds)) as origin,
        httpx.AsyncClient(base_url=origin, trust_env=False) as client,
    ):
        yield client


async def test_another_brands_post_is_as_one_that_does_not_exist(
    held: Held, bound: httpx.AsyncClient
) -> None:
    unknown = f"/v1/posts/{new_event_id()}"
    bodies: dict[str, Any] = {
        "approve": {"version": 1},
        "edit": {"version": 1, "text": "Taken over."},
        "reject": {"version": 1, "reason": "not theirs"},
        "unschedule": {},
    }
    for what, body in bodies.items():
        answers = [await bound.post(f"{path}/{what}", json=body) for path in (held.path, unknown)]
        told = {
            each.text.replace(path.split("/")[-1], "<id>")
            for each, path in zip(answers, (held.path, unknown), strict=True)
        }
        assert ({each.status_code for each in answers}, len(told)) == ({404}, 1)
    for rest in ("", "/decisions"):
        assert (await bound.get(held.path + rest)).status_code == 404
    for query in ({}, {"brand": "daily-grind"}):
        assert (await bound.get("/v1/posts", params=query)).json() == {"items": [], "next": None}
    assert await held.now() == held.shown


@pytest.mark.extended
async def test_brandctl_lists_shows_edits_and_approves(held: Held, tmp_path: Any) -> None:
    key = held.social.api.headers["X-Service-Key"]
    posts = Operator(tmp_path, {"SOCIAL_URL": held.social.url, "SERVICE_KEY": key}, "posts")

    listed = await posts("list", "--brand", "daily-grind")
    assert held.shown["post_id"] in listed.out, listed.err
    shown = await posts("show", held.shown["post_id"])
    assert held.shown["text"].splitlines()[0] in shown.out
    assert "of 1,000 characters" in shown.err
    edited = await posts("edit", held.shown["post_id"], "--text", "Say it so.", "-m", "shorter")
    assert "version 2: waiting" in edited.err
    planned = await posts("approve", held.shown["post_id"], "--at", "2107-03-01T09:00+01:00")
    assert "it is posted on 2107-03-01 08:00 UTC" in planned.err
    assert "version 2: waiting" in (await posts("unschedule", held.shown["post_id"])).err
    approved = await posts("approve", held.shown["post_id"], "--version", "2")
    assert "version 2: posted" in approved.err
    late = await posts("reject", held.shown["post_id"], "--reason", "too late")
    assert (late.code, "was approved by service" in late.err) == (1, True)
