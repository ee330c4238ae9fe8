"""Durable steps, and the content workflow on top of them."""

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate
from envelope.brand.settings import MIN_SOURCES
from messaging import Context, Database, RetryLater, Unprocessable
from messaging.testing import write_records
from orchestrator.article_workflow import REASONS
from orchestrator.article_workflow.domain import free_slug
from orchestrator.article_workflow.store import find_content, insert_content, mark_published
from tests.fixtures.kilns import SOURCES
from tests.fixtures.orchestrator.article_workflow import (
    RESEARCH,
    CountedCalls,
    MessageOf,
    TitleWriter,
    end,
    published_at,
    workflow_of,
)
from writing import Article, ArticleSource, SourcePassage
from writing.extractive.composer import EXTRACTIVE_LABEL
from writing.extractive.writer import ExtractiveWriter


class HeldWriter:
    """Begins to write, and never ends."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def write(self, **_: Any) -> Article:
        self.begun.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody lets it go on")


class UnwillingWriter:
    def __init__(self, refusal: Exception) -> None:
        self._refusal = refusal

    async def write(self, **_: Any) -> Article:
        raise self._refusal


async def test_two_replicas_write_one_article_and_announce_it_once(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    async def run() -> None:
        record = await workflow_of(orchestrator_database, CountedCalls(SOURCES)).generate(command, context)
        async with orchestrator_database.transaction() as tx:
            await write_records(tx, record)

    await asyncio.gather(run(), run())
    await run()

    async with orchestrator_database.connection() as connection:
        content = await find_content(connection, command.payload.content_id)
        sent = await connection.fetch("select type, correlation_id from outbox")
        steps = await connection.fetch("select step from workflow_steps order by finished_at, step")
    assert content is not None
    assert content.brand_name == "The Daily Grind"
    assert content.word_count > 0
    assert [tuple(row) for row in sent] == [("content.generated", "correlation")]
    assert sorted(row["step"] for row in steps) == ["announce", "fetch_research", "store", "write_article"]
    cited = {source["n"] for source in content.sources}
    assert cited
    assert all(f"[{number}]" in content.body_markdown for number in cited)


async def test_research_is_not_read_again_after_the_writer_was_killed(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
) -> None:
    fetch = CountedCalls(SOURCES)
    writer = HeldWriter()
    killed = asyncio.create_task(workflow_of(orchestrator_database, fetch, writer).generate(command, context))
    await writer.begun.wait()
    killed.cancel()
    with suppress(asyncio.CancelledError):
        await killed

    await workflow_of(orchestrator_database, fetch).generate(command, context)

    assert fetch.count == 1


async def test_any_writer_can_be_handed_to_the_workflow(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    workflow = workflow_of(orchestrator_database, CountedCalls(SOURCES), TitleWriter())

    record = await workflow.generate(command, context)
    async with orchestrator_database.transaction() as tx:
        await write_records(tx, record)

    async with orchestrator_database.connection() as connection:
        content = await find_content(connection, command.payload.content_id)
        sent = [json.loads(row["body"]) for row in await connection.fetch("select body from outbox")]
    assert content is not None
    assert content.body_markdown == "The Daily Grind on kiln (en): Power. [5]\n"
    assert (content.word_count, content.label) == (7, "Titles only")
    assert [source["n"] for source in content.sources] == [5]
    assert [(body["type"], body["payload"]["reason"]) for body in sent] == [
        ("content.refused", "needs_review")
    ]


async def test_an_article_is_linked_with_what_the_brand_has_published(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    workflow = workflow_of(orchestrator_database, CountedCalls(SOURCES))
    addresses = {new_event_id(): "http://site.test/sites/daily-grind/glazed-ware", new_event_id(): None}
    async with orchestrator_database.transaction() as tx:
        for at, content_id in enumerate(addresses):
            shelves = replace(
                await TitleWriter().write(keyword="shelves", sources=SOURCES, brand_name="", language=""),
                slug=f"shelves-{at}",
            )
            await insert_content(
                tx.connection,
                content_id=content_id,
                brand_slug="daily-grind",
                keyword=("glazed ware", "empty corner")[at],
                research_id=RESEARCH,
                article=shelves,
                sources=(),
            )
        await mark_published(
            tx.connection, [published_at(each, url) for each, url in addresses.items() if url]
        )

    content = await end(orchestrator_database, workflow, command, context)

    assert content is not None
    assert (
        "[Glazed ware](http://site.test/sites/daily-grind/glazed-ware) touches nothing"
        in content.body_markdown
    )
    assert content.body_markdown.count("](http") == 1
    assert {each.name: each.value for each in content.measures}["links"] == 1


@pytest.mark.parametrize(
    "refusal", [RetryLater("the writer rests", after=timedelta(seconds=7)), Unprocessable("nothing to say")]
)
async def test_what_a_writer_raises_reaches_the_queue_as_it_is(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    refusal: Exception,
) -> None:
    workflow = workflow_of(orchestrator_database, CountedCalls(SOURCES), UnwillingWriter(refusal))

    with pytest.raises(type(refusal)) as raised:
        await workflow.generate(command, context)

    assert raised.value is refusal


async def test_the_extractive_writer_labels_what_it_writes() -> None:
    article = await ExtractiveWriter(MIN_SOURCES).write(
        keyword="kiln", sources=SOURCES, brand_name="The Daily Grind", language="en"
    )

    assert article.label == EXTRACTIVE_LABEL
    assert article.cited == (1,)


async def test_sources_that_give_no_article_end_the_keyword_with_a_reason(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    bare = (
        ArticleSource(
            n=1, title="Menu", passages=(SourcePassage(heading=None, text="Coffee Tea", score=1.0),)
        ),
    )

    counted: list[str] = []
    workflow = workflow_of(orchestrator_database, CountedCalls(bare), count_refusal=counted.append)
    record = await workflow.generate(command, context)
    async with orchestrator_database.transaction() as tx:
        await write_records(tx, record)

    assert counted == ["insufficient_sources"]
    assert set(REASONS) == {
        "insufficient_sources",
        "unsupported_draft",
        "needs_review",
        "near_duplicate",
        "not_renewed",
    }
    async with orchestrator_database.connection() as connection:
        content = await find_content(connection, command.payload.content_id)
        (sent,) = [json.loads(row["body"]) for row in await connection.fetch("select body from outbox")]
    assert content is None
    assert sent["type"] == "content.refused"
    assert sent["payload"]["content_id"] == str(command.payload.content_id)
    assert sent["payload"]["reason"] == "insufficient_sources"
    assert "kiln" in sent["payload"]["detail"]


async def test_day_and_work_of_a_source_are_stored_with_the_article(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    dated = (replace(SOURCES[0], published_on=date(2025, 6, 1), work="Kilns"), *SOURCES[1:])
    record = await workflow_of(orchestrator_database, CountedCalls(dated)).generate(command, context)
    async with orchestrator_database.transaction() as tx:
        await write_records(tx, record)

    async with orchestrator_database.connection() as connection:
        content = await find_content(connection, command.payload.content_id)
    assert content is not None
    told = {source["n"]: (source["published_on"], source["work"]) for source in content.sources}
    assert told == {1: ("2025-06-01", "Kilns")}


async def test_an_unknown_brand_is_said_to_be_one(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    stranger = message_of(command.payload.model_copy(update={"brand_slug": "nobody"}))
    with pytest.raises(Unprocessable, match="unknown brand 'nobody'"):
        await workflow_of(orchestrator_database, CountedCalls(SOURCES)).generate(stranger, context)


def test_a_slug_that_is_taken_gets_the_next_free_number() -> None:
    assert free_slug("cold-brew", set()) == "cold-brew"
    assert free_slug("cold-brew", {"cold-brew", "cold-brew-2", "cold-brew-4"}) == "cold-brew-3"
