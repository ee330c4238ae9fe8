"""A transaction that begins with its first statement."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from chassis.database.opening import Call, Prepared, opened_with
from chassis.database.pool import Connections

ADD = Prepared("add_numbers", "int[]", "insert into numbers select unnest($1) on conflict do nothing")


@pytest.fixture
async def connections(database_url: str) -> AsyncIterator[Connections]:
    opened = Connections(database_url, name="opening", size=2)
    await opened.open()
    async with opened.connection() as connection:
        await connection.execute("create table numbers (number int primary key check (number > 0))")
    yield opened
    await opened.close()


def adding(*numbers: int) -> Call:
    return Call(ADD, f"array{list(numbers)}::int[]")


async def numbers(connections: Connections) -> list[int]:
    async with connections.connection() as connection:
        return [row["number"] for row in await connection.fetch("select number from numbers order by number")]


async def test_it_says_how_many_rows_it_wrote_and_commits_with_the_rest(connections: Connections) -> None:
    for wanted, given in ((2, (1, 2)), (1, (2, 3)), (0, (1, 3))):
        async with connections.connection() as connection, opened_with(connection, adding(*given)) as wrote:
            assert wrote == wanted
            assert connection.is_in_transaction()
    assert await numbers(connections) == [1, 2, 3]


async def test_it_is_undone_with_the_rest(connections: Connections) -> None:
    async def fail() -> None:
        async with connections.connection() as connection, opened_with(connection, adding(1)) as wrote:
            assert wrote == 1
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert await numbers(connections) == []


async def test_savepoints_work_in_it(connections: Connections) -> None:
    async with connections.connection() as connection, opened_with(connection, adding(1)):
        with pytest.raises(asyncpg.UniqueViolationError):
            async with connection.transaction():
                await connection.execute("insert into numbers values (1)")
        await connection.execute("insert into numbers values (2)")
    assert await numbers(connections) == [1, 2]


async def test_what_it_fails_with_is_raised_and_the_connection_can_be_used_again(
    connections: Connections,
) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        async with connections.connection() as connection, opened_with(connection, adding(1, -1)):
            pytest.fail("the block is not entered")
    async with connections.connection() as connection:
        assert not connection.is_in_transaction()
        async with connection.transaction():
            await connection.execute("insert into numbers values (7)")
    assert await numbers(connections) == [7]


async def test_within_another_transaction_it_is_left_to_the_block(connections: Connections) -> None:
    async with (
        connections.whole(),
        connections.connection() as connection,
        opened_with(connection, adding(1)) as wrote,
    ):
        assert wrote is None
    assert await numbers(connections) == []


async def test_a_statement_that_is_known_already_is_used(connections: Connections) -> None:
    async with connections.connection() as connection:
        await connection.execute(f"prepare {ADD.name} ({ADD.types}) as {ADD.sql}")
        async with opened_with(connection, adding(1)) as wrote:
            assert wrote == 1
