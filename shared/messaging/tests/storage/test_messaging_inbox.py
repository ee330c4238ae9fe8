"""Claims by the statement that a transaction begins with: the same ones as by a statement of their own."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from uuid import UUID, uuid4

import pytest

from chassis.database.opening import opened_with
from chassis.database.pool import Connections
from envelope import new_event_id
from messaging.storage import inbox
from messaging.storage.inbox import InboxRow
from messaging.storage.migrations import migrate

QUEUE = "research-commands"


@pytest.fixture
async def connections(database_url: str) -> AsyncIterator[Connections]:
    await migrate(database_url)
    opened = Connections(database_url, name="inbox", size=4)
    await opened.open()
    yield opened
    await opened.close()


def rows_of(ids: Iterable[UUID]) -> list[InboxRow]:
    return [InboxRow(each, "research.requested", "handled") for each in ids]


async def claim(
    connections: Connections, ids: Sequence[UUID], *, holding: asyncio.Event | None = None
) -> set[UUID]:
    call = inbox.claiming(QUEUE, rows_of(ids))
    assert call is not None
    async with connections.connection() as connection, opened_with(connection, call) as rows:
        assert rows is not None
        if holding is not None:
            await holding.wait()
        return await inbox.claimed(connection, set(ids), rows)


async def test_what_is_new_is_claimed_and_what_is_known_is_not(connections: Connections) -> None:
    ids = [new_event_id(), uuid4(), new_event_id(), uuid4()]
    assert await claim(connections, ids[:2]) == set(ids[:2])
    assert await claim(connections, ids[:2]) == set()
    assert await claim(connections, [*ids, ids[3]]) == set(ids[2:])
    async with connections.connection() as connection:
        stored = await connection.fetch("select event_id, type, queue, outcome from processed_events")
        assert {(row["type"], row["queue"], row["outcome"]) for row in stored} == {
            ("research.requested", QUEUE, "handled")
        }
        assert {row["event_id"] for row in stored} == set(ids)
        async with connection.transaction():
            assert await inbox.insert(connection, QUEUE, rows_of(ids)) == set()


async def test_a_concurrent_copy_waits_and_then_is_a_duplicate(connections: Connections) -> None:
    ids, go = [new_event_id(), new_event_id()], asyncio.Event()
    first = asyncio.create_task(claim(connections, ids[:1], holding=go))
    await asyncio.sleep(0.1)
    second = asyncio.create_task(claim(connections, ids))
    await asyncio.sleep(0.1)
    assert not second.done()
    go.set()
    assert await first == set(ids[:1])
    assert await second == set(ids[1:])


@pytest.mark.parametrize(
    ("queue", "type_", "outcome", "count"),
    [
        (QUEUE, "research.requested", "dead", 1),
        (QUEUE, "it's", "handled", 1),
        (QUEUE, 'a"b', "handled", 1),
        (QUEUE, "a,b", "handled", 1),
        (QUEUE, "", "handled", 1),
        ("it's", "research.requested", "handled", 1),
        (QUEUE, "research.requested", "handled", inbox.FEW + 1),
        (QUEUE, "research.requested", "handled", 0),
    ],
)
def test_others_are_claimed_by_a_statement_of_their_own(queue, type_, outcome, count) -> None:
    assert inbox.claiming(queue, [InboxRow(uuid4(), type_, outcome)] * count) is None
