"""The doctor at a broker of its own that is short of memory or disk: only such a broker may be made so."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from chassis import Connections
from chassis.testing import eventually
from envelope.brand import CATALOGUE
from faults.surroundings.nodes import RabbitMqServer, Resource
from messaging import topology
from messaging.broker.publisher import Publisher
from messaging.doctor import Doctor, Finding, Status
from messaging.doctor.inspection import inspect


@pytest.mark.extended
@pytest.mark.parametrize("resource", ["memory", "disk"])
async def test_a_broker_that_is_short_is_found_by_a_service_and_by_an_administrator(
    resource: Resource, tmp_path: Path, make_database: Callable[[str], Awaitable[str]]
) -> None:
    with closing(RabbitMqServer(tmp_path / "broker")) as broker:
        await broker.ready()
        await topology.declare(broker.url, CATALOGUE)
        publisher = Publisher(broker.url, name="research")
        running = asyncio.create_task(publisher.run())
        connections = Connections(await make_database("research"), name="research", size=4)
        try:
            await connections.open()
            await eventually(lambda: publisher.ready)
            await broker.raise_alarm(resource)
            # The publisher publishes nothing, so the broker does not tell it of the alarm.
            report = await Doctor(connections, publisher, "research", CATALOGUE).report()
            found = {each.probe: each for each in report.findings}

            async def alarms() -> list[Finding]:
                inspected = await inspect(broker.management_url, "/", CATALOGUE)
                return [each for each in inspected if each.status is Status.FAILED]

            seen = await eventually(alarms)
        finally:
            running.cancel()
            await asyncio.wait([running])
            await connections.close()
    assert found["broker_alarms"].status is Status.FAILED
    assert found["publisher_confirms"].status is Status.SKIPPED
    assert found["dead_letter_exchange"].status is Status.OK
    assert [each.probe for each in seen] == ["broker_alarms"]
    assert resource in seen[0].found
