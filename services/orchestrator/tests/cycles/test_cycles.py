"""Events on a real database: what the router changes, what it sends, and who may decide when."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import (
    ContentGenerated,
    ContentPublished,
    ContentRefused,
    DeadLetterRecorded,
    Priority,
    ResearchCompleted,
    ResearchFailed,
    SocialPosted,
)
from messaging import Database
from orchestrator.brands import BrandSlug, upsert_brand
from orchestrator.cycles import Cycle, CycleId, Housekeeping, NewCycle, begin_cycle, route, store
from orchestrator.cycles.facts import CycleState, KeywordState, Progress, cycle_state
from orchestrator.cycles.housekeeping import in_words
from orchestrator.cycles.models import CycleView
from orchestrator.cycles.store import KeywordRow
from orchestrator.writing import Article, Source
from orchestrator.writing.store import find_content, insert_content

ARTICLE = Article(
    title="Cold brew",
    slug="cold-brew",
    meta_description="How to steep it.",
    body_markdown="## Time\n\nTwelve hours are enough. [1]",
    word_count=4,
    key_points=("Twelve hours are enough.",),
    cited=(1,),
)
SOURCE = Source(n=1, title="Steeping", passages=(), path="steeping.md")

MessageOf = Callable[..., DomainMessage[Any]]


async def begin(
    database: Database,
    *keywords: str,
    slug: str = "daily-grind",
    channels: Sequence[str] = ("feed",),
    key: str | None = None,
) -> Cycle:
    async with database.transaction() as tx:
        await upsert_brand(
            tx.connection,
            slug=slug,
            name="The Daily Grind",
            description="",
            language="en",
            channels=channels,
            target="site",
        )
    wanted = NewCycle(
        CycleId(new_event_id()),
        str(new_event_id()),
        BrandSlug(slug),
        Priority.NORMAL,
        keywords,
        key,
        b"digest",
    )
    return await begin_cycle(database, wanted)


async def handle(database: Database, *events: DomainMessage[Any]) -> None:
    async with database.transaction() as tx:
        await route(events, tx)


async def rows_of(database: Database, cycle: Cycle) -> list[KeywordRow]:
    async with database.connection() as connection:
        return await store.keywords_of(connection, cycle.cycle_id)


async def view_of(database: Database, cycle: Cycle) -> CycleView:
    async with database.connection() as connection:
        found = await store.find_cycle(connection, cycle.cycle_id)
        assert found is not None
        return CycleView.of(found, await store.keywords_of(connection, cycle.cycle_id, limit=store.PAGE + 1))


async def sent(database: Database) -> Counter[str]:
    async with database.connection() as connection:
        return Counter(row["type"] for row in await connection.fetch("select type from outbox"))


async def write_article(database: Database, content_id: UUID, article: Article = ARTICLE) -> None:
    async with database.transaction() as tx:
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug="daily-grind",
            keyword="cold brew",
            research_id=UUID(int=5),
            article=article,
            sources=[SOURCE],
        )


def researched(keyword: str, slug: str = "daily-grind") -> ResearchCompleted:
    return ResearchCompleted(brand_slug=slug, research_id=new_event_id(), keyword=keyword)


async def test_three_keywords_become_exactly_three_of_each_message(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    keywords = ("cold brew", "pour over", "espresso")
    cycle = await begin(orchestrator_database, *keywords, channels=("feed", "x"))
    correlation = cycle.correlation_id

    await handle(
        orchestrator_database, *(message_of(researched(keyword), correlation) for keyword in keywords)
    )
    ids = [row.facts.content_id for row in await rows_of(orchestrator_database, cycle)]
    assert None not in ids
    for content_id in ids:
        assert content_id is not None
        await write_article(orchestrator_database, content_id)
    # Everything twice, the pages before the announcements, all in one batch.
    pages = [
        ContentPublished(brand_slug="daily-grind", content_id=each, published_url=f"http://site.test/{each}")
        for each in ids
        if each
    ]
    announced = [
        ContentGenerated(brand_slug="daily-grind", content_id=each, keyword=keyword, word_count=4)
        for each, keyword in zip(ids, keywords, strict=True)
        if each
    ]
    await handle(orchestrator_database, *(message_of(each, correlation) for each in announced))
    await handle(
        orchestrator_database, *(message_of(each, correlation) for each in (*pages, *announced, *pages))
    )
    posts = [
        SocialPosted(
            brand_slug="daily-grind", content_id=each, platform=platform, post_url="http://post.test/"
        )
        for each in ids
        if each
        for platform in ("feed", "x")
    ]
    await handle(orchestrator_database, *(message_of(each, correlation) for each in posts))

    rows = await rows_of(orchestrator_database, cycle)
    assert {row.facts.state for row in rows} == {KeywordState.COMPLETED}
    assert await sent(orchestrator_database) == {
        "research.requested": 3,
        "content.generate": 3,
        "content.publish": 3,
        "social.create": 3,
        "cycle.completed": 1,
    }
    async with orchestrator_database.connection() as connection:
        correlations = await connection.fetch("select distinct correlation_id from outbox")
        content = await find_content(connection, ids[0] or UUID(int=0))
    assert [row["correlation_id"] for row in correlations] == [correlation]
    assert content is not None
    assert content.published_url == f"http://site.test/{ids[0]}"


async def test_events_about_nothing_of_ours_are_let_go(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    await begin(orchestrator_database, "cold brew", slug="other-brand")

    await handle(
        orchestrator_database,
        message_of(researched("cold brew"), "somebody else's"),
        message_of(researched("cold brew")),
        message_of(researched("another keyword"), cycle.correlation_id),
        message_of(researched("cold brew", "other-brand"), cycle.correlation_id),
        message_of(researched("cold brew", "unknown-brand"), cycle.correlation_id),
        message_of(
            ContentGenerated(
                brand_slug="daily-grind", content_id=UUID(int=3), keyword="cold brew", word_count=1
            )
        ),
        message_of(
            DeadLetterRecorded(dead_event_id=UUID(int=4), queue="social-commands", reason="exhausted"),
            cycle.correlation_id,
        ),
    )

    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.QUEUED
    assert set(await sent(orchestrator_database)) == {"research.requested"}


async def test_a_dead_letter_fails_its_keyword_and_a_late_success_takes_it_up_again(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew", "pour over")
    recorded = DeadLetterRecorded(
        dead_event_id=UUID(int=4),
        queue="research-commands",
        message_type="research.requested",
        reason="exhausted",
        detail="the corpus is away",
        keyword="cold brew",
    )

    await handle(orchestrator_database, message_of(recorded, cycle.correlation_id))
    failed, other = await rows_of(orchestrator_database, cycle)
    assert failed.facts.state is KeywordState.FAILED
    assert failed.facts.reason == "dead letter on research-commands: exhausted: the corpus is away"
    assert other.facts.state is KeywordState.QUEUED

    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    resumed, _ = await rows_of(orchestrator_database, cycle)
    assert resumed.facts.state is KeywordState.WRITING


async def test_two_replicas_decide_about_one_brand_one_after_the_other(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    brands = ["brand-a", "brand-b", "brand-c"]
    cycles = [await begin(orchestrator_database, "cold brew", slug=slug) for slug in brands]
    events = [
        message_of(researched("cold brew", slug), cycle.correlation_id)
        for slug, cycle in zip(brands, cycles, strict=True)
    ]

    # The same news in opposite orders: without one order of locking this would deadlock sooner or later.
    async with asyncio.timeout(60):
        await asyncio.gather(
            *(
                handle(orchestrator_database, *(events if number % 2 else reversed(events)))
                for number in range(8)
            )
        )

    assert (await sent(orchestrator_database))["content.generate"] == 3


async def test_a_held_brand_delays_its_decisions_and_new_cycles_but_not_those_of_others(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    event = message_of(researched("cold brew"), cycle.correlation_id)
    async with orchestrator_database.transaction() as holder:
        await store.lock_brands_of(holder.connection, [cycle.correlation_id], [])
        waiting = asyncio.create_task(handle(orchestrator_database, event))
        wanted = NewCycle(
            CycleId(new_event_id()),
            "another",
            BrandSlug("daily-grind"),
            Priority.NORMAL,
            ("tea",),
            None,
            b"digest",
        )
        beginning = asyncio.create_task(begin_cycle(orchestrator_database, wanted))
        async with asyncio.timeout(30):
            await begin(orchestrator_database, "tea", slug="other-brand")
        assert not waiting.done()
        assert not beginning.done()

    await waiting
    assert (await beginning).progress.queued == 1
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.WRITING


async def test_refused_research_ends_the_keyword_with_its_reason(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "chocolate cake")
    refusal = ResearchFailed(
        brand_slug="daily-grind", keyword="chocolate cake", reason="insufficient_sources", detail="0 of 3"
    )

    await handle(orchestrator_database, message_of(refusal, cycle.correlation_id))

    (row,) = await rows_of(orchestrator_database, cycle)
    assert (row.facts.state, row.facts.reason) == (KeywordState.REFUSED, "insufficient_sources: 0 of 3")
    assert (await view_of(orchestrator_database, cycle)).state is CycleState.FAILED


async def test_a_draft_that_waits_ends_its_keyword_visibly_and_nothing_is_sent(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    cycle = await begin(orchestrator_database, "cold brew", "moka pot")
    await handle(orchestrator_database, message_of(researched("cold brew"), cycle.correlation_id))
    content_id = (await rows_of(orchestrator_database, cycle))[0].facts.content_id
    assert content_id is not None
    before = await sent(orchestrator_database)
    held = ContentRefused(
        brand_slug="daily-grind",
        content_id=content_id,
        keyword="cold brew",
        reason="needs_review",
        detail="231 words, of at least 250",
    )

    for _ in range(2):
        await handle(orchestrator_database, message_of(held, cycle.correlation_id))

    rows = await rows_of(orchestrator_database, cycle)
    assert rows[0].facts.state is KeywordState.NEEDS_REVIEW
    assert rows[0].facts.reason == "needs_review: 231 words, of at least 250"
    view = await view_of(orchestrator_database, cycle)
    assert (view.pending, view.failed, view.needs_review, view.total) == (1, 1, 1, 2)
    assert await sent(orchestrator_database) == before
    async with orchestrator_database.connection() as connection:
        stored = await connection.fetchrow(
            "select state, setbacks from keywords where content_id = $1", content_id
        )
    assert stored["state"] == "needs_review"
    # What the version before takes a setback to be: it reads these two, and no others.
    assert json.loads(stored["setbacks"]) == {"writing": {"reason": rows[0].facts.reason, "refused": True}}

    # A reviewer's word, whenever there is one: the article is announced, and goes its way.
    await write_article(orchestrator_database, content_id)
    announced = ContentGenerated(
        brand_slug="daily-grind", content_id=content_id, keyword="cold brew", word_count=4
    )
    await handle(orchestrator_database, message_of(announced, cycle.correlation_id))
    assert (await sent(orchestrator_database))["content.publish"] == 1


@pytest.mark.parametrize(
    ("completed", "failed", "state"),
    [(0, 2, "running"), (2, 0, "running"), (2, 1, "completed"), (3, 0, "completed"), (0, 3, "failed")],
)
def test_a_cycle_of_which_nothing_came_has_failed(completed: int, failed: int, state: str) -> None:
    progress = Progress(completed=completed, failed=failed, queued=3 - completed - failed)
    assert cycle_state(progress, paused=False) == state


async def test_a_thousand_keywords_are_taken_and_routed(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    keywords = [f"keyword {number}" for number in range(1000)]
    async with asyncio.timeout(30):
        cycle = await begin(orchestrator_database, *keywords)
    assert cycle.progress.total == 1000

    async with asyncio.timeout(60):
        for start in range(0, 1000, 100):
            batch = [
                message_of(researched(each), cycle.correlation_id) for each in keywords[start : start + 100]
            ]
            await handle(orchestrator_database, *batch)

    # Of one brand no more at a time: see test_cycles_turns.py.
    assert await sent(orchestrator_database) == {"research.requested": 64, "content.generate": 16}


async def test_articles_of_one_brand_get_different_addresses(orchestrator_database: Database) -> None:
    await begin(orchestrator_database, "cold brew")
    ids = [new_event_id() for _ in range(4)]

    await asyncio.gather(*(write_article(orchestrator_database, each) for each in ids))
    await write_article(orchestrator_database, ids[0])

    async with orchestrator_database.connection() as connection:
        slugs = [row["slug"] for row in await connection.fetch("select slug from content order by slug")]
    assert slugs == ["cold-brew", "cold-brew-2", "cold-brew-3", "cold-brew-4"]


def housekeeping(database: Database, *, stall: float = 3600, keep: float = 3600) -> Housekeeping:
    return Housekeeping(
        database,
        stall_after=timedelta(seconds=stall),
        keep_cycles=timedelta(seconds=keep),
        longest_sleep=timedelta(hours=1),
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
        # The very same command, so that nobody who has the first, or had it, does anything twice.
        assert sent_twice == [sent_twice[0]] * asked

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
    """Nobody knows the ids of its commands: another id would be another request, and be paid for again."""
    cycle = await begin(orchestrator_database, "cold brew")
    async with orchestrator_database.connection() as connection:
        await connection.execute("update keywords set command_id = null, command_stage = null")
    await grow_old(orchestrator_database, "cold brew")
    await housekeeping(orchestrator_database).tidy()

    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.reason == "no outcome after 1 hour in research"
    assert len(await requests(orchestrator_database, "cold brew")) == 1


async def test_the_reaper_leaves_a_brand_alone_that_someone_decides_about(
    orchestrator_database: Database,
) -> None:
    cycle = await begin(orchestrator_database, "cold brew")
    async with orchestrator_database.connection() as connection:
        await connection.execute("update keywords set moved_at = moved_at - interval '2 hours'")

    async with orchestrator_database.transaction() as holder:
        await store.lock_brands_of(holder.connection, [cycle.correlation_id], [])
        async with asyncio.timeout(30):
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
