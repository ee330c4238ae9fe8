"""Depths of queues are read over one connection, which is opened anew after an outage and closed with its reader."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from chassis.testing import eventually
from chassis.testing.proxy import ServerProxy
from messaging.broker.queue_depths import QueueDepth, QueueDepthReader

QUEUE = "research-commands"


@asynccontextmanager
async def reading(world: Any) -> AsyncIterator[tuple[QueueDepthReader, ServerProxy]]:
    async with world.proxy_to_broker() as proxy:
        reader = QueueDepthReader(proxy.url, name="test")
        try:
            yield reader, proxy
        finally:
            await reader.close()


async def test_one_connection_reads_again_and_again(world: Any) -> None:
    async with reading(world) as (reader, proxy):
        assert await reader.read([]) == {}
        assert proxy.links == 0
        await world.send(world.request())
        assert await reader.read([QUEUE, "no-such-queue", "publisher-commands"]) == {
            QUEUE: QueueDepth(ready=1, consumers=0),
            "publisher-commands": QueueDepth(ready=0, consumers=0),
        }
        await world.send(world.request("another"))
        assert (await reader.read([QUEUE]))[QUEUE].ready == 2
        assert proxy.links == 1
        await reader.close()
        await eventually(lambda: proxy.links == 0)


async def test_an_outage_has_no_depths_and_ends_with_the_next_read(world: Any) -> None:
    async with reading(world) as (reader, proxy):
        assert QUEUE in await reader.read([QUEUE])
        proxy.cut()
        assert await reader.read([QUEUE]) == {}
        proxy.mend()
        await eventually(lambda: reader.read([QUEUE]))
        proxy.black_hole()
        assert await reader.read([QUEUE]) == {}
        proxy.mend()
        await eventually(lambda: reader.read([QUEUE]))


async def test_a_connection_that_was_lost_between_reads_is_replaced(world: Any) -> None:
    async with reading(world) as (reader, proxy):
        await reader.read([QUEUE])
        proxy.reset()
        await eventually(lambda: proxy.links == 0)
        await eventually(lambda: reader.read([QUEUE]))
        assert proxy.links == 1
