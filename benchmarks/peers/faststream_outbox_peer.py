"""FastStream with an inbox and an outbox: each message leaves an effect and one outgoing message.

FastStream has no outbox. This is the usual one, as its users write it: a row in the handler's transaction, and a task beside
the subscriber that publishes rows with confirms and deletes them.
"""

import asyncio
import json
from datetime import UTC, datetime
from uuid import uuid4

import envelopes
import uvloop
from asyncpg import Pool, Record
from faststream import FastStream
from faststream.rabbit import Channel, QueueType, RabbitBroker, RabbitQueue
from faststream_peer import CONNECTIONS, PREFETCH, QUEUE, ResearchRequested, fill

ANSWERS = "answers"
BATCH = 500
LOOK_AGAIN_SECONDS = 0.5
"""Another process may have written rows, and ended before it published them."""

_OUTBOX = """
    drop table if exists outbox;
    create table outbox (id uuid primary key, body text not null);
"""
_TAKE = """
    delete from outbox where id in (select id from outbox order by id limit $1 for update skip locked)
    returning body
"""

broker = RabbitBroker(
    envelopes.RABBITMQ_URL,
    default_channel=Channel(prefetch_count=PREFETCH, publisher_confirms=True),
    logger=None,
)
app = FastStream(broker, logger=None)
answers = RabbitQueue(ANSWERS, queue_type=QueueType.QUORUM, durable=True)


class State:
    pool: "Pool[Record]"
    relaying: "asyncio.Task[None]"
    written: asyncio.Event


@app.on_startup
async def connect() -> None:
    State.pool = await envelopes.open_pool(CONNECTIONS)
    State.written = asyncio.Event()


@app.after_startup
async def ready() -> None:
    State.relaying = asyncio.create_task(relay())
    envelopes.say_ready()


@app.on_shutdown
async def stop() -> None:
    State.relaying.cancel()
    await asyncio.gather(State.relaying, return_exceptions=True)


@app.after_shutdown
async def disconnect() -> None:
    await State.pool.close()


@broker.subscriber(QUEUE)
async def on_research_requested(event: ResearchRequested) -> None:
    answer = {
        "event_id": str(uuid4()),
        "type": "research.completed",
        "source": "research",
        "timestamp": datetime.now(UTC).isoformat(),
        "correlation_id": str(event.correlation_id),
        "causation_id": str(event.event_id),
        "payload": {"brand_slug": event.payload.brand_slug, "keyword": event.payload.keyword},
    }
    effect = envelopes.Effect(event.event_id, event.payload.keyword, event.timestamp)
    async with State.pool.acquire() as connection, connection.transaction():
        if not await envelopes.record_in(connection, effect):
            return
        await connection.execute("insert into outbox values ($1, $2)", answer["event_id"], json.dumps(answer))
    State.written.set()


async def relay() -> None:
    """Publishes rows of the outbox and deletes them in one transaction, which ends after the confirms."""
    while True:
        State.written.clear()
        async with State.pool.acquire() as connection, connection.transaction():
            rows = await connection.fetch(_TAKE, BATCH)
            await asyncio.gather(*(broker.publish(row["body"], answers, persist=True) for row in rows))
        if not rows:
            try:
                await asyncio.wait_for(State.written.wait(), LOOK_AGAIN_SECONDS)
            except TimeoutError:
                continue


async def prepare() -> None:
    envelopes.create_inbox(_OUTBOX)
    envelopes.drop_queues(envelopes.QUEUE, ANSWERS)
    async with broker:
        await broker.declare_queue(QUEUE)
        await broker.declare_queue(answers)


if __name__ == "__main__":
    envelopes.main(
        prepare=lambda: asyncio.run(prepare()),
        fill=lambda file: uvloop.run(fill(file)),
        work=lambda: uvloop.run(app.run()),
    )
