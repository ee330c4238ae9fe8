"""Stored articles: their contents, their approval, and their comparison with the brand's other articles."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentGenerate
from envelope.brand.settings import MIN_SOURCES
from messaging import Context, Database, Record
from messaging.testing import write_records
from orchestrator.article_workflow.store import mark_published
from orchestrator.removal import insert_deleted
from tests.fixtures.kilns import SOURCES
from tests.fixtures.orchestrator.article_workflow import (
    CountedCalls,
    MessageOf,
    TitleWriter,
    end,
    published_at,
    sent_by,
    workflow_of,
)
from writing import Article
from writing.extractive.writer import ExtractiveWriter


async def test_an_article_that_was_deleted_is_not_written_anew(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    calls = CountedCalls(SOURCES)
    workflow = workflow_of(orchestrator_database, calls)
    under_way = await workflow.generate(command, context)
    async with orchestrator_database.transaction() as tx:
        await insert_deleted(
            tx.connection,
            command.payload.content_id,
            command.payload.brand_slug,
            address="kiln",
            published_url=None,
            by="ann",
            reason="wrong",
        )
        await tx.connection.execute("delete from workflow_steps")
    async with orchestrator_database.transaction() as tx:
        await write_records(tx, under_way)
    assert await end(orchestrator_database, workflow, command, context) is None
    assert await sent_by(orchestrator_database) == []


async def test_a_sound_article_is_stored_with_its_measures(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    with structlog.testing.capture_logs() as lines:
        content = await end(
            orchestrator_database, workflow_of(orchestrator_database, CountedCalls(SOURCES)), command, context
        )

    (line,) = (each for each in lines if each["event"] == "article_written")
    assert (line["brand"], line["keyword"]) == ("daily-grind", "kiln")
    assert line["content_id"] == str(command.payload.content_id)
    assert content is not None
    assert (content.slug, content.held_for) == ("kiln", ())
    measures = {each.name: each for each in content.measures}
    assert [each.problem for each in measures.values()] == [None] * len(measures)
    assert measures["words"].value == content.word_count
    assert (measures["sources"].value, measures["likeness"].shown) == (1, "the brand's first article")
    assert "dropped" not in measures


async def test_a_draft_below_a_bound_is_kept_and_not_announced_however_often_it_comes(
    orchestrator_database: Database, command: DomainMessage[ContentGenerate], context: Context
) -> None:
    workflow = workflow_of(orchestrator_database, CountedCalls(SOURCES), TitleWriter())

    content = await end(orchestrator_database, workflow, command, context)
    again = command.model_copy(update={"event_id": new_event_id()})

    assert await end(orchestrator_database, workflow, again, context) == content
    assert content is not None
    assert content.held_for == ("7 words, of at least 120",)
    assert await sent_by(orchestrator_database) == [
        (
            "content.refused",
            {
                "brand_slug": "daily-grind",
                "content_id": str(command.payload.content_id),
                "keyword": "kiln",
                "reason": "needs_review",
                "detail": "; ".join(content.held_for),
            },
        )
    ]


async def test_a_draft_that_waits_keeps_its_address_and_its_words_from_no_other(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    class Held(ExtractiveWriter):
        async def write(self, **given: Any) -> Article:
            return replace(await super().write(**given), title="")

    held = await end(
        orchestrator_database,
        workflow_of(orchestrator_database, CountedCalls(SOURCES), Held(MIN_SOURCES)),
        command,
        context,
    )
    other = message_of(command.payload.model_copy(update={"content_id": new_event_id()}))
    content = await end(
        orchestrator_database, workflow_of(orchestrator_database, CountedCalls(SOURCES)), other, context
    )

    assert held is not None
    assert held.held_for == ("it has no title",)
    assert content is not None
    assert (content.slug, content.held_for) == ("kiln", ())


@pytest.mark.extended
async def test_what_the_brand_has_said_already_ends_with_the_article_that_says_it(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    workflow = workflow_of(orchestrator_database, CountedCalls(SOURCES))
    first = await end(orchestrator_database, workflow, command, context)
    assert first is not None
    address = "http://site.test/sites/daily-grind/kiln"
    async with orchestrator_database.transaction() as tx:
        await mark_published(tx.connection, [published_at(first.content_id, address)])
        # As an article of before there were fingerprints.
        await tx.connection.execute("update content set fingerprint = null, measures = '[]'")
    other = message_of(
        command.payload.model_copy(update={"content_id": new_event_id(), "keyword": "kilns"}), "other"
    )

    content = await end(orchestrator_database, workflow, other, context)

    assert content is None
    kind, payload = (await sent_by(orchestrator_database))[-1]
    assert (kind, payload["reason"], payload["standing_id"]) == (
        "content.refused",
        "near_duplicate",
        str(first.content_id),
    )
    assert payload["detail"] == f"100% of it stands in “{first.title}” already ({address})"


async def test_what_misses_another_bound_too_waits_for_a_person(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    class Untitled(ExtractiveWriter):
        async def write(self, **given: Any) -> Article:
            return replace(await super().write(**given), title="")

    first = await end(
        orchestrator_database, workflow_of(orchestrator_database, CountedCalls(SOURCES)), command, context
    )
    assert first is not None
    async with orchestrator_database.transaction() as tx:
        await mark_published(
            tx.connection, [published_at(first.content_id, "http://site.test/sites/daily-grind/kiln")]
        )
    other = message_of(
        command.payload.model_copy(update={"content_id": new_event_id(), "keyword": "kilns"}), "other"
    )

    content = await end(
        orchestrator_database,
        workflow_of(orchestrator_database, CountedCalls(SOURCES), Untitled(MIN_SOURCES)),
        other,
        context,
    )

    assert content is not None
    assert len(content.held_for) == 2


async def test_of_two_near_duplicates_written_at_the_same_time_one_waits(
    orchestrator_database: Database,
    command: DomainMessage[ContentGenerate],
    context: Context,
    message_of: MessageOf,
) -> None:
    both = [
        command,
        *(message_of(command.payload.model_copy(update={"content_id": new_event_id()})) for _ in "ab"),
    ]
    workflow = workflow_of(orchestrator_database, CountedCalls(SOURCES))
    # All are judged before any is stored.
    records = [await workflow.generate(each, context) for each in both]

    async def commit(record: Record) -> None:
        async with orchestrator_database.transaction() as tx:
            await write_records(tx, record)

    await asyncio.gather(*map(commit, records))

    outcomes = Counter(kind for kind, _ in await sent_by(orchestrator_database))
    assert outcomes == {"content.generated": 1, "content.refused": 2}
