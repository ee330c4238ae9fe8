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
