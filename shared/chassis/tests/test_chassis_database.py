"""Telling an outage from a mistake, and in time."""

import asyncio
from urllib.parse import urlsplit

import asyncpg
import pytest

from chassis.database.pool import Connection, Connections, is_outage, kept_plans
from chassis.testing import Direction, ServerProxy, eventually


def test_a_connection_used_before_it_is_known_to_be_dead_is_an_outage_and_no_mistake() -> None:
    # An idle connection was told that the server is going, and asked to work before its end arrived.
    error = asyncpg.InternalClientError("cannot switch to state 11; another operation (2) is in progress")
    assert is_outage(error)
    assert not is_outage(asyncpg.QueryCanceledError("canceling statement due to statement timeout"))


@pytest.mark.parametrize("towards", Direction)
async def test_a_database_gone_silent_is_known_to_be_away_in_time(
    database_url: str, towards: Direction
) -> None:
    async with ServerProxy(database_url) as proxy:
        connections = Connections(proxy.url, name="silent")
        await connections.open()
        try:
            assert await connections.answers()
            proxy.black_hole(towards=[towards])
            for _ in range(2):
                async with asyncio.timeout(60):
                    assert not await connections.answers(within=0.3)
            proxy.mend()
            await eventually(connections.answers)
        finally:
            await connections.close()


async def test_of_several_hosts_the_one_that_takes_writes_is_used_and_the_next_one_after_a_fail_over(
    database_url: str,
) -> None:
    parts = urlsplit(database_url)
    async with ServerProxy(database_url) as former, ServerProxy(database_url) as promoted:
        hosts = ",".join(f"{url.hostname}:{url.port}" for url in map(urlsplit, (former.url, promoted.url)))
        connections = Connections(
            f"postgresql://{parts.username}:{parts.password}@{hosts}{parts.path}?target_session_attrs=read-write",
            name="several",
            size=1,
        )
        promoted.cut()
        await connections.open()
        try:
            assert await connections.answers()
            former.cut()
            assert not await connections.answers(within=0.3)
            promoted.mend()
            await eventually(connections.answers)
        finally:
            await connections.close()


async def planning_of(connection: Connection) -> tuple[str, str]:
    row = await connection.fetchrow(
        "select current_setting('plan_cache_mode') as mode, current_setting('enable_seqscan') as scans"
    )
    assert row is not None
    return row["mode"], row["scans"]


async def test_plans_are_kept_for_those_who_say_so_and_for_nobody_else(database_url: str) -> None:
    connections = Connections(database_url, name="planning", size=1)
    await connections.open()
    try:
        own, kept = ("auto", "on"), ("force_generic_plan", "off")

        async def seen() -> tuple[str, str]:
            async with connections.connection() as connection:
                return await planning_of(connection)

        assert await seen() == own
        with kept_plans():
            assert await seen() == kept
            # Of whoever begins a task its context is; this is how a service's runner hands it on.
            task = asyncio.create_task(seen())
        assert await seen() == own
        assert await task == kept
        with kept_plans():
            async with connections.whole() as whole, connections.connection() as connection:
                assert await planning_of(whole.connection) == await planning_of(connection) == kept
        assert await seen() == own
    finally:
        await connections.close()


async def test_a_plan_that_is_kept_uses_an_index_though_the_table_was_empty_when_it_was_made(
    database_url: str,
) -> None:
    connections = Connections(database_url, name="planning", size=1)
    await connections.open()
    try:
        with kept_plans():
            async with connections.connection() as connection:
                await connection.execute("create table things (thing_id int primary key)")
                await connection.execute("vacuum things")
                await connection.execute(
                    "prepare find as select from things where thing_id = any ($1::int[])"
                )
                await connection.execute("execute find('{1}')")
                await connection.execute("insert into things select generate_series(1, 10000)")
                plan = await connection.fetchval("explain (format json) execute find('{1}')")
                assert "things_pkey" in plan
    finally:
        await connections.close()
