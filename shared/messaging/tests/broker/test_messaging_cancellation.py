"""A connection that is closed while a task waits for an answer over it."""

import asyncio
from contextlib import suppress

import aio_pika
import pytest

from messaging.broker.connections import cancellation_as_connection_error


async def test_who_waits_for_an_answer_over_a_connection_that_is_closed_is_told_of_a_loss(world) -> None:
    async with world.proxy_to_broker() as proxy:
        connection = await aio_pika.connect(proxy.url)
        proxy.black_hole()
        asking = asyncio.create_task(_ask(connection))
        await asyncio.sleep(0)
        await _close(connection)
        with pytest.raises(aio_pika.exceptions.CONNECTION_EXCEPTIONS):
            await asking


async def test_who_is_cancelled_is_cancelled(world) -> None:
    async with world.proxy_to_broker() as proxy:
        connection = await aio_pika.connect(proxy.url)
        proxy.black_hole()
        asking = asyncio.create_task(_ask(connection))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await _close(connection)


async def _ask(connection: aio_pika.abc.AbstractConnection) -> None:
    with cancellation_as_connection_error():
        await connection.channel()


async def _close(connection: aio_pika.abc.AbstractConnection) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            await connection.close()
