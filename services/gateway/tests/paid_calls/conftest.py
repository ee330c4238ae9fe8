"""Instances of the gateway's paying on one database, as replicas are."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest

from chassis import Connections
from gateway.calls import PaidCalls
from gateway.money import SpendingCaps, SpendingControl
from tests.fixtures.paid_calls.calls import NONE, Replica

MakeDatabase = Callable[[str], Awaitable[str]]


@pytest.fixture
async def url(make_database: MakeDatabase) -> str:
    return await make_database("gateway")


@pytest.fixture
async def connections(url: str) -> AsyncIterator[Connections]:
    unsealed = Connections(url, name="gateway test", size=4)
    await unsealed.open()
    yield unsealed
    await unsealed.close()


@pytest.fixture
async def replica(url: str) -> AsyncIterator[Replica]:
    """An instance with connections of its own."""
    unsealed: list[Connections] = []

    async def make(each: SpendingCaps = NONE, together: SpendingCaps = NONE) -> PaidCalls:
        unsealed.append(Connections(url, name="gateway test", size=8))
        await unsealed[-1].open()
        return PaidCalls(unsealed[-1], SpendingControl(each, together), ledger=timedelta(days=400))

    yield make
    for each in unsealed:
        await each.close()
