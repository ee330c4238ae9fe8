"""Telling an outage from a mistake, and in time."""

import asyncio

import asyncpg
import pytest

from chassis.database.pool import Connections, is_outage
from chassis.testing import ServerProxy, Towards, eventually


def test_a_connection_used_before_it_is_known_to_be_dead_is_an_outage_and_no_mistake() -> None:
    # An idle connection was told that the server is going, and asked to work before its end arrived.
    error = asyncpg.InternalClientError("cannot switch to state 11; another operation (2) is in progress")
    assert is_outage(error)
    assert not is_outage(asyncpg.QueryCanceledError("canceling statement due to statement timeout"))


@pytest.mark.parametrize("towards", Towards)
async def test_a_database_gone_silent_is_known_to_be_away_in_time(
    database_url: str, towards: Towards
) -> None:
    async with ServerProxy(database_url) as proxy:
        connections = Connections(proxy.url, name="silent")
        await connections.open()
        try:
            assert await connections.answers()
            proxy.black_hole(towards=[towards])
            for _ in range(2):
                async with asyncio.timeout(20):
                    assert not await connections.answers(within=0.3)
            proxy.mend()
            await eventually(connections.answers)
        finally:
            await connections.close()


async def test_connections_are_handed_on_and_nobody_who_waits_is_passed_over(database_url: str) -> None:
    connections = Connections(database_url, name="handed on", size=1)
    await connections.open()
    try:
        async with connections.connection() as first:
            process = await first.fetchval("select pg_backend_pid()")
        async with connections.connection() as second:
            assert await second.fetchval("select pg_backend_pid()") == process

        async def use() -> None:
            for _ in range(20):
                async with connections.connection() as connection:
                    await connection.fetchval("select 1")

        async with asyncio.timeout(10):
            await asyncio.gather(*(use() for _ in range(5)))
        # The one connection that there may be is kept by nobody who only looks.
        assert await connections.answers(within=2)
    finally:
        async with asyncio.timeout(4):
            await connections.close()


async def test_a_connection_is_not_handed_on_with_what_its_user_left_open(database_url: str) -> None:
    connections = Connections(database_url, name="left open", size=1)
    await connections.open()
    try:
        for _ in range(2):
            async with connections.connection() as connection:
                assert not connection.is_in_transaction()
                await connection.execute("begin")
    finally:
        await connections.close()


async def test_a_connection_that_ended_while_it_was_kept_is_replaced(database_url: str) -> None:
    connections = Connections(database_url, name="ended", size=2)
    await connections.open()
    try:
        async with connections.connection() as kept, connections.connection() as other:
            processes = [await each.fetchval("select pg_backend_pid()") for each in (kept, other)]
        async with asyncio.timeout(10), connections.connection() as connection:
            others = "select pg_terminate_backend(pid) from pg_stat_activity where pid = any($1) and pid <> pg_backend_pid()"
            assert len(await connection.fetch(others, processes)) == 1
        await eventually(connections.answers)
        async with connections.connection() as one, connections.connection() as other:
            assert await one.fetchval("select 1") == await other.fetchval("select 1") == 1
    finally:
        await connections.close()
