"""Any bytes in a queue: no consumer dies, and each message ends as one effect or one dead letter with a reason."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from brandctl.local import services
from chassis.testing import eventually
from faults.strange_input.door import MONITORS, RecordingService, draw, multiply
from faults.strange_input.messages import ExpectedEnd
from tests.fixtures.databases import Roles

MakeDatabase = Callable[..., Awaitable[str]]


@pytest.mark.extended
async def test_hundreds_of_strange_messages_have_one_outcome_each_and_a_reason_that_a_person_understands(
    rabbitmq_url: str, make_database: MakeDatabase, database_roles: Roles
) -> None:
    messages = draw(300, number=1)
    messages += multiply(messages, 200, number=1)
    assert min(Counter(message.expected for message in messages).values()) > 20
    database_url = await make_database()
    owner_url = database_roles.owner(database_url)
    async with RecordingService.open(rabbitmq_url, database_url, owner_url=owner_url) as door:
        assert await door.judge(messages) == []
        assert await door.service.problems() == {}


@pytest.fixture
async def monitor_database(
    rabbitmq_url: str, make_database: MakeDatabase, tmp_path: Path
) -> AsyncIterator[str]:
    """The database of the real monitor, which runs as a process."""
    database_url = await make_database("monitor")
    addresses = services.choose_addresses()
    child = services.start(
        "monitor",
        services.environment(
            "monitor",
            addresses=addresses,
            rabbitmq_url=rabbitmq_url,
            database_url=database_url,
            service_key="a-key-for-tests-only",
            corpus=tmp_path,
        ),
        tmp_path,
    )
    try:
        await asyncio.to_thread(services.wait_until_ready, [child], addresses)
        yield database_url
    finally:
        await asyncio.to_thread(services.stop, [child])


@pytest.mark.extended
async def test_the_monitor_has_one_row_for_each_of_them_that_died(
    rabbitmq_url: str, make_database: MakeDatabase, database_roles: Roles, monitor_database: str
) -> None:
    messages = [message for message in draw(250, number=2) if message.queue != MONITORS]
    database_url = await make_database()
    owner_url = database_roles.owner(database_url)
    async with (
        RecordingService.open(
            rabbitmq_url, database_url, owner_url=owner_url, beside_the_monitor=True
        ) as door,
        asyncpg.create_pool(monitor_database, min_size=1, max_size=1) as monitor,
    ):
        neighbours = await door.send(messages)
        expected = sum(message.outcomes for message in messages) + len(neighbours)
        sent = {message.event_id for message in messages} | set(neighbours)

        async def recorded() -> Counter[bytes]:
            rows = await monitor.fetch(
                "select payload, count(*) as times from dead_messages group by payload"
            )
            return Counter({row["payload"]: row["times"] for row in rows})

        async def effects() -> Counter[UUID]:
            return Counter({id_: times for id_, times in (await door.effects()).items() if id_ in sent})

        async def all_there() -> bool:
            return (await effects()).total() + (await recorded()).total() >= expected

        await eventually(all_there)
        done, died = await effects(), await recorded()
    for message in messages:
        if message.expected is ExpectedEnd.DEATH:
            assert died.pop(message.body, 0) == message.outcomes, message
        else:
            effect = done[message.event_id] if message.event_id else 0
            assert effect + died.pop(message.body, 0) == 1, message
    assert not died
