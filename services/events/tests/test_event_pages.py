"""Pages of the log, whatever is wanted of it: nothing is left out, and no more is read than it takes."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from chassis import Connection
from chassis.database.pool import Connections
from events.log import store
from events.log.domain import EventFilter, LoggedEvent
from tests.fixtures.explained import ExplainedConnection

_EVENTS = 12_000
_FILL = f"""
insert into events (position, recorded_at, event_id, type, source, brand_slug, correlation_id, happened_at, payload)
select n, now(), gen_random_uuid(),
       case when n % 997 = 0 then 'cycle.completed' when n % 3 = 0 then 'content.published' else 'social.posted' end,
       'publisher', case when n % 7 < 6 then 'brand-' || n % 7 end, 'chain-' || n / 50, now(), '{{}}'
from generate_series(1, {_EVENTS}) as n
"""
_FILTERS = (
    EventFilter(),
    EventFilter(types=frozenset({"content.published"})),
    EventFilter(types=frozenset({"cycle.completed"})),
    EventFilter(types=frozenset({"content.generated"})),
    EventFilter(brands=frozenset({"brand-1"})),
    EventFilter(
        brands=frozenset({"brand-1", "brand-2"}), types=frozenset({"cycle.completed", "social.posted"})
    ),
    EventFilter(brands=frozenset({"brand-3"}), types=frozenset({"cycle.completed"})),
    EventFilter(
        brands=frozenset({f"brand-{number}" for number in range(60)}), types=frozenset({"social.posted"})
    ),
    EventFilter(correlation_id="chain-7", types=frozenset({"content.published"})),
)


@pytest.fixture
async def connection(make_database: Callable[..., Awaitable[str]]) -> AsyncIterator[Connection]:
    connections = Connections(await make_database("events"), name="test", size=1)
    await connections.open()
    async with connections.connection() as connection:
        await connection.execute(_FILL)
        await connection.execute("update log_head set position = $1", _EVENTS)
        await connection.execute("analyze")
        yield connection
    await connections.close()


async def everything(connection: Connection) -> list[LoggedEvent]:
    return await store.fetch(connection, list(range(1, _EVENTS + 1)))


@pytest.mark.parametrize("wanted", _FILTERS)
async def test_pages_of_any_size_have_all_that_is_wanted_in_order(
    connection: Connection, wanted: EventFilter
) -> None:
    dice = random.Random(7)
    expected = [each.position for each in await everything(connection) if wanted.matches(each)]
    for limits in ((200,), (1_000,), (5_000,), (3, 40, 199)):
        found: list[int] = []
        after, is_more = 0, True
        while is_more:
            limit = dice.choice(limits)
            page = await store.read(connection, wanted, after=after, limit=limit)
            assert len(page.events) <= limit
            assert page.position >= max([after, *(each.position for each in page.events)])
            found += [each.position for each in page.events]
            after, is_more = page.position, page.is_more
        assert found == expected


async def test_a_page_of_what_is_frequent_looks_at_few_entries_and_one_of_what_is_rare_at_many(
    connection: Connection,
) -> None:
    async def looked_at(wanted: EventFilter) -> int:
        noted: Any = _ScannedEntries(connection)
        await store.read(noted, wanted, after=0, limit=100)
        return noted.entries

    assert await looked_at(EventFilter(types=frozenset({"social.posted"}))) == 400
    assert await looked_at(EventFilter(types=frozenset({"cycle.completed"}))) == store.SCANNED


class _ScannedEntries(ExplainedConnection):
    """Counts what the pages of the log look at."""

    entries = 0

    def _note(self, node: dict[str, Any]) -> None:
        if node.get("Subplan Name") == "CTE scanned":
            self.entries += node["Actual Rows"]
        super()._note(node)
