"""Progress of an article: its steps, the reason why it waits, and whether it is stuck."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from envelope import new_event_id
from envelope.brand.payloads import ContentGenerated
from messaging import Database, RetryLater, Unprocessable, WaitFor
from orchestrator.article_workflow.durable import DeliveredCommand, claim_article, release_articles
from orchestrator.cycles import Housekeeping
from orchestrator.workflows import count_by_state
from orchestrator.workflows.domain import FinishedStep, StepState, WorkflowState, order_steps
from orchestrator.workflows.store import workflows
from tests.fixtures.explained import ExplainedConnection
from tests.fixtures.models.scripted_model import SECTIONS, ModelReply

BROKEN = ModelReply(status=500, body={"error": {"message": "it is broken"}})
HOUR = timedelta(hours=1)


def steps(seen: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["name"], each["state"]) for each in seen["steps"]]


@pytest.mark.extended
async def test_a_workflow_that_is_done_tells_its_steps_times_and_tokens_and_no_text(writing: Any) -> None:
    (command,) = await writing.sent()
    before = await writing.seen()
    assert (before["state"], before["attempt"], before["starts"]) == ("running", 0, 0)
    assert steps(before) == [
        ("fetch_research", "under_way"),
        ("write_article", "pending"),
        ("store", "pending"),
        ("announce", "pending"),
    ]

    await writing.carry_out(command)

    seen = await writing.seen()
    assert (seen["state"], seen["attempt"], seen["starts"], seen["in_hand"]) == ("done", 1, 1, False)
    names = [name for name, _ in steps(seen)]
    assert {state for _, state in steps(seen)} == {"done"}
    assert names[:5] == ["fetch_research", "trusts_a_judge", "earlier_titles", "model:brief", "model:outline"]
    assert [f"model:section {n}" in names for n in range(1, SECTIONS + 1)] == [True] * SECTIONS
    assert names[-4:] == ["model:front", "write_article", "store", "announce"]
    calls = len(writing.model.asked)
    assert seen["tokens"] == {"read": 100 * calls, "written": 20 * calls}
    by_name = {each["name"]: each for each in seen["steps"]}
    assert by_name["model:brief"]["tokens"] == {"read": 100, "written": 20}
    assert by_name["fetch_research"]["tokens"] is None
    assert by_name["store"]["result"] is None
    assert (
        by_name["write_article"]["begun_at"]
        < by_name["model:brief"]["finished_at"]
        < by_name["write_article"]["finished_at"]
    )
    assert "steeped" not in str(seen)
    result = by_name["model:section 1"]["result"]
    assert result["href"].endswith("/steps/model%3Asection%201")
    read = await writing.api.get(result["href"])
    assert (read.status_code, len(read.content)) == (200, result["bytes"])
    assert "steeped" in read.json()["content"]
    again = await writing.api.get(result["href"], headers={"If-None-Match": read.headers["etag"]})
    assert again.status_code == 304


async def test_what_a_workflow_waits_for_and_what_went_wrong_are_told(writing: Any) -> None:
    (command,) = await writing.sent()
    writing.model.replies["Brief"] = [
        ModelReply(
            status=429, headers={"Retry-After": "40"}, body={"type": "limit.reached", "detail": "too many"}
        ),
        BROKEN,
    ]
    with pytest.raises(WaitFor):
        await writing.begin(command)

    seen = await writing.seen()
    assert (seen["state"], seen["in_hand"]) == ("waiting", False)
    assert "waits for model" in seen["waits"]
    assert seen["waits_until"] > seen["begun_at"]
    assert dict(steps(seen))["write_article"] == "waiting"
    assert await writing.listed("waiting") == ["cold brew"]

    with pytest.raises(RetryLater) as failed:
        await writing.begin(command)

    seen = await writing.seen()
    assert (seen["state"], seen["waits"], seen["attempt"], seen["starts"]) == ("running", None, 1, 2)
    assert seen["problem"] == str(failed.value)
    assert await writing.listed("running") == ["cold brew"]
    assert await writing.listed("waiting") == []


@pytest.mark.extended
async def test_what_stands_still_without_a_wait_is_stuck_and_counted_as_such(writing: Any) -> None:
    (command,) = await writing.sent()
    writing.model.replies["Outline"] = [BROKEN]
    with pytest.raises(RetryLater):
        await writing.begin(command)
    assert await writing.listed("stuck") == []

    await writing.an_hour_passes()

    seen = await writing.seen()
    assert seen["state"] == "stuck"
    assert dict(steps(seen))["write_article"] == "stuck"
    assert dict(steps(seen))["model:brief"] == "done"
    assert await writing.listed("stuck") == ["cold brew"]
    async with writing.database.connection() as connection:
        assert await count_by_state(connection, HOUR) == {"running": 0, "waiting": 0, "stuck": 1}
    await writing.carry_out(command)
    assert (await writing.seen())["state"] == "done"


async def test_a_dead_letter_makes_it_fail_with_the_reason(writing: Any) -> None:
    (command,) = await writing.sent()
    writing.model.replies["Brief"] = [ModelReply("none"), ModelReply("none")]
    with pytest.raises(Unprocessable):
        await writing.begin(command)
    assert (await writing.seen())["state"] == "failed"
    await writing.die(command)

    seen = await writing.seen()

    assert seen["state"] == "failed"
    assert "cannot be used, twice" in seen["problem"]
    assert dict(steps(seen))["write_article"] == "failed"
    assert await writing.listed("failed") == ["cold brew"]


async def test_lists_are_paged_and_told_by_brand(make_writing: Callable[..., Awaitable[Any]]) -> None:
    for keyword in ("one", "two", "three"):
        await make_writing(keyword)
    api: httpx.AsyncClient = (await make_writing("four", "other")).api

    async def page(**query: Any) -> tuple[list[str], str | None]:
        answer = (await api.get("/v1/workflows", params=query)).json()
        return [each["keyword"] for each in answer["items"]], answer["next"]

    first, following = await page(limit=2, brand="acme")
    assert first == ["one", "two"]
    assert await page(limit=2, brand="acme", after=following) == (["three"], None)
    assert (await page())[0] == ["one", "two", "three", "four"]
    assert (await page(brand="other", state="running"))[0] == ["four"]
    assert (await api.get(f"/v1/workflows/{UUID(int=1)}")).status_code == 404


async def test_of_two_commands_for_an_article_one_has_it_in_hand(orchestrator_database: Database) -> None:
    first, second = (DeliveredCommand(UUID(int=9), new_event_id(), revision=None, attempt=1) for _ in "ab")
    async with orchestrator_database.connection() as connection:
        assert await claim_article(connection, first, HOUR) == first.event_id
        with pytest.raises(WaitFor, match="is in hand") as wait:
            await claim_article(connection, second, HOUR)
        assert wait.value.after is not None
        assert timedelta(minutes=59) < wait.value.after <= HOUR
        # Its own command comes again after a crash.
        assert await claim_article(connection, first, HOUR) == first.event_id
        stranger = DeliveredCommand(UUID(int=8), new_event_id(), revision=None, attempt=1)
        kept = await release_articles(connection, [stranger, first])
        assert {content_id: (each.event_id, each.cancelled) for content_id, each in kept.items()} == {
            UUID(int=9): (first.event_id, False)
        }
        assert await claim_article(connection, second, HOUR) == second.event_id


@pytest.mark.extended
async def test_what_is_known_of_a_workflow_goes_when_its_time_is_over(writing: Any) -> None:
    (command,) = await writing.sent()
    await writing.carry_out(command)
    await writing.hear(
        ContentGenerated(
            brand_slug="acme", content_id=command.payload.content_id, keyword="cold brew", word_count=9
        )
    )
    house = Housekeeping(writing.database, stall_after=timedelta(days=9), keep_cycles=HOUR)
    await house.tidy()
    async with writing.database.connection() as connection:
        assert await connection.fetchval("select count(*) from workflow_steps") > 0
    await writing.an_hour_passes()

    await house.tidy()

    async with writing.database.connection() as connection:
        for table in ("workflow_steps", "writings"):
            assert await connection.fetchval(f"select count(*) from {table}") == 0
    assert (await writing.seen())["state"] == "done"


def test_a_step_without_a_result_is_in_the_state_of_its_workflow_and_those_after_it_are_to_come() -> None:
    def finished(name: str, second: int) -> FinishedStep:
        at = datetime(2026, 11, 22, 6, 0, second, tzinfo=UTC)
        return FinishedStep(name, at, at, 10, None, None)

    known = [finished("own 2", 3), finished("fetch_research", 1), finished("own 1", 2)]

    for state, following in (
        (WorkflowState.RUNNING, StepState.UNDER_WAY),
        (WorkflowState.STUCK, StepState.STUCK),
        (WorkflowState.CANCELLED, StepState.CANCELLED),
    ):
        found = [(each.name, each.state) for each in order_steps(known, state)]
        assert found == [
            ("fetch_research", StepState.DONE),
            ("own 1", StepState.DONE),
            ("own 2", StepState.DONE),
            ("write_article", following),
            ("store", StepState.PENDING),
            ("announce", StepState.PENDING),
        ]


@pytest.mark.parametrize("state", [WorkflowState.STUCK, WorkflowState.RUNNING, WorkflowState.WAITING])
async def test_what_is_under_way_is_found_without_reading_the_drafts_that_wait(
    writing: Any, state: WorkflowState
) -> None:
    async with writing.database.connection() as connection:
        await connection.execute(
            "insert into keywords (cycle_id, position, keyword, state, content_id)"
            " select cycle_id, n, 'coffee ' || n, 'needs_review', gen_random_uuid() from cycles, generate_series(10, 3000) as n"
        )
        await connection.execute("analyze keywords; analyze content; set enable_seqscan = off")
        explained: Any = ExplainedConnection(connection)
        found = await workflows(
            explained, brands=["acme"], state=state, after=None, limit=6, stuck_after=HOUR
        )
    assert [each.keyword for each in found] == ([] if state is not WorkflowState.RUNNING else ["cold brew"])
    assert explained.rows_read < 60, explained.scans
