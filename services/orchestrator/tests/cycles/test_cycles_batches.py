"""Big batches: their order, speed and limits; reported progress agrees with the rows."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from chassis.database import migrations
from envelope import DomainMessage, Payload, new_event_id
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
from envelope.brand.settings import BrandSettings
from messaging import Database
from orchestrator.brands import BrandSlug, upsert_brand
from orchestrator.cycles import (
    BrandLimits,
    Cycle,
    CycleId,
    NewCycle,
    begin_cycle,
    control,
    keyword_rows,
    route,
    store,
)
from orchestrator.cycles.dispatch import dispatch_overlooked, next_release
from orchestrator.cycles.facts import CycleProgress, KeywordState
from orchestrator.cycles.keyword_rows import KeywordRow, load_keywords
from tests.fixtures.explained import ExplainedConnection

MessageOf = Callable[..., DomainMessage[Any]]
LIMITS = BrandLimits(research=4, articles=2)
DAY = timedelta(days=1)


class Batches:
    """Cycles of brands, and what is sent of them."""

    def __init__(self, database: Database, message_of: MessageOf) -> None:
        self.database = database
        self._message_of = message_of

    async def brand(self, slug: str, articles_per_day: int | None = None) -> None:
        async with self.database.transaction() as tx:
            await upsert_brand(
                tx.connection,
                slug,
                BrandSettings(name=slug, articles_per_day=articles_per_day),
            )

    async def submit(
        self, slug: str, *keywords: str, priority: Priority = Priority.NORMAL, key: str | None = None
    ) -> Cycle:
        wanted = NewCycle(
            CycleId(new_event_id()),
            str(new_event_id()),
            BrandSlug(slug),
            priority,
            keywords,
            key,
            b"digest",
        )
        return await begin_cycle(self.database, wanted, LIMITS)

    async def tell(self, *told: tuple[Cycle, Payload]) -> None:
        async with self.database.transaction() as tx:
            events = [self._message_of(payload, cycle.correlation_id) for cycle, payload in told]
            await route(events, tx, limits=LIMITS)

    async def researched(self, cycle: Cycle, *keywords: str) -> None:
        await self.tell(
            *(
                (cycle, ResearchCompleted(brand_slug=cycle.brand_slug, research_id=UUID(int=7), keyword=each))
                for each in keywords
            )
        )

    async def sent(self, message_type: str = "research.requested") -> list[str]:
        """The keywords of the messages of a type, in the order in which they were sent."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "select convert_from(body, 'utf8')::json #>> '{payload,keyword}' as keyword from outbox"
                " where type = $1 order by id",
                message_type,
            )
        return [row["keyword"] for row in rows]

    async def rows(self, cycle: Cycle) -> list[KeywordRow]:
        async with self.database.connection() as connection:
            return await keyword_rows.keywords_of(connection, cycle.cycle_id)

    async def now(self, cycle: Cycle) -> Cycle:
        async with self.database.connection() as connection:
            found = await store.find_cycle(connection, cycle.cycle_id)
        assert found is not None
        return found

    async def counted(self, cycle: Cycle) -> CycleProgress:
        """Progress, counted from the rows."""
        rows = await self.rows(cycle)
        states = Counter(row.facts.state for row in rows)
        waiting = Counter(row.facts.state for row in rows if row.facts.awaits_turn)
        return CycleProgress(
            **{state.value: states[state] for state in KeywordState},
            awaiting_research=waiting[KeywordState.QUEUED],
            awaiting_writing=waiting[KeywordState.WRITING],
            following=sum(row.facts.follows for row in rows),
        )


@pytest.fixture
async def batches(orchestrator_database: Database, message_of: MessageOf) -> Batches:
    made = Batches(orchestrator_database, message_of)
    await made.brand("acme")
    return made


def numbered(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name} {number:02}" for number in range(count))


async def test_what_has_room_is_sent_at_once_and_the_rest_as_research_answers(batches: Batches) -> None:
    cycle = await batches.submit("acme", *numbered("tea", 7))
    assert await batches.sent() == list(numbered("tea", 4))

    await batches.researched(cycle, "tea 01")
    assert await batches.sent() == list(numbered("tea", 5))
    # Two are written; what is researched beyond that takes up room before the writers, and no more is asked for.
    await batches.researched(cycle, "tea 00", "tea 02", "tea 03", "tea 04")
    assert await batches.sent("content.generate") == ["tea 01", "tea 00"]
    assert len(await batches.sent()) == 6


async def test_what_matters_more_overtakes_within_its_brand_and_takes_nothing_from_others(
    batches: Batches,
) -> None:
    await batches.brand("rival")
    slow = await batches.submit("acme", *numbered("slow", 6), priority=Priority.LOW)
    await batches.submit("acme", *numbered("fast", 2), priority=Priority.HIGH)
    await batches.submit("rival", "other", priority=Priority.LOW)
    assert await batches.sent() == [*numbered("slow", 4), "other"]

    await batches.researched(slow, "slow 00", "slow 01")

    assert (await batches.sent())[5:] == ["fast 00", "fast 01"]


async def test_a_keyword_may_matter_more_than_its_cycle(batches: Batches) -> None:
    wanted = NewCycle(
        CycleId(new_event_id()),
        "chain",
        BrandSlug("acme"),
        Priority.NORMAL,
        numbered("tea", 6),
        None,
        b"",
        {"tea 05": Priority.HIGH, "tea 00": Priority.LOW},
    )
    await begin_cycle(batches.database, wanted, LIMITS)

    assert await batches.sent() == ["tea 05", "tea 01", "tea 02", "tea 03"]


async def test_a_rate_holds_on_any_number_of_replicas_and_over_days(batches: Batches) -> None:
    await batches.brand("acme", articles_per_day=4)
    cycle = await batches.submit("acme", *numbered("tea", 3))
    assert await batches.sent() == ["tea 00"]

    async def as_time_goes_by(hours: float) -> list[str]:
        async with batches.database.connection() as connection:
            await connection.execute(
                "update brands set released_at = released_at - $1::interval", timedelta(hours=hours)
            )
        await asyncio.gather(*(dispatch_overlooked(batches.database, LIMITS) for _ in range(4)))
        return await batches.sent()

    assert await as_time_goes_by(5.9) == ["tea 00"]
    async with batches.database.connection() as connection:
        due = await next_release(connection)
    assert due is not None
    assert timedelta() < due <= timedelta(hours=0.1)
    assert await as_time_goes_by(0.2) == ["tea 00", "tea 01"]
    # A day without keywords, or without us, is not made up for: the next ones come no faster.
    assert await as_time_goes_by(48) == ["tea 00", "tea 01", "tea 02"]
    await batches.submit("acme", "coffee")
    await batches.researched(cycle, "tea 00")
    assert await batches.sent() == ["tea 00", "tea 01", "tea 02"]


async def test_a_paused_cycle_sends_nothing_and_loses_nothing(batches: Batches) -> None:
    cycle = await batches.submit("acme", *numbered("tea", 6))
    other = await batches.submit("acme", "coffee")
    for _ in range(2):
        assert (await control.pause_cycle(batches.database, cycle.cycle_id, None)).state == "paused"  # type: ignore[union-attr]

    # What is under way is heard of, and what is paused leaves its room to others.
    await batches.researched(cycle, *numbered("tea", 4))
    assert await batches.sent("content.generate") == []
    assert (await batches.sent())[4:] == ["coffee"]
    assert [row.held_up for row in await batches.rows(cycle)] == ["its cycle is paused"] * 6
    assert (await batches.rows(other))[0].held_up is None

    for _ in range(2):
        resumed = await control.resume_cycle(batches.database, cycle.cycle_id, None, LIMITS)
        assert resumed is not None
        assert resumed.state == "running"
    assert await batches.sent("content.generate") == ["tea 00", "tea 01"]
    assert (await batches.sent())[5:] == ["tea 04"]


async def test_a_paused_brand_accepts_keywords_and_sends_them_when_it_is_resumed(batches: Batches) -> None:
    for _ in range(2):
        assert (await control.pause_brand(batches.database, "acme")).paused_at is not None
    cycle = await batches.submit("acme", "tea", "coffee")
    await dispatch_overlooked(batches.database, LIMITS)
    assert await batches.sent() == []
    assert [row.held_up for row in await batches.rows(cycle)] == ["its brand is paused"] * 2

    for _ in range(2):
        assert (await control.resume_brand(batches.database, "acme", LIMITS)).paused_at is None
    assert await batches.sent() == ["tea", "coffee"]


async def test_a_cancelled_cycle_ends_what_is_not_being_written(batches: Batches) -> None:
    cycle = await batches.submit("acme", *numbered("tea", 7))
    await batches.researched(cycle, *numbered("tea", 3))
    written, _, unwritten, asked, *_ = await batches.rows(cycle)
    assert unwritten.facts.awaits_turn
    other = await batches.submit("acme", "coffee")
    before = await batches.sent()
    for _ in range(2):
        cancelled = await control.cancel_cycle(batches.database, cycle.cycle_id, None, LIMITS)
    assert cancelled is not None
    assert cancelled.state == "running"
    # Two are being written, three are at research, and two will never be.
    assert [row.facts.state.value for row in await batches.rows(cycle)] == [
        "writing",
        "writing",
        "cancelled",
        "queued",
        "queued",
        "queued",
        "cancelled",
    ]
    assert set(await batches.sent()) - set(before) == {"coffee"}

    assert written.facts.content_id is not None
    await batches.researched(cycle, *numbered("tea", 6)[3:])
    refused = ResearchFailed(brand_slug="acme", keyword="tea 04", reason="insufficient_sources", detail="")
    await batches.tell((cycle, refused), (other, refused))
    written_ones = [
        ContentGenerated(
            brand_slug="acme", content_id=row.facts.content_id, keyword=row.keyword, word_count=1
        )
        for row in await batches.rows(cycle)
        if row.facts.state is KeywordState.WRITING and row.facts.content_id
    ]
    await batches.tell(*((cycle, each) for each in written_ones))
    rows = await batches.rows(cycle)
    assert [row.facts.state.value for row in rows] == ["publishing"] * 2 + ["cancelled"] * 5
    assert {row.facts.reason for row in rows[2:]} == {"cancelled"}
    assert rows[asked.position - 1].facts.research_id is not None
    assert sorted(await batches.sent("content.generate")) == ["tea 00", "tea 01"]
    # An article that there is after all is more than that it was not wanted.
    late = ContentGenerated(
        brand_slug="acme", content_id=rows[3].facts.content_id or UUID(int=0), keyword="tea 03", word_count=9
    )
    await batches.tell((cycle, late))
    assert (await batches.rows(cycle))[3].facts.state is KeywordState.PUBLISHING
    assert (await batches.now(cycle)).progress == await batches.counted(cycle)


async def test_a_cancelled_cycle_that_has_ended_is_shown_as_such(batches: Batches) -> None:
    await control.pause_brand(batches.database, "acme")
    cycle = await batches.submit("acme", "tea", "coffee")
    await control.cancel_cycle(batches.database, cycle.cycle_id, None, LIMITS)
    await control.resume_brand(batches.database, "acme", LIMITS)

    ended = await batches.now(cycle)
    assert (ended.state, ended.ended_at is not None, await batches.sent()) == ("cancelled", True, [])
    # Neither can it be paused, nor does anything of it come back.
    await control.pause_cycle(batches.database, cycle.cycle_id, None)
    await control.resume_cycle(batches.database, cycle.cycle_id, None, LIMITS)
    assert ((await batches.now(cycle)).state, await batches.sent()) == ("cancelled", [])


def something_about(row: KeywordRow, rng: random.Random) -> Payload:
    """Any event that may come of a keyword, sensible or late."""
    slug, name = row.facts.brand_slug, row.keyword
    content_id = row.facts.content_id
    if content_id is None or rng.random() < 0.2:
        return rng.choice(
            (
                ResearchCompleted(brand_slug=slug, research_id=UUID(int=7), keyword=name),
                ResearchFailed(brand_slug=slug, keyword=name, reason="insufficient_sources", detail=""),
                DeadLetterRecorded(
                    dead_event_id=new_event_id(),
                    message_type="research.requested",
                    queue="research-commands",
                    reason="exhausted",
                    keyword=name,
                ),
            )
        )
    return rng.choice(
        (
            ContentGenerated(brand_slug=slug, content_id=content_id, keyword=name, word_count=300),
            ContentRefused(
                brand_slug=slug, content_id=content_id, keyword=name, reason="needs_review", detail=""
            ),
            ContentPublished(brand_slug=slug, content_id=content_id, published_url="http://site.test/1"),
            SocialPosted(
                brand_slug=slug, content_id=content_id, platform="feed", post_url="http://post.test/1"
            ),
        )
    )


async def control_something(batches: Batches, cycle: Cycle, rng: random.Random) -> None:
    match rng.randrange(6):
        case 0:
            await control.pause_cycle(batches.database, cycle.cycle_id, None)
        case 1:
            await control.resume_cycle(batches.database, cycle.cycle_id, None, LIMITS)
        case 2 if rng.random() < 0.2:
            await control.cancel_cycle(batches.database, cycle.cycle_id, None, LIMITS)
        case 3:
            await control.pause_brand(batches.database, cycle.brand_slug)
        case _:
            await control.resume_brand(batches.database, cycle.brand_slug, LIMITS)


async def something_happens(batches: Batches, cycle: Cycle, rng: random.Random) -> None:
    rows = await batches.rows(cycle)
    count = rng.randint(1, 6)
    await batches.tell(*((cycle, something_about(rng.choice(rows), rng)) for _ in range(count)))


@pytest.mark.extended
@pytest.mark.parametrize("seed", range(3))
async def test_progress_is_what_the_rows_say_whatever_happens(batches: Batches, seed: int) -> None:
    rng = random.Random(seed)
    await batches.brand("rival", articles_per_day=2000)
    cycles = [await batches.submit(slug, *numbered(slug, 9)) for slug in ("acme", "rival", "acme")]
    for _ in range(25):
        await asyncio.gather(
            something_happens(batches, rng.choice(cycles), rng),
            something_happens(batches, rng.choice(cycles), rng),
            control_something(batches, rng.choice(cycles), rng),
            dispatch_overlooked(batches.database, LIMITS),
        )
        for cycle in cycles:
            told = await batches.now(cycle)
            assert told.progress == await batches.counted(cycle)
            assert (told.ended_at is not None) == (told.progress.ended == told.progress.total)
            assert (told.ended_at is None) == (told.state in {"running", "paused", "waiting"})
    # Stored states are those that follow from the facts, however they came about.
    async with batches.database.connection() as connection:
        for cycle in cycles:
            stored = await connection.fetch(
                "select state, reason from keywords where cycle_id = $1 order by position", cycle.cycle_id
            )
            rows = await batches.rows(cycle)
            assert [tuple(row) for row in stored] == [(row.facts.state, row.facts.reason) for row in rows]


async def test_what_the_version_before_changes_is_counted_too(batches: Batches) -> None:
    """It sends all keywords at once, gives no ranks, and counts nothing."""
    cycle = await batches.submit("acme", "tea")
    async with batches.database.transaction() as tx:
        await tx.connection.execute(
            "insert into keywords (cycle_id, position, keyword) values ($1, 2, 'coffee'), ($1, 3, 'cocoa')",
            cycle.cycle_id,
        )
    assert (await batches.now(cycle)).progress == CycleProgress(queued=3)
    async with batches.database.transaction() as tx:
        await tx.connection.execute(
            "update keywords set state = case position when 1 then 'completed' else 'failed' end"
        )
    ended = await batches.now(cycle)
    assert (ended.progress, ended.state) == (CycleProgress(completed=1, failed=2), "completed")
    assert ended.ended_at is not None


async def test_every_keyword_of_a_big_batch_gets_its_turn_once(batches: Batches) -> None:
    keywords = numbered("tea", 40)
    cycle = await batches.submit("acme", *keywords)
    told: set[str] = set()
    while open_ := [each for each in await batches.sent() if each not in told]:
        told.update(open_)
        refused = (
            ResearchFailed(brand_slug="acme", keyword=each, reason="insufficient_sources", detail="")
            for each in open_
        )
        # Everything twice, as it may come.
        await batches.tell(*((cycle, each) for refusal in refused for each in (refusal, refusal)))

    assert await batches.sent() == list(keywords)
    ended = await batches.now(cycle)
    assert (ended.progress.refused, ended.state) == (40, "failed")
    assert isinstance(ended.ended_at, datetime)


@pytest.mark.extended
async def test_a_keyword_of_a_long_cycle_is_found_without_reading_the_cycle(batches: Batches) -> None:
    long = await batches.submit("acme", *numbered("tea", 1_500))
    async with batches.database.connection() as connection:
        await connection.execute(
            """
            insert into cycles select (jsonb_populate_record(c, jsonb_build_object(
                'cycle_id', gen_random_uuid(), 'correlation_id', 'short-' || n, 'idempotency_key', null))).*
            from cycles as c, generate_series(1, 3000) as n
            """
        )
        await connection.execute(
            "insert into keywords (cycle_id, position, keyword) select cycle_id, n, 'coffee ' || n"
            " from cycles, generate_series(1, 3) as n where correlation_id like 'short-%'"
        )
        await connection.execute("analyze cycles; analyze keywords; set enable_seqscan = off")
        explained: Any = ExplainedConnection(connection)
        (name,) = numbered("tea", 1_500)[700:701]
        (found,) = await load_keywords(explained, [(long.correlation_id, name)], [])
    assert (found.keyword, found.cycle_id) == (name, long.cycle_id)
    assert ("Index Only Scan", "keywords_by_name") in explained.scans
    assert explained.rows_read < 20


async def test_a_cycle_that_the_version_before_ended_with_drafts_waits_for_them_after_the_upgrade(
    batches: Batches,
) -> None:
    cycles = [await batches.submit("acme", f"{number}") for number in range(3)]
    migration = (migrations.of_service("orchestrator") / "0053_cycles_wait_for_drafts.sql").read_text()
    upgrade = migration.rpartition("$$;")[2]
    async with batches.database.transaction() as tx:
        for cycle, state in zip(cycles, ("needs_review", "failed", "queued"), strict=True):
            await tx.connection.execute(
                "update keywords set state = $2, awaits_turn = false where cycle_id = $1",
                cycle.cycle_id,
                state,
            )
        await tx.connection.execute("update cycles set ended_at = now() where needs_review > 0")
        for _ in range(2):
            await tx.connection.execute(upgrade)
    told = [await batches.now(cycle) for cycle in cycles]
    assert [each.state for each in told] == ["waiting", "failed", "running"]
    assert [each.ended_at is None for each in told] == [True, False, True]
