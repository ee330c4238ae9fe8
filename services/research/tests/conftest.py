"""The database of the research service, as the service opens it."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from chassis.database.pool import Connections
from envelope.brand import CATALOGUE
from messaging import Database
from messaging.broker.publisher import Publisher
from messaging.flow.relay import Relay


@pytest.fixture
async def research_database(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[Database]:
    connections = Connections(await make_database("research"), name="research", size=4)
    await connections.open()
    # Nothing is published in these tests: the publisher never connects.
    relay = Relay(connections, Publisher("amqp://nobody@127.0.0.1:1/", name="unused"))
    yield Database(connections, relay, "research", CATALOGUE)
    await connections.close()
