"""Which webhook is worked on next: found without looking into the log, and no event is overlooked."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from chassis import Connection
from chassis.database.pool import Connections
from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import ContentPublished
from events.log import store as log_store
from events.subscriptions import store as subscriptions
from events.webhooks import store
from tests.fixtures.event_log import published
from tests.fixtures.explained import ExplainedConnection

MIGRATION = Path(__file__).parents[1] / "migrations" / "0007_newest_events_of_brands.sql"
LEASE = timedelta(seconds=90)
QUIET = 300
_FILL = """
insert into events (position, recorded_at, event_id, type, source, brand_slug, happened_at, payload)
select n, now(), gen_random_uuid(), 'content.published', 'publisher', 'busy-' || n % 50, now(), '{}' from generate_series(1, 20000) as n
"""
_BEHIND = """
select w.subscription from webhooks w join subscriptions s on s.name = w.subscription
where exists (select from events e where e.brand_slug = w.brand_slug and e.position > s.position)
"""


@pytest.fixture
async def connections(make_database: Callable[..., Awaitable[str]]) -> AsyncIterator[Connections]:
    made = Connections(await make_database("events"), name="test", size=4)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def connection(connections: Connections) -> AsyncIterator[Connection]:
    async with connections.connection() as connection:
        yield connection


async def make(connection: Connection, brand: str, name: str = "crm") -> str:
    """A webhook that was worked on just now."""
    subscription = store.subscription_of(brand, name)
    head = await log_store.read_head(connection)
    await subscriptions.insert(
        connection,
        subscription,
        brands=[brand],
        types=None,
        max_deliveries=1000,
        position=head.position,
        by="ada",
    )
    await store.insert(connection, brand, name, "account", strict=False)
    await connection.execute(
        "update webhooks set worked_at = clock_timestamp() where subscription = $1", subscription
    )
    return subscription


async def happen(connection: Connection, brands: Iterable[str]) -> None:
    messages: list[DomainMessage[Any]] = [
        DomainMessage[ContentPublished](
            event_id=new_event_id(),
            type="content.published",
            source="publisher",
            timestamp=datetime.now(UTC),
            payload=published(brand),
        )
        for brand in brands
    ]
    async with connection.transaction():
        await log_store.append(connection, messages)


async def work(connection: Connection, *, until: int = 1_000) -> list[str]:
    """Takes webhooks until none has anything to send, and handles up to so many events of each; returns them."""
    worked: list[str] = []
    async with connection.transaction():
        while (
            webhook := await store.claim(connection, lease_id := new_event_id(), LEASE, busy=worked)
        ) is not None:
            worked.append(webhook.subscription)
            subscription = await subscriptions.find(connection, webhook.subscription, lock=True)
            assert subscription is not None
            taken = await subscriptions.pull(connection, subscription, limit=until, lease=LEASE)
            await subscriptions.acknowledge(
                connection, webhook.subscription, [each.lease_id for each in taken]
            )
            await store.release(connection, webhook, lease_id)
    return sorted(worked)


async def test_at_rest_neither_the_log_nor_more_than_the_webhooks_is_read(connection: Connection) -> None:
    await connection.execute(_FILL)
    await connection.execute("update log_head set position = 20000")
    for number in range(QUIET):
        await make(connection, f"quiet-{number}")
    # Behind the log, as other brands are busy.
    await happen(connection, ["busy-1"] * 3)
    await connection.execute("analyze")
    noted: Any = ExplainedConnection(connection)
    assert await store.claim(noted, new_event_id(), LEASE, busy=[]) is None
    tables = {index for _, index in noted.scans if index is not None}
    assert not {each for each in tables if each.startswith("events")}
    # Each webhook with its subscription and its brand, whose rows may be read as a whole, and the head.
    assert noted.rows_read <= 3 * QUIET + 50 + 1
    await happen(connection, ["quiet-7"])
    found = await store.claim(connection, new_event_id(), LEASE, busy=[])
    assert found is not None
    assert found.subscription == "quiet-7/crm"


async def test_whatever_happens_those_with_events_are_taken_and_no_others(connection: Connection) -> None:
    dice = random.Random(7)
    brands = [f"brand-{number}" for number in range(6)]
    for brand in brands[:4]:
        for name in ("crm", "data"):
            await make(connection, brand, name)
    for _ in range(60):
        for _ in range(dice.randrange(3)):
            await happen(connection, dice.choices(brands, k=dice.randrange(1, 4)))
        expected = sorted(row["subscription"] for row in await connection.fetch(_BEHIND))
        # Some are left with events to be handled.
        assert await work(connection, until=dice.choice((1, 1_000))) == expected


async def test_a_new_webhook_is_taken_once_so_that_its_place_follows_the_log(connection: Connection) -> None:
    name = await make(connection, "quiet")
    await connection.execute("update webhooks set worked_at = null")
    await happen(connection, ["busy"])
    assert await work(connection) == [name]
    assert await work(connection) == []
    await happen(connection, ["busy"])
    await connection.execute("update webhooks set worked_at = now() - interval '61 minutes'")
    assert await work(connection) == [name]
    found = await subscriptions.find(connection, name)
    assert found is not None
    assert found.position == (await log_store.read_head(connection)).position


async def test_events_that_another_version_stores_are_noted(connection: Connection) -> None:
    name = await make(connection, "busy-7")
    await connection.execute(_FILL)
    await connection.execute("update log_head set position = 20000")
    assert await work(connection) == [name]


async def test_brands_whose_events_are_gone_are_forgotten_and_others_are_not(connection: Connection) -> None:
    await happen(connection, ["old", "new"])
    await connection.execute("update log_head set forgotten = 1")
    await log_store.maintain(connection, 30)
    noted = await connection.fetch("select brand_slug, position from brand_heads")
    assert [tuple(row) for row in noted] == [("new", 2)]
    name = await make(connection, "old")
    await happen(connection, ["old"])
    assert await work(connection) == [name]


async def test_the_migration_notes_the_brands_of_the_log(connection: Connection, postgres_url: str) -> None:
    """Their webhooks may have been behind."""
    await happen(connection, ["b", "a", "c", "a"])
    name = await connection.fetchval("select current_database()")
    owner = await asyncpg.connect(postgres_url, database=name)
    try:
        _, begins, statement = MIGRATION.read_text().partition("with recursive")
        await owner.execute("truncate brand_heads")
        await owner.execute(begins + statement)
    finally:
        await owner.close()
    noted = await connection.fetch("select brand_slug, position from brand_heads order by 1")
    assert [tuple(row) for row in noted] == [("a", 4), ("b", 4), ("c", 4)]
