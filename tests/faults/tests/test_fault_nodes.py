"""Nodes come back with what they had, and run short when told to."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import aio_pika
import asyncpg
import pytest

from chassis.testing import eventually
from faults.surroundings.nodes import PostgresServer, RabbitMqServer, why_no_small_disk


@pytest.fixture
def folder(tmp_path_factory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("nodes")
    folder.chmod(0o711)
    yield folder
    assert not [path for path in folder.iterdir() if path.is_dir()]


@pytest.mark.extended
async def test_rabbitmq_keeps_its_messages_through_kills_and_blocks_publishers_on_alarms(folder) -> None:
    with closing(RabbitMqServer(folder / "rabbitmq")) as node:
        await node.ready()
        await publish(node.url, b"kept")
        await node.remember_queues()
        url = node.url
        await node.kill()
        assert not node.running
        await node.start()
        assert node.url == url
        # A quorum queue says 0 until it has chosen its leader again.
        await eventually(lambda: has_one(url))
        for resource in ("memory", "disk"):
            await node.raise_alarm(resource)
            assert resource in await node.alarms()
            publishing = asyncio.create_task(publish(url, b"waits"))
            await asyncio.wait([publishing], timeout=1)
            assert not publishing.done()
            await node.clear_alarm(resource)
            assert await node.alarms() == "[]"
            await publishing


async def publish(url: str, body: bytes) -> None:
    connection = await aio_pika.connect(url, timeout=60)
    async with connection, connection.channel() as channel:
        queue = await channel.declare_queue("kept", durable=True, arguments={"x-queue-type": "quorum"})
        message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        # While an alarm is on this waits, and what raises and clears it takes seconds on a busy machine.
        await channel.default_exchange.publish(message, queue.name, timeout=120)


async def has_one(url: str) -> bool:
    connection = await aio_pika.connect(url, timeout=60)
    async with connection, connection.channel() as channel:
        queue = await channel.declare_queue("kept", passive=True)
        return queue.declaration_result.message_count == 1


@pytest.mark.extended
async def test_postgres_keeps_what_it_confirmed_through_kill_and_demotion(folder) -> None:
    with PostgresServer(folder / "postgres") as node:
        await node.ready()
        await execute(node.url, "create table kept as select 1 as number")
        await node.kill()
        await node.start()
        assert await execute(node.url, "select * from kept") == "SELECT 1"
        await node.demote()
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await execute(node.url, "insert into kept values (2)")
        await node.promote()
        await execute(node.url, "insert into kept values (2)")


@pytest.mark.skipif(bool(why_no_small_disk()), reason=str(why_no_small_disk()))
async def test_a_full_disk_is_what_postgres_says_it_is(folder) -> None:
    with PostgresServer(folder / "postgres", disk=160 << 20) as node:
        await node.ready()
        await execute(node.url, "create table many (number bigint)")
        assert node.fill_disk() > 1 << 20
        with pytest.raises(asyncpg.DiskFullError):
            await execute(node.url, "insert into many select generate_series(1, 100000)")
        node.free_disk()
        await execute(node.url, "insert into many select generate_series(1, 100000)")


async def execute(url: str, statement: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        return await connection.execute(statement)
    finally:
        await connection.close()
