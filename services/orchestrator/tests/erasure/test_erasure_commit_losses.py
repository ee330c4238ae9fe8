"""A service that has forgotten an erasure may have the brand back: it is asked once more, and the erasure is not over until it answers."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from envelope import DomainMessage, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import BrandErased, DatabaseFellBack
from messaging import Database
from orchestrator.erasure import EVERYBODY, ErasureRetrier, erase_again, note_receipts
from orchestrator.erasure.erasing import erase
from tests.fixtures.orchestrator.cycles import MessageOf, begin, sent


async def lose(
    database: Database, service: str, since: timedelta = timedelta(minutes=1), *, source: str | None = None
) -> None:
    payload = DatabaseFellBack(service=service, kept_until=datetime.now(UTC) - since)
    event = DomainMessage[DatabaseFellBack](
        event_id=new_event_id(),
        type=CATALOGUE.type_of(payload).name,
        source=source or service,
        timestamp=datetime.now(UTC),
        correlation_id="none",
        payload=payload,
    )
    async with database.transaction() as tx:
        await erase_again([event], tx)


async def answer(database: Database, message_of: MessageOf, erasure_id: UUID, *services: str) -> None:
    for service in services:
        event = message_of(BrandErased(brand_slug="daily-grind", erasure_id=erasure_id, service=service))
        async with database.transaction() as tx:
            await note_receipts([event], tx)


async def is_over(database: Database) -> bool:
    async with database.connection() as connection:
        return bool(await connection.fetchval("select bool_and(ended_at is not null) from erasures"))


async def erasures_sent(database: Database) -> Counter[str]:
    return Counter({kind: n for kind, n in (await sent(database)).items() if kind.endswith(".erase")})


ONCE = Counter(
    {
        "dead_letters.erase": 1,
        "research.erase": 1,
        "content.erase": 1,
        "social.erase": 1,
        "events.erase": 1,
    }
)


@pytest.fixture
async def erasure_id(orchestrator_database: Database, message_of: MessageOf) -> UUID:
    """Of a brand that all services have erased."""
    await begin(orchestrator_database, "cold brew")
    begun = await erase(orchestrator_database, "daily-grind", by="anna")
    await answer(orchestrator_database, message_of, begun.erasure_id, "monitor", *(EVERYBODY - {"monitor"}))
    assert await is_over(orchestrator_database)
    return begun.erasure_id


@pytest.mark.parametrize(("service", "kind"), [("social", "social.erase"), ("monitor", "dead_letters.erase")])
async def test_a_service_that_may_have_the_brand_back_is_asked_and_ends_the_erasure_again(
    orchestrator_database: Database, message_of: MessageOf, erasure_id: UUID, service: str, kind: str
) -> None:
    for _ in range(2):
        await lose(orchestrator_database, service)
    assert await erasures_sent(orchestrator_database) == ONCE + Counter({kind: 2})
    assert not await is_over(orchestrator_database)
    for _ in range(2):
        await answer(orchestrator_database, message_of, erasure_id, service)
        assert await is_over(orchestrator_database)
    assert await erasures_sent(orchestrator_database) == ONCE + Counter({kind: 2})


async def test_what_was_answered_before_what_is_lost_stays_over_and_so_does_what_nobody_has_lost(
    orchestrator_database: Database, erasure_id: UUID
) -> None:
    async with orchestrator_database.connection() as connection:
        await connection.execute("update erasure_receipts set erased_at = now() - interval '1 hour'")
    await lose(orchestrator_database, "social")
    await lose(orchestrator_database, "social", timedelta(hours=2), source="publisher")
    assert await is_over(orchestrator_database)
    assert await erasures_sent(orchestrator_database) == ONCE


async def test_a_brand_of_the_same_name_that_was_made_since_is_left_alone(
    orchestrator_database: Database, erasure_id: UUID
) -> None:
    await begin(orchestrator_database, "pour over")
    await lose(orchestrator_database, "social")
    assert await is_over(orchestrator_database)
    assert await erasures_sent(orchestrator_database) == ONCE


async def test_an_erasure_that_is_open_again_and_unanswered_is_reminded_of(
    orchestrator_database: Database, erasure_id: UUID
) -> None:
    await lose(orchestrator_database, "social")
    async with orchestrator_database.connection() as connection:
        await connection.execute("update erasures set sent_at = now() - interval '2 hours'")
    assert await ErasureRetrier(orchestrator_database, after=timedelta(hours=1)).remind() == 1
    assert await erasures_sent(orchestrator_database) == ONCE + ONCE + Counter({"social.erase": 1})
