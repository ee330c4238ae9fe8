"""Events on a real database: the router's changes and messages, and the decisions allowed in each state."""

import asyncio
import json
from uuid import UUID

import pytest

from envelope import new_event_id
from envelope.brand.payloads import (
    ContentGenerated,
    ContentPublished,
    ContentRefused,
    DeadLetterRecorded,
    Priority,
    ResearchFailed,
    SocialPosted,
)
from messaging import Database
from orchestrator.article_workflow.store import find_content
from orchestrator.brands import BrandSlug
from orchestrator.cycles import CycleId, NewCycle, begin_cycle, store
from orchestrator.cycles.facts import CycleProgress, CycleState, KeywordState, cycle_state
from tests.fixtures.orchestrator.cycles import (
    MessageOf,
    begin,
    handle,
    researched,
    rows_of,
    sent,
    view_of,
    write_article,
)


@pytest.mark.extended
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
        async with asyncio.timeout(60):
            await begin(orchestrator_database, "tea", slug="other-brand")
        assert not waiting.done()
        assert not beginning.done()

    await waiting
    assert (await beginning).progress.queued == 1
    (row,) = await rows_of(orchestrator_database, cycle)
    assert row.facts.state is KeywordState.WRITING


@pytest.mark.parametrize(("keywords", "plans"), [(100, (1, 0)), (101, (0, 1))])
async def test_few_keywords_are_handed_in_with_kept_plans_and_many_with_their_own(
    orchestrator_database: Database, keywords: int, plans: tuple[int, int]
) -> None:
    await begin(orchestrator_database, *(f"tea number {number}" for number in range(keywords)))
    async with orchestrator_database.connection() as connection:
        row = await connection.fetchrow(
            "select generic_plans, custom_plans from pg_prepared_statements where ltrim(statement, E' \\n') like $1",
            "insert into keywords %",
        )
    assert tuple(row) == plans


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


async def test_a_draft_that_waits_is_shown_as_waiting_and_nothing_is_sent(
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
    assert (view.pending, view.failed, view.waiting, view.needs_review, view.total) == (1, 0, 1, 1, 2)
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
    ("progress", "state"),
    [
        (CycleProgress(needs_review=3), "waiting"),
        (CycleProgress(needs_review=1, completed=1, failed=1, cancelled=1), "waiting"),
        (CycleProgress(needs_review=2, publishing=1), "running"),
        (CycleProgress(needs_review=2, queued=1, awaiting_research=1), "running"),
    ],
)
def test_a_cycle_waits_when_all_that_is_left_waits_for_a_person(progress: CycleProgress, state: str) -> None:
    assert cycle_state(progress, paused=False) == state
    assert cycle_state(progress, paused=True) == ("paused" if state == "running" else state)


@pytest.mark.parametrize(
    ("completed", "failed", "state"),
    [(0, 2, "running"), (2, 0, "running"), (2, 1, "completed"), (3, 0, "completed"), (0, 3, "failed")],
)
def test_a_cycle_of_which_nothing_came_has_failed(completed: int, failed: int, state: str) -> None:
    progress = CycleProgress(completed=completed, failed=failed, queued=3 - completed - failed)
    assert cycle_state(progress, paused=False) == state


async def test_a_thousand_keywords_are_taken_and_routed(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    keywords = [f"keyword {number}" for number in range(1000)]
    async with asyncio.timeout(60):
        cycle = await begin(orchestrator_database, *keywords)
    assert cycle.progress.total == 1000

    async with asyncio.timeout(60):
        for start in range(0, 1000, 100):
            batch = [
                message_of(researched(each), cycle.correlation_id) for each in keywords[start : start + 100]
            ]
            await handle(orchestrator_database, *batch)

    # Of one brand no more at a time: see test_cycles_dispatch.py.
    assert await sent(orchestrator_database) == {"research.requested": 64, "content.generate": 16}


async def test_articles_of_one_brand_get_different_addresses(orchestrator_database: Database) -> None:
    await begin(orchestrator_database, "cold brew")
    ids = [new_event_id() for _ in range(4)]

    await asyncio.gather(*(write_article(orchestrator_database, each) for each in ids))
    await write_article(orchestrator_database, ids[0])

    async with orchestrator_database.connection() as connection:
        slugs = [row["slug"] for row in await connection.fetch("select slug from content order by slug")]
    assert slugs == ["cold-brew", "cold-brew-2", "cold-brew-3", "cold-brew-4"]
