"""aio-pika without a framework, with the batching of the services under test: their speed without the framework's cost.

What arrived while the last batch was being written is the next batch, up to a hundred messages. A batch is one transaction
and one acknowledgement. Nothing is validated, traced, logged, retried or parked.
"""

import asyncio
import json
import signal
from collections import deque
from typing import Any

import aio_pika
import aiormq
import envelopes
import raw_single
import uvloop

BATCH = 100
PREFETCH = 3 * BATCH

_INBOX = """
    insert into inbox (event_id)
    select * from unnest($1::uuid[])
    on conflict do nothing
    returning event_id
"""
_EFFECTS = "insert into effects select * from unnest($1::uuid[], $2::text[], $3::timestamptz[])"


class Batches:
    """Turns deliveries into transactions, one at a time and in order: a multiple acknowledgement covers all before it."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._waiting: deque[aiormq.abc.DeliveredMessage] = deque()
        self._arrived = asyncio.Event()
        self._stopping = False

    def add(self, delivery: aiormq.abc.DeliveredMessage) -> None:
        self._waiting.append(delivery)
        self._arrived.set()

    def stop(self) -> None:
        self._stopping = True
        self._arrived.set()

    async def run(self) -> None:
        """Runs until it is stopped. Waiting messages then return to the queue with the connection."""
        while True:
            await self._arrived.wait()
            if self._stopping:
                return
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            if not self._waiting:
                self._arrived.clear()
            await self._write([envelopes.Effect.of(json.loads(delivery.body)) for delivery in batch])
            await batch[-1].channel.basic_ack(batch[-1].delivery_tag, multiple=True, wait=False)

    async def _write(self, effects: list[envelopes.Effect]) -> None:
        if not envelopes.IDEMPOTENT:
            await self._pool.execute(_EFFECTS, *_columns(effects))
            return
        # Of messages delivered twice within a batch one is enough. Sorted, so that two workers cannot wait for each other.
        once = {effect.event_id: effect for effect in sorted(effects, key=lambda effect: effect.event_id)}
        async with self._pool.acquire() as connection, connection.transaction():
            fresh = await connection.fetch(_INBOX, list(once))
            if fresh:
                await connection.execute(_EFFECTS, *_columns([once[row["event_id"]] for row in fresh]))


def _columns(effects: list[envelopes.Effect]) -> tuple[list[Any], list[str], list[Any]]:
    return (
        [effect.event_id for effect in effects],
        [effect.keyword for effect in effects],
        [effect.made_at for effect in effects],
    )


async def work() -> None:
    async with (
        await envelopes.open_pool(2) as pool,
        await aio_pika.connect(envelopes.RABBITMQ_URL) as connection,
    ):
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=PREFETCH)
        batches = Batches(pool)

        async def on_delivery(delivery: aiormq.abc.DeliveredMessage) -> None:
            batches.add(delivery)

        # One layer below aio-pika's message objects, like the services under test.
        under = await channel.get_underlay_channel()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, batches.stop)
        await under.basic_consume(envelopes.QUEUE, on_delivery)
        envelopes.say_ready()
        await batches.run()


if __name__ == "__main__":
    envelopes.main(
        prepare=lambda: asyncio.run(raw_single.prepare()),
        fill=lambda file: uvloop.run(raw_single.fill(file)),
        work=lambda: uvloop.run(work()),
    )
