"""Keywords on one subject, on a real database: one article, and every keyword ends with it."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
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
from messaging import Database
from orchestrator.brands import BrandSlug, find_brand, upsert_brand
from orchestrator.cycles import (
    Cycle,
    CycleId,
    Housekeeping,
    KeywordRow,
    NewCycle,
    Room,
    begin_cycle,
    control,
    route,
    store,
)
from orchestrator.cycles.facts import KeywordState
from orchestrator.cycles.models import CycleView, KeywordView
from orchestrator.cycles.turns import give_overlooked_turns
from orchestrator.subjects import Candidate, take_in_hand
from orchestrator.writing import Article, Source
from orchestrator.writing.approval import wish_to_see
from orchestrator.writing.store import insert_content

MessageOf = Callable[..., DomainMessage[Any]]
ROOM = Room(research=4, articles=4)
BRAND = "daily-grind"


class Desk:
    """Cycles of one brand, and the messages that pass by."""

    def __init__(self, database: Database, message_of: MessageOf) -> None:
        self.database = database
        self._message_of = message_of

    async def hand_in(self, *keywords: str, room: Room = ROOM) -> Cycle:
        wanted = NewCycle(
            CycleId(new_event_id()),
            str(new_event_id()),
            BrandSlug(BRAND),
            Priority.NORMAL,
            keywords,
            None,
            b"",
        )
        return await begin_cycle(self.database, wanted, room)

    async def tell(self, *payloads: Payload, cycle: Cycle | None = None) -> None:
        chain = None if cycle is None else cycle.correlation_id
        async with self.database.transaction() as tx:
            await route([self._message_of(each, chain) for each in payloads], tx, room=ROOM)

    async def asked(self) -> list[str]:
        """The keywords that were sent to research, in their order."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "select convert_from(body, 'utf8')::json #>> '{payload,keyword}' as keyword from outbox"
                " where type = 'research.requested' order by event_id"
            )
        return [row["keyword"] for row in rows]

    async def rows(self, cycle: Cycle) -> list[KeywordRow]:
        async with self.database.connection() as connection:
            return await store.keywords_of(connection, cycle.cycle_id, limit=1000)

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
                sources=[Source(n=1, title="A source", passages=())],
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
            slug=BRAND,
            name="The Daily Grind",
            description="",
            language="en",
            channels=[],
            target="site",
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


async def test_a_keyword_whose_article_stands_ends_with_it_and_is_researched_no_more(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    content_id, url = await desk.publish(first, "cold brew")

    again = await desk.hand_in("Cold-Brews", "pour over")

    standing, other = await desk.seen(again)
    assert (standing.state, standing.content_id, standing.published_url) == ("completed", content_id, url)
    assert standing.reason == f"“cold brew” is the same subject: its article stands already ({url})"
    assert other.state == "queued"
    assert await desk.asked() == ["cold brew", "pour over"]
    view = await desk.view(again)
    assert (view.completed, view.pending, view.percent) == (1, 1, 50)


async def test_a_double_click_makes_one_article_and_both_end_with_it(desk: Desk) -> None:
    cycles = [await desk.hand_in("cold brew", "cold brews", "moka pot") for _ in range(3)]
    assert await desk.asked() == ["cold brew", "moka pot"]
    waiting = (await desk.seen(cycles[2]))[0]
    assert waiting.waits == f"waits for “cold brew” on the same subject (/v1/cycles/{cycles[0].cycle_id})"
    assert (await desk.view(cycles[2])).not_sent == 3

    content_id, url = await desk.publish(cycles[0], "cold brew")
    await desk.publish(cycles[0], "moka pot")

    for cycle in cycles:
        assert (await desk.view(cycle)).state == "completed"
        for each in (await desk.seen(cycle))[:2]:
            assert (each.state, each.content_id, each.published_url) == ("completed", content_id, url)
    assert await desk.asked() == ["cold brew", "moka pot"]


async def test_who_waits_for_another_keyword_takes_no_room_from_others(desk: Desk) -> None:
    await desk.hand_in("cold brew")
    await desk.hand_in(*(f"cold brew{'!' * count}" for count in range(1, 9)))

    await desk.hand_in("one", "two", "three", "four")

    assert await desk.asked() == ["cold brew", "one", "two", "three"]


async def test_a_long_list_of_what_stands_already_ends_in_one_go(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    await desk.publish(first, "cold brew")

    again = await desk.hand_in(*(f"cold brew{'!' * count}" for count in range(60)), "pour over")

    assert Counter(await desk.states(again)) == {"completed": 60, "queued": 1}
    assert await desk.asked() == ["cold brew", "pour over"]


async def test_what_stands_already_takes_nothing_of_what_a_brand_begins_in_a_day(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    await desk.publish(first, "cold brew")
    async with desk.database.connection() as connection:
        await connection.execute("update brands set articles_per_day = 1, released_at = null")

    again = await desk.hand_in("cold brews", "pour over", "moka pot")

    assert await desk.states(again) == ["completed", "queued", "queued"]
    assert await desk.asked() == ["cold brew", "pour over"]


async def test_a_draft_that_waits_for_a_person_is_the_article_of_its_subject(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")
    content_id = await desk.write(first, "cold brew", held_for="its brand wants to see it")

    (waited,) = await desk.seen(second)

    assert (waited.state, waited.content_id, waited.published_url) == ("completed", content_id, None)
    assert await desk.ends_told() == {str(first.cycle_id): "failed", str(second.cycle_id): "completed"}
    assert waited.reason == (
        f"“cold brew” is the same subject: its article waits to be published (/v1/drafts/{content_id})"
    )


async def test_what_research_found_too_little_on_is_refused_to_all_who_wait_and_may_be_tried_again(
    desk: Desk,
) -> None:
    first = await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")

    await desk.refuse(first, "cold brew")

    (waited,) = await desk.seen(second)
    assert waited.state == "refused"
    assert waited.reason == "as “cold brew”, the same subject: insufficient_sources: nothing there"
    (row,) = await desk.rows(second)
    assert (row.facts.state, row.facts.reason) == (KeywordState.REFUSED, waited.reason)
    await desk.hand_in("cold brews")
    assert await desk.asked() == ["cold brew", "cold brews"]


async def test_of_those_that_wait_for_one_that_failed_one_is_tried_and_the_rest_fail_with_it(
    desk: Desk,
) -> None:
    cycle = await desk.hand_in("cold brew", "cold brews", "coldbrew", "cold-brew")

    await desk.lose(cycle, "cold brew")
    assert await desk.asked() == ["cold brew", "cold brews"]
    assert await desk.states(cycle) == ["failed", "queued", "queued", "queued"]

    await desk.lose(cycle, "cold brews")
    assert await desk.asked() == ["cold brew", "cold brews"]
    assert await desk.states(cycle) == ["failed"] * 4
    assert (await desk.seen(cycle))[3].reason == (
        "as “cold brews”, the same subject: dead letter on research-commands: exhausted"
    )
    assert (await desk.view(cycle)).state == "failed"


async def test_when_the_first_is_cancelled_the_next_takes_its_turn(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")
    await control.cancel_cycle(desk.database, first.cycle_id, None, ROOM)
    # It is at research, and ends when that has answered.
    assert await desk.asked() == ["cold brew"]

    await desk.tell(
        ResearchCompleted(brand_slug=BRAND, research_id=UUID(int=7), keyword="cold brew"), cycle=first
    )

    assert await desk.states(first) == ["cancelled"]
    assert await desk.asked() == ["cold brew", "cold brews"]
    await desk.publish(second, "cold brews")
    assert await desk.states(second) == ["completed"]


async def test_who_waits_for_another_keyword_can_be_cancelled_and_is_not_taken_for_stalled(
    desk: Desk,
) -> None:
    await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")
    housekeeping = Housekeeping(
        desk.database,
        stall_after=timedelta(hours=6),
        keep_cycles=timedelta(days=90),
        longest_sleep=timedelta(hours=1),
        room=ROOM,
    )
    async with desk.database.connection() as connection:
        await connection.execute("update keywords set moved_at = now() - interval '7 hours' where follows")
    assert await housekeeping.look_after_stalled() == 0

    await control.cancel_cycle(desk.database, second.cycle_id, None, ROOM)

    assert await desk.states(second) == ["cancelled"]
    (row,) = await desk.rows(second)
    assert row.facts.state is KeywordState.CANCELLED
    assert not row.facts.follows


async def test_a_paused_cycle_keeps_no_other_from_the_subject(desk: Desk) -> None:
    await control.pause_brand(desk.database, BRAND)
    first = await desk.hand_in("cold brew")
    await control.pause_cycle(desk.database, first.cycle_id, None)
    await control.resume_brand(desk.database, BRAND, ROOM)

    second = await desk.hand_in("cold brews")
    assert await desk.asked() == ["cold brews"]
    await desk.publish(second, "cold brews")
    await control.resume_cycle(desk.database, first.cycle_id, None, ROOM)

    assert await desk.states(first) == ["completed"]
    assert await desk.asked() == ["cold brews"]


async def test_what_a_person_rejected_or_took_down_may_be_written_again_and_then_waits(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    content_id, _ = await desk.publish(first, "cold brew")
    await desk.decide(content_id, "taken_down")

    second = await desk.hand_in("cold brews")

    assert await desk.asked() == ["cold brew", "cold brews"]
    assert await desk.states(second) == ["queued"]
    async with desk.database.connection() as connection:
        brand = await find_brand(connection, BRAND)
        assert brand is not None
        (why,) = await wish_to_see(connection, brand, "Cold Brews")
    assert why == f"a person rejected an article on its subject, or took it down (/v1/drafts/{content_id})"


async def test_articles_of_the_version_before_and_of_cycles_long_gone_stand(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    content_id, _ = await desk.publish(first, "cold brew")
    async with desk.database.connection() as connection:
        assert await connection.fetchval("select subject from content") is None
        await connection.execute("delete from cycles")

    again = await desk.hand_in("cold brews")

    (seen,) = await desk.seen(again)
    assert (seen.state, seen.content_id) == ("completed", content_id)


async def test_what_a_replica_of_the_version_before_brought_about_is_noticed(desk: Desk) -> None:
    first = await desk.hand_in("cold brew")
    second = await desk.hand_in("cold brews")
    content_id = await desk.write(first, "cold brew")
    async with desk.database.connection() as connection:
        # It knows nothing of those that wait.
        await connection.execute(
            "update content set published_url = 'http://site.test/cold-brew' where content_id = $1",
            content_id,
        )

    await give_overlooked_turns(desk.database, ROOM)

    assert await desk.states(second) == ["completed"]


async def test_of_many_who_hand_in_one_subject_at_once_one_is_sent(desk: Desk) -> None:
    spellings = ("cold brew", "Cold Brews", "cold-brew", "COLD BREW", "coldbrew", "cold  brew?")
    cycles = await asyncio.gather(*(desk.hand_in(each) for each in spellings))

    (sent,) = await desk.asked()
    (cycle,) = [each for each in cycles if (await desk.rows(each))[0].keyword == sent]
    content_id, _ = await desk.publish(cycle, sent)

    for each in cycles:
        (seen,) = await desk.seen(each)
        assert (seen.state, seen.content_id) == ("completed", content_id)


async def test_the_key_of_the_table_alone_keeps_two_from_one_subject(desk: Desk) -> None:
    await control.pause_brand(desk.database, BRAND)
    cycle = await desk.hand_in("cold brew", "cold brews")
    candidates = [
        Candidate(BRAND, "en", (cycle.cycle_id, position), keyword)
        for position, keyword in enumerate(("cold brew", "cold brews"), start=1)
    ]
    begun = asyncio.Event()

    async def take(candidate: Candidate, *, first: bool) -> int:
        # Nobody holds the brand's lock.
        async with desk.database.transaction() as tx:
            now = await tx.connection.fetchval("select clock_timestamp()")
            if not first:
                await begun.wait()
            taken, _ = await take_in_hand(tx.connection, [candidate], {BRAND: 1}, now=now)
            begun.set()
            return len(taken)

    assert sorted(
        await asyncio.gather(take(candidates[0], first=True), take(candidates[1], first=False))
    ) == [0, 1]
