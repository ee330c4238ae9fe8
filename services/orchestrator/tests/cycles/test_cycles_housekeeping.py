"""Unanswered keywords are requested once more, then given up; old cycles are deleted."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from envelope import new_event_id
from envelope.brand.payloads import ContentGenerated, ContentPublished, SocialPosted
from messaging import Database
from orchestrator.article_workflow.store import find_content
from orchestrator.cycles import Cycle, Housekeeping, store
from orchestrator.cycles.facts import KeywordState
from orchestrator.cycles.housekeeping import in_words
from tests.fixtures.orchestrator.cycles import (
    MessageOf,
    begin,
    handle,
    researched,
    rows_of,
    write_article,
)


def housekeeping(database: Database, *, stall: float = 3600, keep: float = 3600) -> Housekeeping:
    return Housekeeping(
        database,
        stall_after=timedelta(seconds=stall),
        keep_cycles=timedelta(seconds=keep),
    )


async def requests(database: Database, keyword: str) -> list[tuple[str, UUID]]:
    """The commands about a keyword: their types and ids, in the order in which they were sent."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select type, event_id from outbox where convert_from(body, 'utf8')::json #>> '{payload,keyword}' = $1"
            " order by id",
            keyword,
        )
    return [(row["type"], row["event_id"]) for row in rows]


async def grow_old(database: Database, keyword: str) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "update keywords set moved_at = moved_at - interval '2 hours' where keyword = $1", keyword
        )


async def test_keywords_without_movement_are_asked_for_once_more_and_fail_by_the_database_clock(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew", "pour over")
    for asked in (2, 2):
        await grow_old(orchestrator_database, "cold brew")
        await asyncio.gather(*(housekeeping(orchestrator_database).tidy() for _ in range(3)))
        sent_twice = await requests(orchestrator_database, "cold brew")
        # Under a new id: whoever has answered the first, and whose answer is lost, takes a copy of it for a duplicate.
        assert [kind for kind, _ in sent_twice] == ["research.requested"] * asked
        assert len({event_id for _, event_id in sent_twice}) == asked

    stalled, fresh = await rows_of(orchestrator_database, cycle)
    assert (
        stalled.facts.reason
        == "no outcome after 1 hour in research, nor as long after it was asked for once more"
    )
    assert stalled.facts.state is KeywordState.FAILED
    assert fresh.facts.state is KeywordState.QUEUED
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    resumed, _ = await rows_of(orchestrator_database, cycle)
    assert resumed.facts.state is KeywordState.WRITING


async def test_each_stage_is_asked_for_once_more_and_not_while_its_writing_moves(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    await grow_old(orchestrator_database, "cold brew")
    await housekeeping(orchestrator_database).tidy()
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    *_, (_, generate) = await requests(orchestrator_database, "cold brew")

    # Answers of a model are steps of the command that asked for the article.
    async with orchestrator_database.connection() as connection:
        await connection.execute("insert into workflow_steps values ($1, 'brief', '{}')", generate)
    await grow_old(orchestrator_database, "cold brew")
    await housekeeping(orchestrator_database).tidy()
    assert len(await requests(orchestrator_database, "cold brew")) == 3
    async with orchestrator_database.connection() as connection:
        await connection.execute("update workflow_steps set finished_at = finished_at - interval '2 hours'")
    await housekeeping(orchestrator_database).tidy()

    asked = await requests(orchestrator_database, "cold brew")
    assert [kind for kind, _ in asked] == ["research.requested"] * 2 + ["content.generate"] * 2
    assert asked[3] == ("content.generate", generate)
    await grow_old(orchestrator_database, "cold brew")
    await housekeeping(orchestrator_database).tidy()
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.FAILED


async def test_what_the_version_before_asked_for_is_not_asked_for_again(
    orchestrator_database: Database,
) -> None:
    """The ids of its commands are unknown: another id would be another request, and be paid for again."""
    cycle = await begin(orchestrator_database, "cold brew")
    async with orchestrator_database.connection() as connection:
        await connection.execute("update keywords set command_id = null, command_stage = null")
    await grow_old(orchestrator_database, "cold brew")
    await housekeeping(orchestrator_database).tidy()

    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.reason == "no outcome after 1 hour in research"
    assert len(await requests(orchestrator_database, "cold brew")) == 1


async def commands(database: Database, kind: str) -> list[tuple[UUID, dict[str, Any]]]:
    """Id and payload of each command of a type, in the order in which they were sent."""
    async with database.connection() as connection:
        rows = await connection.fetch("select event_id, body from outbox where type = $1 order by id", kind)
    return [(row["event_id"], json.loads(row["body"])["payload"]) for row in rows]


@pytest.fixture
async def written(orchestrator_database: Database, message_of: MessageOf) -> tuple[Cycle, UUID]:
    """A keyword with a stored article and a requested publication; and the article's id."""
    cycle = await begin(orchestrator_database, "cold brew", channels=("feed", "webhook"))
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.content_id is not None
    await write_article(orchestrator_database, row.facts.content_id)
    generated = ContentGenerated(
        brand_slug="daily-grind", content_id=row.facts.content_id, keyword="cold brew", word_count=400
    )
    await handle(orchestrator_database, message_of(generated, cycle.correlation_id))
    return cycle, row.facts.content_id


async def test_a_publication_without_an_answer_is_asked_for_once_more_under_a_new_id(
    orchestrator_database: Database, message_of: MessageOf, written: tuple[Cycle, UUID]
) -> None:
    """The service that carried out the first would take a copy for a duplicate, and not answer."""
    cycle, content_id = written
    for _ in range(2):
        await grow_old(orchestrator_database, "cold brew")
        await asyncio.gather(*(housekeeping(orchestrator_database).tidy() for _ in range(3)))
        first, second = await commands(orchestrator_database, "content.publish")
        assert first[1] == second[1]
        assert first[0] != second[0]
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.reason == (
        "no outcome after 1 hour in publishing, nor as long after it was asked for once more"
    )

    published = ContentPublished(
        brand_slug="daily-grind", content_id=content_id, published_url="https://example.com/cold-brew"
    )
    await handle(orchestrator_database, message_of(published, cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.PROMOTING


async def test_posts_without_an_answer_are_asked_for_once_more_under_a_new_id(
    orchestrator_database: Database, message_of: MessageOf, written: tuple[Cycle, UUID]
) -> None:
    cycle, content_id = written
    # The stage before was asked for twice; that counts for nothing here.
    await grow_old(orchestrator_database, "cold brew")
    await housekeeping(orchestrator_database).tidy()
    published = ContentPublished(
        brand_slug="daily-grind", content_id=content_id, published_url="https://example.com/cold-brew"
    )
    posted = SocialPosted(
        brand_slug="daily-grind", content_id=content_id, platform="feed", post_url="https://example.com/1"
    )
    await handle(orchestrator_database, message_of(published, cycle.correlation_id))
    await handle(orchestrator_database, message_of(posted, cycle.correlation_id))
    for _ in range(2):
        await grow_old(orchestrator_database, "cold brew")
        await asyncio.gather(*(housekeeping(orchestrator_database).tidy() for _ in range(3)))
        first, second = await commands(orchestrator_database, "social.create")
        assert first[0] != second[0]
        assert second[1]["published_url"] == published.published_url
        assert (first[1]["channels"], second[1]["channels"]) == (["feed", "webhook"], ["webhook"])
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.reason == (
        "no outcome after 1 hour in promoting, nor as long after it was asked for once more"
    )


@pytest.mark.parametrize(
    ("change", "state", "published"),
    [
        ("", KeywordState.PUBLISHING, 1),
        ("held_for = '{too long}'", KeywordState.NEEDS_REVIEW, 0),
        ("held_for = '{too long}', decision = 'rejected'", KeywordState.REJECTED, 0),
    ],
)
async def test_an_article_that_is_stored_counts_though_the_word_of_it_is_lost(
    orchestrator_database: Database,
    message_of: MessageOf,
    change: str,
    state: KeywordState,
    published: int,
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.content_id is not None
    await write_article(orchestrator_database, row.facts.content_id)
    if change:
        async with orchestrator_database.connection() as connection:
            await connection.execute(f"update content set {change}")
    await grow_old(orchestrator_database, "cold brew")
    await asyncio.gather(*(housekeeping(orchestrator_database).tidy() for _ in range(3)))
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is state
    assert len(await commands(orchestrator_database, "content.publish")) == published
    assert len(await commands(orchestrator_database, "content.generate")) == 1


async def test_posts_that_were_never_asked_for_are_asked_for(
    orchestrator_database: Database, message_of: MessageOf, written: tuple[Cycle, UUID]
) -> None:
    """As where the article was stored after the event that tells its address."""
    cycle, content_id = written
    published = ContentPublished(
        brand_slug="daily-grind", content_id=content_id, published_url="https://example.com/cold-brew"
    )
    await handle(orchestrator_database, message_of(published, cycle.correlation_id))
    async with orchestrator_database.connection() as connection:
        await connection.execute("update keywords set promoted = false")
        await connection.execute("delete from outbox where type = 'social.create'")
    await grow_old(orchestrator_database, "cold brew")
    await housekeeping(orchestrator_database).tidy()
    assert len(await commands(orchestrator_database, "social.create")) == 1
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.promoted


async def test_the_reaper_leaves_a_brand_alone_that_someone_decides_about(
    orchestrator_database: Database,
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    async with orchestrator_database.connection() as connection:
        await connection.execute("update keywords set moved_at = moved_at - interval '2 hours'")

    async with orchestrator_database.transaction() as holder:
        await store.lock_brands_of(holder.connection, [cycle.correlation_id], [])
        async with asyncio.timeout(60):
            assert await housekeeping(orchestrator_database).look_after_stalled() == 0

    assert await housekeeping(orchestrator_database).look_after_stalled() == 1


async def test_old_cycles_go_once_they_have_ended_and_articles_stay(orchestrator_database: Database) -> None:
    old, running = [await begin(orchestrator_database, "cold brew") for _ in range(2)]
    content_id = new_event_id()
    await write_article(orchestrator_database, content_id)
    async with orchestrator_database.connection() as connection:
        await connection.execute("update cycles set created_at = now() - interval '2 hours'")
        await connection.execute("update keywords set state = 'completed' where cycle_id = $1", old.cycle_id)
        await connection.execute(
            "insert into workflow_steps values ($1, 'fetch_research', '[]', now() - interval '2 hours')",
            content_id,
        )

    await housekeeping(orchestrator_database, stall=1e6).tidy()

    async with orchestrator_database.connection() as connection:
        assert await store.find_cycle(connection, old.cycle_id) is None
        assert await store.find_cycle(connection, running.cycle_id) is not None
        assert await find_content(connection, content_id) is not None
        assert await connection.fetchval("select count(*) from workflow_steps") == 0


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(hours=6), "6 hours"),
        (timedelta(minutes=90), "90 minutes"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(seconds=0.2), "1 second"),
    ],
)
def test_spans_are_told_in_words(span: timedelta, words: str) -> None:
    assert in_words(span) == words
