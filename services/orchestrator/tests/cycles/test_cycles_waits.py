"""What research waits for: shown in the cycle, kept from the reaper, and without effect on anything else."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import (
    DeadLetterRecorded,
    Priority,
    ResearchCompleted,
    ResearchFailed,
    ResearchWaiting,
)
from envelope.brand.settings import BrandSettings
from messaging import Database
from orchestrator.brands import BrandSlug, upsert_brand
from orchestrator.cycles import (
    Cycle,
    CycleId,
    Housekeeping,
    NewCycle,
    begin_cycle,
    keyword_rows,
    note_waits,
    overdue,
    route,
    waiting,
)
from orchestrator.cycles.models import CycleView, KeywordView

MessageOf = Callable[..., DomainMessage[Any]]

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Kitchen:
    """Two keywords of one cycle, at research."""

    def __init__(self, database: Database, message_of: MessageOf, cycle: Cycle) -> None:
        self._database = database
        self._message_of = message_of
        self._cycle = cycle

    def waiting(
        self, until: datetime, *, waits_for: str = "the budget for searches", **other: str
    ) -> DomainMessage[ResearchWaiting]:
        chain = other.pop("chain", self._cycle.correlation_id)
        names = {"brand_slug": "daily-grind", "keyword": "cold brew"} | other
        told = ResearchWaiting(**names, waits_for=waits_for, detail="it is spent\n\x07", until=until)
        return self._message_of(told, chain)

    async def note(self, *events: DomainMessage[ResearchWaiting]) -> None:
        async with self._database.transaction() as tx:
            await note_waits(events, tx)

    async def tell(self, payload: Any) -> None:
        async with self._database.transaction() as tx:
            await route([self._message_of(payload, self._cycle.correlation_id)], tx)

    async def shown(self) -> tuple[KeywordView, KeywordView]:
        async with self._database.connection() as connection:
            rows = await keyword_rows.keywords_of(connection, self._cycle.cycle_id)
        first, second = CycleView.of(self._cycle, rows).keywords
        return first, second

    async def move_back(self, hours: float) -> None:
        """As if nothing had moved for so long, and every wait had ended so much earlier."""
        async with self._database.connection() as connection:
            await connection.execute("update keywords set moved_at = moved_at - $1::interval", hours * HOUR)
            await connection.execute("update research_waits set until = until - $1::interval", hours * HOUR)

    async def reap(self) -> tuple[str, str]:
        async with self._database.connection() as connection:
            # What was asked for once more already fails where it has stalled.
            await connection.execute("update keywords set asked_again = true")
        house = Housekeeping(self._database, stall_after=6 * HOUR, keep_cycles=24 * HOUR)
        await house.tidy()
        first, second = await self.shown()
        return first.state, second.state

    async def gauge(self) -> dict[str, float]:
        async with self._database.connection() as connection:
            return await waiting(connection)


@pytest.fixture
async def kitchen(orchestrator_database: Database, message_of: MessageOf) -> Kitchen:
    async with orchestrator_database.transaction() as tx:
        await upsert_brand(
            tx.connection,
            "daily-grind",
            BrandSettings(name="The Daily Grind"),
        )
    wanted = NewCycle(
        CycleId(new_event_id()),
        str(new_event_id()),
        BrandSlug("daily-grind"),
        Priority.NORMAL,
        ("cold brew", "pour over"),
        None,
        b"digest",
    )
    return Kitchen(orchestrator_database, message_of, await begin_cycle(orchestrator_database, wanted))


async def test_a_cycle_says_what_research_waits_for_and_until_when(kitchen: Kitchen) -> None:
    await kitchen.note(kitchen.waiting(NOON))
    waits, other = await kitchen.shown()
    assert (waits.state, waits.waits, waits.waits_until) == (
        "queued",
        "waits for the budget for searches: it is spent",
        NOON,
    )
    assert (other.state, other.waits, other.waits_until) == ("queued", None, None)
    assert waits.reason is None
    assert (await kitchen.gauge())["the budget for searches"] == 1


async def test_words_come_late_twice_and_in_any_order(kitchen: Kitchen) -> None:
    later = kitchen.waiting(NOON + HOUR, waits_for="the web search")
    # In one batch, and then again in others.
    await kitchen.note(kitchen.waiting(NOON), later, kitchen.waiting(NOON - HOUR))
    for again in (kitchen.waiting(NOON), later, kitchen.waiting(NOON - HOUR)):
        await kitchen.note(again)
    waits, _ = await kitchen.shown()
    assert waits.waits == "waits for the web search: it is spent"
    assert waits.waits_until == NOON + HOUR


@pytest.mark.parametrize(
    "end",
    [
        ResearchCompleted(brand_slug="daily-grind", research_id=new_event_id(), keyword="cold brew"),
        ResearchFailed(brand_slug="daily-grind", keyword="cold brew", reason="insufficient_sources"),
    ],
)
async def test_a_word_that_comes_after_the_end_changes_nothing(
    kitchen: Kitchen, end: ResearchCompleted | ResearchFailed
) -> None:
    await kitchen.note(kitchen.waiting(NOON))
    await kitchen.tell(end)
    ended = await kitchen.shown()
    assert (ended[0].waits, ended[0].waits_until) == (None, None)
    await kitchen.note(kitchen.waiting(NOON + HOUR), kitchen.waiting(NOON))
    assert await kitchen.shown() == ended
    assert await kitchen.gauge() == {"a turn": 0}


async def test_words_about_nothing_of_ours_are_let_go(kitchen: Kitchen) -> None:
    before = await kitchen.shown()
    await kitchen.note(
        kitchen.waiting(NOON, keyword="espresso"),
        kitchen.waiting(NOON, brand_slug="other"),
        kitchen.waiting(NOON, chain="another"),
    )
    assert await kitchen.shown() == before


async def test_what_waits_has_not_stalled_before_it_has_had_its_time_after_the_wait(kitchen: Kitchen) -> None:
    await kitchen.note(kitchen.waiting(datetime.now(UTC) + 24 * HOUR))
    await kitchen.move_back(23)
    assert await kitchen.reap() == ("queued", "failed")
    await kitchen.move_back(6.5)
    assert (await kitchen.reap())[0] == "queued"
    await kitchen.move_back(1)
    assert (await kitchen.reap())[0] == "failed"
    # Research is done after all.
    await kitchen.tell(
        ResearchCompleted(brand_slug="daily-grind", research_id=new_event_id(), keyword="cold brew")
    )
    assert (await kitchen.shown())[0].state == "writing"


async def test_the_house_sleeps_until_a_wait_has_had_its_time(
    kitchen: Kitchen, orchestrator_database: Database
) -> None:
    await kitchen.note(
        kitchen.waiting(datetime.now(UTC) + 24 * HOUR),
        kitchen.waiting(datetime.now(UTC) + 12 * HOUR, keyword="pour over"),
    )
    async with orchestrator_database.connection() as connection:
        due = await overdue.next_stall(connection, 6 * HOUR)
    assert due is not None
    assert timedelta(minutes=-1) < due - 18 * HOUR <= timedelta()


async def test_a_word_that_is_lost_fails_no_keyword(kitchen: Kitchen) -> None:
    before = await kitchen.shown()
    await kitchen.tell(
        DeadLetterRecorded(
            dead_event_id=new_event_id(),
            queue="orchestrator-events",
            message_type="research.waiting",
            reason="unknown_type",
            brand_slug="daily-grind",
            keyword="cold brew",
        )
    )
    assert await kitchen.shown() == before
