"""Keywords of one brand as they pass by, on a real database."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import pytest

from envelope import DomainMessage, Payload, new_event_id
from envelope.brand.payloads import (
    ContentGenerated,
    ContentPublished,
    ContentRefused,
    DeadLetterRecorded,
    Priority,
    ResearchCompleted,
    ResearchFailed,
)
from envelope.brand.settings import BrandSettings
from messaging import Database
from orchestrator.article_workflow.store import insert_content
from orchestrator.brands import BrandSlug, upsert_brand
from orchestrator.cycles import (
    BrandLimits,
    Cycle,
    CycleId,
    KeywordRow,
    NewCycle,
    begin_cycle,
    keyword_rows,
    route,
    store,
)
from orchestrator.cycles.facts import KeywordState
from orchestrator.cycles.models import CycleView, KeywordView
from writing import Article, ArticleSource

MessageOf = Callable[..., DomainMessage[Any]]
LIMITS = BrandLimits(research=4, articles=4)
BRAND = "daily-grind"


class Desk:
    """Cycles of one brand, and the messages that pass by."""

    def __init__(self, database: Database, message_of: MessageOf) -> None:
        self.database = database
        self._message_of = message_of

    async def hand_in(
        self, *keywords: str, limits: BrandLimits = LIMITS, refresh: bool = False, distinct: bool = False
    ) -> Cycle:
        wanted = NewCycle(
            CycleId(new_event_id()),
            str(new_event_id()),
            BrandSlug(BRAND),
            Priority.NORMAL,
            keywords,
            None,
            b"",
            refresh=refresh,
            distinct=frozenset(keywords if distinct else ()),
        )
        return await begin_cycle(self.database, wanted, limits)

    async def tell(self, *payloads: Payload, cycle: Cycle | None = None) -> None:
        chain = None if cycle is None else cycle.correlation_id
        async with self.database.transaction() as tx:
            await route([self._message_of(each, chain) for each in payloads], tx, limits=LIMITS)

    async def asked(self) -> list[str]:
        """The keywords that were sent to research, in their order."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "select convert_from(body, 'utf8')::json #>> '{payload,keyword}' as keyword from outbox"
                " where type = 'research.requested' order by event_id"
            )
        return [row["keyword"] for row in rows]

    async def sent(self, message_type: str) -> list[Any]:
        """The payloads of the messages of a type, in their order."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "select convert_from(body, 'utf8')::json ->> 'payload' as payload from outbox"
                " where type = $1 order by id",
                message_type,
            )
        return [json.loads(row["payload"]) for row in rows]

    async def rows(self, cycle: Cycle) -> list[KeywordRow]:
        async with self.database.connection() as connection:
            return await keyword_rows.keywords_of(connection, cycle.cycle_id, limit=1000)

    async def seen(self, cycle: Cycle) -> list[KeywordView]:
        return [KeywordView.of(row) for row in await self.rows(cycle)]

    async def states(self, cycle: Cycle) -> list[KeywordState]:
        return [each.state for each in await self.seen(cycle)]

    async def view(self, cycle: Cycle) -> CycleView:
        async with self.database.connection() as connection:
            found = await store.find_cycle(connection, cycle.cycle_id)
        assert found is not None
        return CycleView.of(found, await self.rows(cycle))

    async def research(self, cycle: Cycle, keyword: str) -> UUID:
        """Research on it is done; the id of its article."""
        await self.tell(
            ResearchCompleted(brand_slug=BRAND, research_id=UUID(int=7), keyword=keyword), cycle=cycle
        )
        (content_id,) = [row.facts.content_id for row in await self.rows(cycle) if row.keyword == keyword]
        assert content_id is not None
        return content_id

    async def write(self, cycle: Cycle, keyword: str, *, held_for: str | None = None) -> UUID:
        """Its article is stored; it is a draft that waits if there is a reason for that."""
        content_id = await self.research(cycle, keyword)
        async with self.database.transaction() as tx:
            await insert_content(
                tx.connection,
                content_id=content_id,
                brand_slug=BRAND,
                keyword=keyword,
                research_id=UUID(int=7),
                article=Article(keyword, "an-article", "", "## Text\n\nText. [1]", 1, (), (1,)),
                sources=[ArticleSource(n=1, title="A source", passages=())],
                held_for=[held_for] if held_for else [],
            )
        if held_for:
            refused = ContentRefused(
                brand_slug=BRAND,
                content_id=content_id,
                keyword=keyword,
                reason="needs_review",
                detail=held_for,
            )
            await self.tell(refused)
        else:
            await self.tell(
                ContentGenerated(brand_slug=BRAND, content_id=content_id, keyword=keyword, word_count=1)
            )
        return content_id

    async def publish(self, cycle: Cycle, keyword: str) -> tuple[UUID, str]:
        content_id = await self.write(cycle, keyword)
        url = f"http://site.test/{content_id}"
        await self.tell(ContentPublished(brand_slug=BRAND, content_id=content_id, published_url=url))
        return content_id, url

    async def refuse(self, cycle: Cycle, keyword: str) -> None:
        await self.tell(
            ResearchFailed(
                brand_slug=BRAND, keyword=keyword, reason="insufficient_sources", detail="nothing there"
            ),
            cycle=cycle,
        )

    async def lose(self, cycle: Cycle, keyword: str) -> None:
        """Its research has become a dead letter."""
        await self.tell(
            DeadLetterRecorded(
                dead_event_id=new_event_id(),
                queue="research-commands",
                message_type="research.requested",
                reason="exhausted",
                brand_slug=BRAND,
                keyword=keyword,
            ),
            cycle=cycle,
        )

    async def ends_told(self) -> dict[str, str]:
        """What others hear of cycles that have ended."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "select convert_from(body, 'utf8')::json -> 'payload' ->> 'cycle_id' as cycle,"
                " convert_from(body, 'utf8')::json -> 'payload' ->> 'state' as state"
                " from outbox where type = 'cycle.completed'"
            )
        assert len({row["cycle"] for row in rows}) == len(rows)
        return {row["cycle"]: row["state"] for row in rows}

    async def decide(self, content_id: UUID, decision: str) -> None:
        """As a person's decision leaves the article behind."""
        async with self.database.connection() as connection:
            await connection.execute(
                "update content set decision = $2, held_for = '{no}',"
                " taken_down_at = case when $2 = 'taken_down' then now() end where content_id = $1",
                content_id,
                decision,
            )


@pytest.fixture
async def desk(orchestrator_database: Database, message_of: MessageOf) -> AsyncIterator[Desk]:
    async with orchestrator_database.transaction() as tx:
        await upsert_brand(
            tx.connection,
            BRAND,
            BrandSettings(name="The Daily Grind", channels=()),
        )
    desk = Desk(orchestrator_database, message_of)
    yield desk
    await counters_equal_rows(desk.database)


async def counters_equal_rows(database: Database) -> None:
    async with database.connection() as connection:
        rows = await connection.fetch(
            """
            select c.*, (select count(*) from keywords as k where k.cycle_id = c.cycle_id and k.follows) as followers,
                   (select jsonb_object_agg(state, n)::text from (
                       select state, count(*) as n from keywords as k where k.cycle_id = c.cycle_id group by state) as s) as by_state
            from cycles as c
            """
        )
        stale = await connection.fetch("select * from keywords where follows and state <> 'queued'")
    assert not stale
    for row in rows:
        assert row["following"] == row["followers"]
        counted = {state.value: row[state.value] for state in KeywordState if row[state.value]}
        assert counted == json.loads(row["by_state"])
