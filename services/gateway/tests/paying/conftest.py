"""Instances of the gateway's paying on one database, as replicas are."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest

from chassis import Connections
from gateway.calls import Paying
from gateway.money import Caps, Spending
from tests.fixtures.paying.calls import NONE, Replica

MakeDatabase = Callable[[str], Awaitable[str]]


@pytest.fixture
async def url(make_database: MakeDatabase) -> str:
    return await make_database("gateway")


@pytest.fixture
async def connections(url: str) -> AsyncIterator[Connections]:
    opened = Connections(url, name="gateway test", size=4)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def replica(url: str) -> AsyncIterator[Replica]:
    """An instance with connections of its own."""
    opened: list[Connections] = []

    async def make(each: Caps = NONE, together: Caps = NONE) -> Paying:
        opened.append(Connections(url, name="gateway test", size=8))
        await opened[-1].open()
        return Paying(opened[-1], Spending(each, together), ledger=timedelta(days=400))

    yield make
    for each in opened:
        await each.close()
