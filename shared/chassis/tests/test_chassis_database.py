"""Telling an outage from a mistake, and in time."""

import asyncio
from urllib.parse import urlsplit

import asyncpg
import pytest

from chassis.database.pool import Connections, is_outage
from chassis.testing import TcpProxy, Towards, eventually


def proxy_to(url: str) -> TcpProxy:
    parts = urlsplit(url)
    return TcpProxy(parts.hostname or "127.0.0.1", parts.port or 5432)


def through(proxy: TcpProxy, url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{proxy.port}").geturl()


def test_a_connection_used_before_it_is_known_to_be_dead_is_an_outage_and_no_mistake() -> None:
    # An idle connection was told that the server is going, and asked to work before its end arrived.
    error = asyncpg.InternalClientError("cannot switch to state 11; another operation (2) is in progress")
    assert is_outage(error)
    assert not is_outage(asyncpg.QueryCanceledError("canceling statement due to statement timeout"))


@pytest.mark.parametrize("towards", Towards)
async def test_a_database_gone_silent_is_known_to_be_away_in_time(
    database_url: str, towards: Towards
) -> None:
    async with proxy_to(database_url) as proxy:
        connections = Connections(through(proxy, database_url), name="silent")
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
