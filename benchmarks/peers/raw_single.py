"""aio-pika without a framework: one transaction for each message, a hundred of them at a time."""

import asyncio
import json
import signal
from pathlib import Path

import aio_pika
import envelopes
import uvloop
from aio_pika.abc import AbstractIncomingMessage, AbstractQueue, AbstractRobustChannel

PREFETCH = 100
CONNECTIONS = 10


async def declare(channel: AbstractRobustChannel) -> AbstractQueue:
    if envelopes.DURABLE:
        return await channel.declare_queue(
            envelopes.QUEUE, durable=True, arguments={"x-queue-type": "quorum"}
        )
    return await channel.declare_queue(envelopes.QUEUE)


async def prepare() -> None:
    envelopes.create_inbox()
    envelopes.drop_queues(envelopes.QUEUE)
    async with await aio_pika.connect_robust(envelopes.RABBITMQ_URL) as connection:
        await declare(await connection.channel())


async def fill(file: Path) -> None:
    mode = aio_pika.DeliveryMode.PERSISTENT if envelopes.DURABLE else aio_pika.DeliveryMode.NOT_PERSISTENT
    messages = [aio_pika.Message(body, delivery_mode=mode) for body in envelopes.bodies(file)]
    async with await aio_pika.connect_robust(envelopes.RABBITMQ_URL) as connection:
        channel = await connection.channel(publisher_confirms=True)
        for start in range(0, len(messages), 500):
            await asyncio.gather(
                *(
                    channel.default_exchange.publish(message, envelopes.QUEUE)
                    for message in messages[start : start + 500]
                )
            )


async def work() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with (
        await envelopes.open_pool(CONNECTIONS) as pool,
        await aio_pika.connect_robust(envelopes.RABBITMQ_URL) as connection,
    ):
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=PREFETCH)
        queue = await declare(channel)

        in_hand: set[asyncio.Task[None] | None] = set()

        async def handle(message: AbstractIncomingMessage) -> None:
            task = asyncio.current_task()
            in_hand.add(task)
            try:
                await process(message)
            finally:
                in_hand.discard(task)

        async def process(message: AbstractIncomingMessage) -> None:
            # Acknowledges when the block ends, and gives the message back to the queue when it raises.
            async with message.process(requeue=True):
                await envelopes.record(pool, envelopes.Effect.of(json.loads(message.body)))

        consumer = await queue.consume(handle)
        envelopes.say_ready()
        await stop.wait()
        await queue.cancel(consumer)
        await asyncio.gather(*in_hand, return_exceptions=True)


if __name__ == "__main__":
    envelopes.main(
        prepare=lambda: asyncio.run(prepare()),
        fill=lambda file: uvloop.run(fill(file)),
        work=lambda: uvloop.run(work()),
    )
