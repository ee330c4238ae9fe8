"""Approving for a time: exactly that version then, once, unless a person decides otherwise."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from envelope.brand.payloads import DraftsWaiting
from messaging import Database
from orchestrator.article_workflow import HELD_UP_BY_DRAFTS
from orchestrator.integration_events import announce_due_events
from orchestrator.review import PublicationScheduler, count_drafts

SHORTER = "## Time\n\nEight hours are enough. [1]\n"
TOMORROW = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)


def types(messages: list[Any]) -> list[str]:
    return [message.type for message in messages]


async def run(waiting: Any, sql: str) -> Any:
    async with waiting.database.connection() as connection:
        return await connection.fetchval(sql)


async def schedule(waiting: Any, at: datetime = TOMORROW, **body: Any) -> dict[str, Any]:
    answer = await waiting.decide("approve", **({"version": 1} | body), publish_at=at.isoformat())
    assert answer.status_code == 200, answer.text
    draft: dict[str, Any] = answer.json()
    return draft


async def time_comes(waiting: Any, *databases: Database) -> int:
    """Two replicas look, or those that are named; how many articles they published."""
    await run(waiting, "update appointments set publish_at = now() where ended_at is null")
    replicas = [PublicationScheduler(each) for each in databases or (waiting.database,) * 2]
    return sum(await asyncio.gather(*(replica.keep() for replica in replicas)))


async def test_exactly_the_approved_version_is_published_at_its_time_and_once(
    waiting: Any,
    orchestrator_url: str,
    orchestrator_database_at: Callable[[str], AbstractAsyncContextManager[Database]],
) -> None:
    drafts = [await schedule(waiting) for _ in range(2)]
    assert drafts[0] == drafts[1]
    assert drafts[0]["state"] == "scheduled"
    assert drafts[0]["scheduled"] == {
        "version": 1,
        "publish_at": TOMORROW.isoformat().replace("+00:00", "Z"),
        "by": "service",
    }
    assert drafts[0]["decision"]["decision"] == "scheduled"
    edited = (await waiting.decide("edit", version=1, body_markdown=SHORTER)).json()
    assert (edited["state"], edited["version"], edited["scheduled"]["version"]) == ("scheduled", 2, 1)

    assert await PublicationScheduler(waiting.database).keep() == 0
    assert await waiting.sent() == []
    async with orchestrator_database_at(orchestrator_url) as second:
        assert await time_comes(waiting, waiting.database, second, second) == 1
    assert await PublicationScheduler(waiting.database).keep() == 0

    assert types(await waiting.sent()) == ["content.generated"]
    draft = await waiting.draft()
    assert (draft["state"], draft["stands"], draft["scheduled"]) == ("correction", 1, None)
    assert (await waiting.article())["body_markdown"] == "## Time\n\nTwelve hours are enough. [1]"
    decisions = (await waiting.api.get(f"/v1/drafts/{waiting.content_id}/decisions")).json()["items"]
    assert [(each["decision"], each["by"]) for each in decisions] == [
        ("approved", "service"),
        ("edited", "service"),
        ("scheduled", "service"),
    ]
    # The same request again, late: what it asked for was done.
    again = await waiting.decide("approve", version=1, publish_at="2020-01-01T00:00:00Z")
    assert again.status_code == 200
    assert again.json().items() <= draft.items()


@pytest.mark.extended
async def test_it_can_be_moved_and_called_off(waiting: Any) -> None:
    await schedule(waiting)
    later = TOMORROW + timedelta(days=1)
    assert datetime.fromisoformat((await schedule(waiting, later))["scheduled"]["publish_at"]) == later
    listed = (await waiting.api.get("/v1/drafts", params={"state": "scheduled"})).json()["items"]
    assert [each["content_id"] for each in listed] == [str(waiting.content_id)]
    assert (await waiting.api.get("/v1/drafts", params={"state": "waiting"})).json()["items"] == []

    answers = [await waiting.decide("unschedule") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert (answers[0].json()["state"], answers[0].json()["scheduled"]) == ("waiting", None)
    assert answers[0].json()["decision"]["decision"] == "called_off"
    assert await time_comes(waiting) == 0
    assert await waiting.sent() == []
    assert await run(waiting, "select array_agg(ended_as order by appointment_id) from appointments") == [
        "moved",
        "called_off",
    ]


@pytest.mark.extended
@pytest.mark.parametrize("what", ["approve", "reject", "return"])
async def test_another_decision_ends_it(waiting: Any, what: str) -> None:
    await waiting.api.put("/v1/brands/acme", json={"name": "Acme"})
    await run(waiting, "update brands set writer = 'model'")
    await schedule(waiting)
    said = {"approve": {}, "reject": {"reason": "no"}, "return": {"comment": "say more"}}[what]
    answer = await waiting.decide(what, version=1, **said)
    assert answer.status_code == 200, answer.text
    assert answer.json()["scheduled"] is None
    await waiting.sent()
    assert await time_comes(waiting) == 0
    assert await waiting.sent() == []
    refused = await waiting.decide("unschedule")
    assert (refused.status_code, "by service" in refused.json()["detail"]) == (409, True)


async def test_what_the_version_before_lets_a_person_decide_overtakes_it(waiting: Any) -> None:
    await schedule(waiting)
    await waiting.decide("edit", version=1, body_markdown=SHORTER)
    # As that version approves: it ends no appointment.
    async with waiting.database.connection() as connection:
        await connection.execute("update appointments set ended_at = now()")
    await waiting.decide("approve", version=2)
    async with waiting.database.connection() as connection:
        await connection.execute("update appointments set ended_at = null")
    await waiting.sent()
    assert await time_comes(waiting) == 0
    assert (await waiting.draft())["state"] == "approved"
    assert (await waiting.article())["body_markdown"] == SHORTER


async def test_a_correction_is_published_at_its_time(waiting: Any) -> None:
    await waiting.decide("approve", version=1)
    await waiting.handle(*await waiting.sent())
    await waiting.sent()
    await waiting.decide("edit", version=1, body_markdown=SHORTER)
    scheduled = await schedule(waiting, version=2)
    assert (scheduled["state"], scheduled["stands"]) == ("scheduled", 1)
    assert "Twelve" in (await waiting.article())["body_markdown"]
    assert await time_comes(waiting) == 1
    assert (await waiting.article())["body_markdown"] == SHORTER
    assert types(await waiting.sent()) == ["content.publish"]
    assert (await waiting.draft())["state"] == "approved"


async def test_a_paused_brand_publishes_it_once_it_goes_on(waiting: Any) -> None:
    await schedule(waiting)
    await waiting.api.post("/v1/brands/acme/pause")
    assert await time_comes(waiting) == 0
    await waiting.api.post("/v1/brands/acme/resume")
    assert await time_comes(waiting) == 1


async def test_what_was_sent_back_is_not_written_again_once_it_has_a_time(waiting: Any) -> None:
    await run(waiting, "update brands set writer = 'model'")
    await waiting.decide("return", version=1, comment="say more")
    refused = await waiting.decide("approve", version=1, publish_at=TOMORROW.isoformat())
    assert refused.status_code == 409
    assert (await schedule(waiting, despite_newer=True))["state"] == "scheduled"
    assert await run(waiting, "select decision from content") is None


@pytest.mark.extended
@pytest.mark.parametrize(
    ("at", "why"),
    [
        ("2020-01-01T09:00:00Z", "lies in the past"),
        ("2027-01-01T09:00:00", "publish_at"),
        ("soon", "publish_at"),
    ],
)
async def test_a_time_that_is_none_is_refused(waiting: Any, at: str, why: str) -> None:
    refused = await waiting.decide("approve", version=1, publish_at=at)
    assert (refused.status_code, why in refused.json()["detail"]) == (422, True)
    assert (await waiting.draft())["state"] == "waiting"


@pytest.mark.extended
async def test_what_has_a_time_waits_for_nobody(make_waiting: Any) -> None:
    drafts = [await make_waiting(f"keyword {number}") for number in range(5)]
    first = drafts[0]
    assert await run(first, f"select {HELD_UP_BY_DRAFTS} from brands as b")
    await run(first, "update brands set looked_at = null")
    await schedule(first)
    await run(first, "update brands set looked_at = null")

    assert not await run(first, f"select {HELD_UP_BY_DRAFTS} from brands as b")
    agent = (await first.api.get("/v1/brands/acme")).json()["agent"]
    assert (agent["counters"]["drafts_waiting"], agent["waits"]) == (4, None)
    async with first.database.connection() as connection:
        counted = await count_drafts(connection)
    assert (counted["waiting"], counted["scheduled"]) == (4.0, 1.0)
    await announce_due_events(first.database)
    (told,) = [each.payload for each in await first.sent() if isinstance(each.payload, DraftsWaiting)]
    assert (told.drafts, told.held_up) == (4, False)
