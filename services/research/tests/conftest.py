"""The database of the research service, as the service opens it; and research on the web."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from chassis.database.pool import Connections
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay
from tests.fixtures.web_research import World, world_of


@pytest.fixture
async def research_database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    connections = Connections(await make_database("research"), name="research", size=4)
    await connections.open()
    # Nothing is published in these tests: the publisher never connects.
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="unused"))
    yield Database(connections, relay, "research", CATALOGUE)
    await connections.close()


@pytest.fixture
async def world(
    make_database: Callable[[str], Awaitable[str]], research_database: Database, tmp_path: Path
) -> AsyncIterator[World]:
    async with world_of(research_database, await make_database("gateway"), tmp_path) as made:
        yield made
