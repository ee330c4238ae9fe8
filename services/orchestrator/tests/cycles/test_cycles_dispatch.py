"""Brands take turns at the writers: of each only so many articles are in hand, and the next begins when one has ended."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from envelope import DomainMessage, Payload, new_event_id
from envelope.brand.payloads import (
    ContentGenerated,
    ContentRefused,
    DeadLetterRecorded,
    Priority,
    ResearchCompleted,
    ResearchWaiting,
)
from envelope.brand.settings import BrandSettings
from messaging import Database
from orchestrator.article_workflow.durable import DeliveredCommand, claim_article, release_to_wait
from orchestrator.brands import BrandSlug, upsert_brand
from orchestrator.cycles import (
    BrandLimits,
    Cycle,
    CycleId,
    Housekeeping,
    NewCycle,
    begin_cycle,
    keyword_rows,
    note_waits,
    route,
    store,
)
from orchestrator.cycles.dispatch import dispatch_overlooked
from orchestrator.cycles.models import NOT_ITS_TURN, CycleView

AT_ONCE = 4
LIMITS = BrandLimits(articles=AT_ONCE)
MessageOf = Callable[..., DomainMessage[Any]]


class Desk:
    """Cycles of some brands, and the messages that pass by."""

    def __init__(self, database: Database, message_of: MessageOf) -> None:
        self._database = database
        self._message_of = message_of
        self.cycles: dict[str, Cycle] = {}

    async def hand_in(self, slug: str, count: int) -> None:
        async with self._database.transaction() as tx:
            await upsert_brand(
                tx.connection,
                slug,
                BrandSettings(name=slug),
            )
        keywords = tuple(f"{slug} {number:02}" for number in range(count))
        wanted = NewCycle(
            CycleId(new_event_id()),
            str(new_event_id()),
            BrandSlug(slug),
            Priority.NORMAL,
            keywords,
            None,
            b"digest",
        )
        cycle = self.cycles[slug] = await begin_cycle(self._database, wanted, LIMITS)
        await self.tell(
            *(ResearchCompleted(brand_slug=slug, research_id=UUID(int=7), keyword=each) for each in keywords),
            chain=cycle.correlation_id,
        )

    async def tell(self, *payloads: Payload, chain: str | None = None) -> None:
        async with self._database.transaction() as tx:
            await route([self._message_of(each, chain) for each in payloads], tx, limits=LIMITS)

    async def asked(self) -> Counter[str]:
        """Keywords with commands to write their article, and the number of commands."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                "select convert_from(body, 'utf8')::json #>> '{payload,keyword}' as keyword from outbox"
                " where type = 'content.generate'"
            )
        return Counter(row["keyword"] for row in rows)

    async def rows(self, slug: str) -> list[keyword_rows.KeywordRow]:
        async with self._database.connection() as connection:
            return await keyword_rows.keywords_of(connection, self.cycles[slug].cycle_id)

    async def view(self, slug: str) -> CycleView:
        async with self._database.connection() as connection:
            cycle = await store.find_cycle(connection, self.cycles[slug].cycle_id)
        assert cycle is not None
        return CycleView.of(cycle, await self.rows(slug))

    async def under_way(self, slug: str) -> list[keyword_rows.KeywordRow]:
        return [
            row for row in await self.rows(slug) if row.facts.state == "writing" and not row.facts.awaits_turn
        ]


def ended(row: keyword_rows.KeywordRow, how: int) -> Payload:
    """One of the ways in which the writing of an article ends."""
    slug, content_id = row.facts.brand_slug, row.facts.content_id
    assert content_id is not None
    match how % 3:
        case 0:
            return ContentGenerated(
                brand_slug=slug, content_id=content_id, keyword=row.keyword, word_count=300
            )
        case 1:
            return ContentRefused(
                brand_slug=slug,
                content_id=content_id,
                keyword=row.keyword,
                reason="insufficient_sources",
                detail="",
            )
        case _:
            return DeadLetterRecorded(
                dead_event_id=new_event_id(),
                message_type="content.generate",
                queue="orchestrator-commands",
                reason="exhausted",
                detail="",
                brand_slug=slug,
                content_id=content_id,
                keyword=row.keyword,
            )


async def test_a_brand_with_many_keywords_leaves_room_for_another(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    desk = Desk(orchestrator_database, message_of)
    await desk.hand_in("many", 30)
    await desk.hand_in("few", 3)

    assert sorted(await desk.asked()) == [
        "few 00",
        "few 01",
        "few 02",
        *(f"many {n:02}" for n in range(AT_ONCE)),
    ]
    view = await desk.view("many")
    assert [each.waits for each in view.keywords] == [None] * AT_ONCE + [NOT_ITS_TURN] * (30 - AT_ONCE)


async def test_each_keyword_gets_one_turn_however_those_before_it_end(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    desk = Desk(orchestrator_database, message_of)
    await desk.hand_in("many", 14)
    how = 0
    while under_way := await desk.under_way("many"):
        assert len(under_way) <= AT_ONCE
        # Everything twice, as it may come.
        events = [ended(row, how + place) for place, row in enumerate(under_way[:3])]
        await desk.tell(*events, *events, chain=desk.cycles["many"].correlation_id)
        how += 1

    asked = await desk.asked()
    assert sorted(asked) == [f"many {number:02}" for number in range(14)]
    assert set(asked.values()) == {1}


async def test_a_keyword_that_waits_is_not_taken_for_stalled_and_gets_the_turn_of_one_that_is(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    desk = Desk(orchestrator_database, message_of)
    await desk.hand_in("many", AT_ONCE + 2)
    first, second, *_ = await desk.under_way("many")
    async with orchestrator_database.connection() as connection:
        await connection.execute("update keywords set moved_at = now() - interval '2 hours'")
        # One of them is known to wait: the budget of the day is spent.
        assert second.facts.content_id is not None
        command = DeliveredCommand(second.facts.content_id, new_event_id(), revision=None, attempt=1)
        await claim_article(connection, command, timedelta(minutes=10))
        await release_to_wait(connection, command, "waits for money", timedelta(minutes=10))

    housekeeping = Housekeeping(
        orchestrator_database,
        stall_after=timedelta(hours=1),
        keep_cycles=timedelta(days=1),
        limits=LIMITS,
    )
    await housekeeping.tidy()
    assert Counter((await desk.asked()).values()) == {2: AT_ONCE - 1, 1: 1}
    # What was asked for once more is not answered either.
    async with orchestrator_database.connection() as connection:
        await connection.execute(
            "update keywords set moved_at = now() - interval '2 hours' where not awaits_turn"
        )
    await housekeeping.tidy()

    view = await desk.view("many")
    states = {each.keyword: (each.state.value, each.waits) for each in view.keywords}
    assert states == {
        first.keyword: ("failed", None),
        second.keyword: ("writing", "waits for money"),
        "many 02": ("failed", None),
        "many 03": ("failed", None),
        "many 04": ("writing", None),
        "many 05": ("writing", None),
    }
    assert Counter((await desk.asked()).values()) == {2: AT_ONCE - 1, 1: 3}


async def test_what_waits_for_money_keeps_no_room_from_what_does_not(
    orchestrator_database: Database, message_of: MessageOf
) -> None:
    limits = BrandLimits(research=3)
    desk = Desk(orchestrator_database, message_of)
    await desk.hand_in("paid", 0)
    keywords = tuple(f"keyword {letter}" for letter in "abcdefghij")
    wanted = NewCycle(
        CycleId(new_event_id()), "chain", BrandSlug("paid"), Priority.NORMAL, keywords, None, b"digest"
    )
    await begin_cycle(orchestrator_database, wanted, limits)

    async def asked_after(*waiting: str) -> list[str]:
        until = datetime.now(UTC) + timedelta(hours=1)
        told = [
            message_of(
                ResearchWaiting(brand_slug="paid", keyword=each, waits_for="the budget", until=until), "chain"
            )
            for each in waiting
        ]
        async with orchestrator_database.transaction() as tx:
            await note_waits(told, tx)
        await dispatch_overlooked(orchestrator_database, limits)
        async with orchestrator_database.connection() as connection:
            rows = await connection.fetch(
                "select keyword from keywords where not awaits_turn order by position"
            )
        return [row["keyword"] for row in rows]

    assert await asked_after() == list(keywords[:3])
    assert await asked_after("keyword a", "keyword b") == list(keywords[:5])
    # Those that wait are not let pile up: no more of them are set aside than there is room for.
    assert await asked_after(*keywords[:5]) == list(keywords[:6])
    assert await asked_after(*keywords[:6]) == list(keywords[:6])
