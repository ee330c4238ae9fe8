"""A writer that takes milliseconds: its steps have their rows with the article, and a crash before that leaves none."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from pydantic import TypeAdapter

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate
from envelope.brand.settings import MIN_SOURCES
from messaging import Context, Database
from messaging.testing import write_records
from orchestrator.article_workflow import ContentWorkflow
from orchestrator.article_workflow.durable import workflow as durable
from orchestrator.article_workflow.durable.workflow import DurableWorkflow, StoredMeanwhileError
from orchestrator.article_workflow.store import find_content
from tests.fixtures.kilns import SOURCES
from tests.fixtures.orchestrator.article_workflow import CountedCalls, MessageOf, sent_by
from writing import StatelessWriter
from writing.extractive.writer import ExtractiveWriter

NUMBER = TypeAdapter(int)
TEXT = TypeAdapter(str)
DELETED = """
    insert into deleted_articles (content_id, brand_slug, address, deleted_by, reason) values ($1, $2, 'kiln', 'ann', 'no')
"""


def quickly(database: Database, fetch: CountedCalls) -> ContentWorkflow:
    return ContentWorkflow(database, fetch, {"extractive": StatelessWriter(ExtractiveWriter(MIN_SOURCES))})


async def steps_of(database: Database, workflow_id: UUID) -> dict[str, bool]:
    """Whether it took time, by name."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select step, begun_at < finished_at as took_time from workflow_steps where workflow_id = $1",
            workflow_id,
        )
        large = await connection.fetch("select step from large_results where workflow_id = $1", workflow_id)
    return {row["step"]: bool(row["took_time"]) for row in rows} | {row["step"]: True for row in large}


async def test_all_steps_have_their_rows_with_the_article_and_none_before(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    record = await quickly(orchestrator_database, CountedCalls(SOURCES)).generate(command, context)
    before = await steps_of(orchestrator_database, command.payload.content_id)
    async with orchestrator_database.transaction() as tx:
        await write_records(tx, record)

    assert before == {}
    assert await steps_of(orchestrator_database, command.payload.content_id) == {
        "fetch_research": True,
        "write_article": True,
        "store": False,
        "announce": False,
    }


async def test_what_was_killed_before_its_article_was_stored_is_done_again_and_stored_once(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    fetch = CountedCalls(SOURCES)
    lost = await quickly(orchestrator_database, fetch).generate(command, context)
    with suppress(ZeroDivisionError):
        async with orchestrator_database.transaction() as tx:
            await write_records(tx, lost)
            raise ZeroDivisionError

    async def run() -> None:
        record = await quickly(orchestrator_database, fetch).generate(command, context)
        async with orchestrator_database.transaction() as tx:
            await write_records(tx, record)

    assert await steps_of(orchestrator_database, command.payload.content_id) == {}
    await asyncio.gather(run(), run())
    await run()

    # Once by whoever was killed, once by the first of the others, by the second if it began before that was stored.
    assert fetch.count in {2, 3}
    assert [kind for kind, _ in await sent_by(orchestrator_database)] == ["content.generated"]


async def test_a_refusal_shows_what_was_read(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    record = await quickly(orchestrator_database, CountedCalls(SOURCES[1:2])).generate(command, context)
    async with orchestrator_database.transaction() as tx:
        await write_records(tx, record)

    assert await steps_of(orchestrator_database, command.payload.content_id) == {"fetch_research": True}
    assert [kind for kind, _ in await sent_by(orchestrator_database)] == ["content.refused"]


@pytest.mark.parametrize("sources", [SOURCES, SOURCES[1:2]], ids=["an article", "a refusal"])
@pytest.mark.parametrize("keeps_row", [True, False], ids=["taken up again", "gone"])
async def test_nothing_is_kept_of_what_was_deleted_while_it_was_written(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    sources: tuple[object, ...],
    keeps_row: bool,
) -> None:
    content_id = command.payload.content_id
    record = await quickly(orchestrator_database, CountedCalls(sources)).generate(command, context)
    async with orchestrator_database.connection() as connection:
        await connection.execute(DELETED, content_id, command.payload.brand_slug)
        if not keeps_row:
            await connection.execute("delete from writings where content_id = $1", content_id)

    async with orchestrator_database.transaction() as tx:
        await write_records(tx, record)

    async with orchestrator_database.connection() as connection:
        assert await find_content(connection, content_id) is None
    assert await steps_of(orchestrator_database, content_id) == {}
    assert await sent_by(orchestrator_database) == []


def generated(
    command: DomainMessage[ContentGenerate], message_of: MessageOf, *keywords: str
) -> list[DomainMessage[ContentGenerate]]:
    """Commands for further articles of the same brand."""
    return [
        message_of(command.payload.model_copy(update={"content_id": new_event_id(), "keyword": keyword}))
        for keyword in keywords
    ]


async def write_together(database: Database, records: Sequence[Any]) -> None:
    async with database.transaction() as tx:
        await write_records(tx, *records)


async def test_what_ends_together_is_written_as_if_each_were_alone(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    near, cancelled, deleted = generated(command, message_of, "kiln", "kiln", "kiln")
    poor = message_of(command.payload.model_copy(update={"content_id": new_event_id(), "keyword": "kiln"}))
    records = [
        # The first twice, as two consumers have it that were both thought to be gone.
        await quickly(orchestrator_database, CountedCalls(SOURCES)).generate(command, context),
        await quickly(orchestrator_database, CountedCalls(SOURCES)).generate(command, context),
        await quickly(orchestrator_database, CountedCalls(SOURCES)).generate(near, context),
        await quickly(orchestrator_database, CountedCalls(SOURCES)).generate(cancelled, context),
        await quickly(orchestrator_database, CountedCalls(SOURCES)).generate(deleted, context),
        await quickly(orchestrator_database, CountedCalls(SOURCES[1:2])).generate(poor, context),
    ]
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "update writings set cancelled_at = now() where content_id = $1", cancelled.payload.content_id
        )
        await connection.execute(DELETED, deleted.payload.content_id, deleted.payload.brand_slug)

    await write_together(orchestrator_database, records)
    await write_together(orchestrator_database, records)

    names = {"fetch_research", "write_article", "store", "announce"}
    stored = {
        each.payload.content_id: set(await steps_of(orchestrator_database, each.payload.content_id))
        for each in (command, near, cancelled, deleted, poor)
    }
    assert list(stored.values()) == [names, names, set(), set(), {"fetch_research"}]
    sent = [
        (kind, payload["content_id"], payload.get("reason"))
        for kind, payload in await sent_by(orchestrator_database)
    ]
    told = [
        ("content.generated", str(command.payload.content_id), None),
        ("content.refused", str(near.payload.content_id), "needs_review"),
        ("content.refused", str(poor.payload.content_id), "insufficient_sources"),
    ]
    # A refusal that is written twice is told twice: the inbox keeps that from happening.
    assert sent == [*told, told[2]]


async def test_one_that_cannot_be_written_leaves_nothing_of_the_others_either(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    (other,) = generated(command, message_of, "kiln")
    records = [
        await quickly(orchestrator_database, CountedCalls(SOURCES)).generate(each, context)
        for each in (command, other)
    ]
    slow = await DurableWorkflow.resume(orchestrator_database, other.payload.content_id)
    await slow.step("write_article", TEXT, CountedCalls("another"))

    with pytest.raises(StoredMeanwhileError):
        await write_together(orchestrator_database, records)
    before = await steps_of(orchestrator_database, command.payload.content_id)
    await write_together(orchestrator_database, records[:1])

    assert before == {}
    assert [kind for kind, _ in await sent_by(orchestrator_database)] == ["content.generated"]


async def test_who_finds_another_result_stored_goes_on_with_that(orchestrator_database: Database) -> None:
    workflow_id = new_event_id()
    quick, slow = [await DurableWorkflow.resume(orchestrator_database, workflow_id) for _ in range(2)]
    assert await quick.step("step", NUMBER, CountedCalls(1), quick=True) == 1
    assert await slow.step("step", NUMBER, CountedCalls(2)) == 2

    with pytest.raises(StoredMeanwhileError):
        async with orchestrator_database.transaction() as tx:
            await quick.finish(tx.connection, "store")

    again = await DurableWorkflow.resume(orchestrator_database, workflow_id)
    assert await again.step("step", NUMBER, CountedCalls(3), quick=True) == 2
    async with orchestrator_database.transaction() as tx:
        assert await again.finish(tx.connection, "store") == {"store"}
    # Whoever comes after it is done finds nothing to do.
    late = await DurableWorkflow.resume(orchestrator_database, workflow_id)
    async with orchestrator_database.transaction() as tx:
        assert await late.finish(tx.connection, "store") == set()


async def test_what_took_long_or_is_large_is_stored_at_once(
    orchestrator_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = await DurableWorkflow.resume(orchestrator_database, new_event_id())
    await workflow.step("small", TEXT, CountedCalls("x"), quick=True)
    await workflow.step("large", TEXT, CountedCalls("x" * 70_000), quick=True)
    monkeypatch.setattr(durable, "QUICK", 0.0)
    await workflow.step("long", TEXT, CountedCalls("x"), quick=True)

    assert await steps_of(orchestrator_database, workflow.workflow_id) == {"large": True, "long": True}
