"""Results of steps that are large: kept once, read as any other, and gone with the last step that has them."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from pydantic import TypeAdapter

from envelope import new_event_id
from messaging import Database
from orchestrator.article_workflow.durable import DurableWorkflow
from orchestrator.article_workflow.durable.results import LARGE
from orchestrator.cycles import Housekeeping

TEXT: TypeAdapter[str] = TypeAdapter(str)
HOUR = timedelta(hours=1)
LONG = "é" * (LARGE // 2 + 1)
"""Longer than that in bytes, and not in characters."""


class Work:
    def __init__(self, result: str) -> None:
        self.result = result
        self.count = 0

    async def __call__(self) -> str:
        self.count += 1
        return self.result


async def count(database: Database, table: str) -> int:
    async with database.connection() as connection:
        found: int = await connection.fetchval(f"select count(*) from {table}")
        return found


async def test_each_text_is_kept_once_and_no_step_is_done_again(orchestrator_database: Database) -> None:
    works = [Work(LONG) for _ in "ab"]
    ids = [new_event_id() for _ in works]
    for workflow_id, work in zip(ids, works, strict=True):
        for _ in range(2):
            workflow = await DurableWorkflow.resume(orchestrator_database, workflow_id)
            assert await workflow.step("read", TEXT, work) == LONG
    assert [work.count for work in works] == [1, 1]
    counts = [
        await count(orchestrator_database, each) for each in ("blobs", "large_results", "workflow_steps")
    ]
    assert counts == [1, 2, 0]
    just = await DurableWorkflow.resume(orchestrator_database, new_event_id())
    assert await just.step("read", TEXT, Work("é" * (LARGE // 2 - 1))) != LONG
    assert await count(orchestrator_database, "blobs") == 1


@pytest.mark.parametrize("other", ["small", "x" * LARGE])
async def test_replicas_go_on_with_the_result_that_was_stored_first(
    orchestrator_database: Database, other: str
) -> None:
    workflow_id = new_event_id()
    first, second = [await DurableWorkflow.resume(orchestrator_database, workflow_id) for _ in "ab"]
    assert await first.step("read", TEXT, Work(LONG)) == LONG
    assert await second.step("read", TEXT, Work(other)) == LONG
    both = [await DurableWorkflow.resume(orchestrator_database, new_event_id()) for _ in "ab"]
    same = new_event_id()
    both = [await DurableWorkflow.resume(orchestrator_database, same) for _ in "ab"]
    results = await asyncio.gather(
        *(each.step("read", TEXT, Work(f"{n}{LONG}")) for n, each in enumerate(both))
    )
    assert len(set(results)) == 1


async def test_what_the_version_before_has_done_again_holds(orchestrator_database: Database) -> None:
    workflow_id = new_event_id()
    await (await DurableWorkflow.resume(orchestrator_database, workflow_id)).step("read", TEXT, Work(LONG))
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "insert into workflow_steps (workflow_id, step, result) values ($1, 'read', '\"its own\"')",
            workflow_id,
        )
    workflow = await DurableWorkflow.resume(orchestrator_database, workflow_id)
    assert await workflow.step("read", TEXT, Work("a third")) == "its own"


async def test_they_go_with_the_last_step_that_has_them(orchestrator_database: Database) -> None:
    old, young = new_event_id(), new_event_id()
    for workflow_id in (old, young):
        await (await DurableWorkflow.resume(orchestrator_database, workflow_id)).step(
            "read", TEXT, Work(LONG)
        )
    house = Housekeeping(orchestrator_database, stall_after=9 * HOUR, keep_cycles=HOUR)
    left = []
    for workflow_id in (old, young):
        async with orchestrator_database.connection() as connection:
            await connection.execute(
                "update large_results set finished_at = now() - interval '2 hours' where workflow_id = $1",
                workflow_id,
            )
            await connection.execute("update blobs set referenced_at = now() - interval '2 hours'")
        await house.tidy()
        left.append([await count(orchestrator_database, each) for each in ("large_results", "blobs")])
    assert left == [[1, 1], [0, 0]]


async def test_a_large_result_is_shown_and_read_as_any_other(writing: Any) -> None:
    (command,) = await writing.sent()
    content_id = command.payload.content_id
    workflow = await DurableWorkflow.resume(writing.database, content_id)
    await workflow.step("fetch_research", TEXT, Work(LONG))

    first = (await writing.seen())["steps"][0]

    assert (first["name"], first["state"]) == ("fetch_research", "done")
    read = await writing.api.get(first["result"]["href"])
    assert read.json() == LONG
    assert first["result"]["bytes"] == len(read.content) > LARGE
