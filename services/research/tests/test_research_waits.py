"""Research that has to wait: its caller gets a message, no attempt is counted, and free sources are used meanwhile."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ResearchRequested
from messaging import Context, Database, RetryLater, Transaction, WaitFor
from reading.ranking.sources import Findings, InsufficientSources, ResearchResult
from research import store
from research.clients.provider import ResearchProvider, ResearchQuery
from research.handlers import Handlers
from research.sources.domain import SourceSettings, WebSearchSettings
from research.sources.store import set_sources
from tests.fixtures.web_research import TEXTS, World

CONTEXT = Context(queue="research-commands", attempt=1, log=structlog.get_logger())
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


class Answers:
    """A provider with prepared answers."""

    def __init__(self, ends: Findings | Exception) -> None:
        self.ends = ends

    def name(self, sources: SourceSettings) -> str:
        return "answers"

    async def search(self, wanted: ResearchQuery) -> Findings:
        if isinstance(self.ends, Exception):
            raise self.ends
        return self.ends


def request() -> DomainMessage[ResearchRequested]:
    return DomainMessage(
        event_id=new_event_id(),
        type="research.requested",
        source="orchestrator",
        timestamp=datetime.now(UTC),
        correlation_id="chain",
        causation_id=None,
        payload=ResearchRequested(brand_slug="acme", keyword="cold brew"),
    )


async def ended(
    database: Database, provider: ResearchProvider, message: DomainMessage[ResearchRequested]
) -> dict[str, Any]:
    """The payload that the command ends with."""
    record = await Handlers(database, provider).research_requested(message, CONTEXT)
    async with database.connection() as connection, connection.transaction():
        tx = Transaction(connection, "research", CATALOGUE)
        await record.write(tx, [record.row])
    (row,) = tx.outgoing
    payload: dict[str, Any] = json.loads(row.body)["payload"]
    return payload


async def told(database: Database) -> list[dict[str, Any]]:
    """The messages that were sent beside those that commands end with, in their order."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "select convert_from(body, 'utf8') as body from outbox order by event_id"
        )
    return [json.loads(row["body"]) for row in rows]


async def look(database: Database, message: DomainMessage[ResearchRequested], wait: WaitFor) -> int:
    """The command comes and has to wait; how often that was told so far."""
    with pytest.raises(WaitFor) as raised:
        await Handlers(database, Answers(wait)).research_requested(message, CONTEXT)
    assert raised.value is wait
    return len(await told(database))


async def pass_time(database: Database, time: timedelta) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "update waits set since = since - $1::interval, noted_at = noted_at - $1::interval, told_at = told_at - $1::interval",
            time,
        )


async def waits(database: Database) -> int:
    async with database.connection() as connection:
        count: int = await connection.fetchval("select count(*) from waits")
    return count


def budget(after: timedelta | None = HOUR) -> WaitFor:
    return WaitFor("the budget for searches", "0.00 of 1.00 dollars\x00 are left", after=after)


async def test_a_long_wait_is_told_once_and_again_when_it_goes_on(research_database: Database) -> None:
    message, other = request(), request()
    begun = datetime.now(UTC)
    assert await look(research_database, message, budget()) == 1
    (event,) = await told(research_database)
    assert (event["type"], event["causation_id"], event["correlation_id"]) == (
        "research.waiting",
        str(message.event_id),
        "chain",
    )
    until = datetime.fromisoformat(event["payload"].pop("until"))
    assert abs(until - begun - HOUR) < MINUTE
    assert event["payload"] == {
        "brand_slug": "acme",
        "keyword": "cold brew",
        "waits_for": "the budget for searches",
        "detail": "0.00 of 1.00 dollars are left",
    }
    # Delivered again at once, by a restart.
    assert await look(research_database, message, budget()) == 1
    assert await look(research_database, other, budget()) == 2
    await pass_time(research_database, HOUR)
    assert await look(research_database, message, budget()) == 3
    # For something else, and for long.
    assert await look(research_database, message, WaitFor("the web search", "away", after=MINUTE)) == 4
    assert await look(research_database, message, WaitFor("the web search", "away", after=MINUTE)) == 4


async def test_short_waits_are_told_when_they_have_lasted(research_database: Database) -> None:
    message, short = request(), WaitFor("gateway", "the gateway does not answer", after=timedelta(seconds=2))
    assert await look(research_database, message, short) == 0
    await pass_time(research_database, MINUTE)
    assert await look(research_database, message, short) == 1
    assert await look(research_database, message, WaitFor("its turn", "others")) == 1
    await pass_time(research_database, 11 * MINUTE)
    assert await look(research_database, message, short) == 2


@pytest.mark.parametrize("end", [ResearchResult(()), InsufficientSources("Too little.")])
async def test_what_has_ended_waits_no_more(research_database: Database, end: Findings) -> None:
    message = request()
    await look(research_database, message, budget())
    assert await waits(research_database) == 1
    await ended(research_database, Answers(end), message)
    assert await waits(research_database) == 0


async def test_a_failed_attempt_is_no_wait(research_database: Database) -> None:
    with pytest.raises(RetryLater):
        await Handlers(research_database, Answers(RetryLater("failed"))).research_requested(
            request(), CONTEXT
        )
    assert (await waits(research_database), await told(research_database)) == (0, [])


async def test_waits_of_commands_that_nobody_heard_of_again_are_forgotten(
    research_database: Database,
) -> None:
    async with research_database.transaction() as tx:
        await store.record_wait(tx.connection, UUID(int=1), "its turn", None)
    await pass_time(research_database, timedelta(days=91))
    async with research_database.connection() as connection:
        await store.forget_commands(connection, [UUID(int=2)])
    assert await waits(research_database) == 0


async def searches_the_web(database: Database, sources: SourceSettings) -> None:
    async with database.connection() as connection:
        await set_sources(connection, "acme", sources)


@pytest.mark.extended
async def test_money_is_waited_for_as_often_as_it_takes_and_paid_once_it_is_there(
    world: World, research_database: Database
) -> None:
    world.write("http://one.example/a")
    await searches_the_web(research_database, SourceSettings(folder=False, web=WebSearchSettings(queries=2)))
    await world.api.put("/v1/spend/caps/acme", json={"day": 0.006, "month": 1})
    message, handlers = request(), Handlers(research_database, world.research)
    for _ in range(6):
        with pytest.raises(WaitFor, match=r"budget\.exhausted"):
            await handlers.research_requested(message, CONTEXT)
    assert [each["payload"]["waits_for"] for each in await told(research_database)] == [
        "the budget for searches"
    ]
    world.write("http://two.example/b")
    world.write("http://three.example/c")
    await world.api.put("/v1/spend/caps/acme", json={"day": 1, "month": 1})
    assert "research_id" in await ended(research_database, world.research, message)
    assert len(world.brave.requests) == 2


@pytest.mark.extended
async def test_what_is_free_does_when_it_is_enough_and_says_what_was_left_out(
    world: World, research_database: Database
) -> None:
    (world.folder / "a.md").write_text(f"# Cold brew\n\n{TEXTS['a']}\n")
    (world.folder / "b.md").write_text(f"# Cold brew\n\n{TEXTS['b']}\n")
    await world.corpus.refresh()
    world.write("http://three.example/c")
    sources = SourceSettings(web=WebSearchSettings(queries=2), urls=("http://three.example/c",))
    await searches_the_web(research_database, sources)
    await world.api.post("/v1/spend/stop", json={"scope": "acme", "why": "holidays"})

    first = await ended(research_database, world.research, request())
    async with research_database.connection() as connection:
        research = await store.get_research(connection, UUID(first["research_id"]))
    assert research is not None
    assert len(json.loads(research.sources)) == 3
    assert research.facts.left_out.startswith(
        "2 of 2 searches of the web: the gateway says spending.stopped: "
    )
    assert "holidays" in research.facts.left_out
    assert (world.brave.requests, await told(research_database)) == ([], [])

    # The next one looks for more, and is not given this.
    await world.api.post("/v1/spend/resume", json={"scope": "acme"})
    second = await ended(research_database, world.research, request())
    assert second["research_id"] != first["research_id"]
    async with research_database.connection() as connection:
        research = await store.get_research(connection, UUID(second["research_id"]))
    assert research is not None
    assert research.facts.left_out == ""
    assert len(world.brave.requests) == 2
