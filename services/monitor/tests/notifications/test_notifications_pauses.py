"""People are told of queues that have been paused for more than an hour, of the monitor and of other services."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from chassis.http.client import Peer
from messaging import Database
from messaging.storage import pauses
from monitor.notifications import NotificationSource, PeerClient
from monitor.notifications.sources.pauses import own_pause_conditions, pause_conditions

Office = Any
Outside = Any
SERVICE_KEY = "test-service-key-0123456789"


@pytest.fixture
async def publisher(outside: Outside) -> AsyncIterator[PeerClient]:
    client = PeerClient(Peer("publisher", outside.url, "PUBLISHER_URL", None))
    yield client
    await client.aclose()


def titles(outside: Outside) -> list[str]:
    return [each["json"]["data"]["title"] for each in outside.sent["ops"]]


def paused(queue: str, age: timedelta) -> dict[str, str]:
    return {"queue": queue, "by": "Ada", "reason": "it moves", "since": (datetime.now(UTC) - age).isoformat()}


async def test_a_pause_of_an_hour_is_told_once_and_its_end_too(
    office: Office, outside: Outside, database: Database, publisher: PeerClient
) -> None:
    often = timedelta(minutes=1)
    office.sources = [
        NotificationSource("pauses", often, partial(own_pause_conditions, database)),
        NotificationSource(
            "pauses of publisher", often, partial(pause_conditions, database, publisher), "publisher"
        ),
    ]
    await office.set_route("ops")
    async with database.transaction() as tx:
        await pauses.begin(tx.connection, "monitor-commands", by="Olga", reason="a look")
    outside.paused = [paused("publisher-commands", timedelta(minutes=59))]
    await office.turn()
    assert titles(outside) == []
    await office.run("update paused_queues set paused_at = paused_at - interval '61 minutes'")
    for _ in range(2):
        await office.turn()
    assert titles(outside) == ["The queue monitor-commands has been paused for more than an hour"]
    (item,) = outside.sent["ops"][0]["json"]["data"]["items"]
    assert item["detail"].startswith("by Olga since ")
    assert item["detail"].endswith("UTC: a look")
    assert (item["kind"], item["command"]) == ("queues", "brandctl queues resume monitor-commands")
    outside.paused = [paused("publisher-commands", timedelta(hours=2))]
    await office.turn()
    assert titles(outside)[1:] == ["The queue publisher-commands has been paused for more than an hour"]
    outside.paused = []
    await office.run("delete from paused_queues")
    await office.turn()
    # Together or one by one, as the sources were polled.
    assert "esolved" in titles(outside)[2]


async def test_a_service_of_a_version_before_has_no_paused_queues(
    outside: Outside, database: Database, publisher: PeerClient
) -> None:
    outside.paused = None
    assert list(await pause_conditions(database, publisher)) == []
