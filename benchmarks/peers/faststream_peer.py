"""FastStream: a typed subscriber, several messages at a time."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Literal
from uuid import UUID

import envelopes
import uvloop
from asyncpg import Pool, Record
from faststream import AckPolicy, FastStream
from faststream.rabbit import Channel, QueueType, RabbitBroker, RabbitQueue
from pydantic import BaseModel

PREFETCH = 100
CONNECTIONS = 10


class Keyword(BaseModel):
    brand_slug: str
    keyword: str
    priority: str


class ResearchRequested(BaseModel):
    event_id: UUID
    type: Literal["research.requested"]
    source: str
    timestamp: datetime
    correlation_id: UUID
    payload: Keyword


QUEUE = (
    RabbitQueue(envelopes.QUEUE, queue_type=QueueType.QUORUM, durable=True)
    if envelopes.DURABLE
    else RabbitQueue(envelopes.QUEUE)
)

broker = RabbitBroker(
    envelopes.RABBITMQ_URL,
    default_channel=Channel(prefetch_count=PREFETCH, publisher_confirms=True),
    logger=None,
)
app = FastStream(broker, logger=None)


class Database:
    pool: "Pool[Record]"


@app.on_startup
async def connect() -> None:
    Database.pool = await envelopes.open_pool(CONNECTIONS)


@app.after_startup
async def ready() -> None:
    envelopes.say_ready()


@app.after_shutdown
async def disconnect() -> None:
    await Database.pool.close()


@broker.subscriber(
    QUEUE, ack_policy=AckPolicy.NACK_ON_ERROR if envelopes.DURABLE else AckPolicy.REJECT_ON_ERROR
)
async def on_research_requested(event: ResearchRequested) -> None:
    await envelopes.record(
        Database.pool, envelopes.Effect(event.event_id, event.payload.keyword, event.timestamp)
    )


async def prepare() -> None:
    envelopes.create_inbox()
    envelopes.drop_queues(envelopes.QUEUE)
    async with broker:
        await broker.declare_queue(QUEUE)


async def fill(file: Path) -> None:
    events = [ResearchRequested.model_validate_json(body) for body in envelopes.bodies(file)]
    async with broker:
        for start in range(0, len(events), 500):
            await asyncio.gather(
                *(
                    broker.publish(event, QUEUE, persist=envelopes.DURABLE)
                    for event in events[start : start + 500]
                )
            )


if __name__ == "__main__":
    envelopes.main(
        prepare=lambda: asyncio.run(prepare()),
        fill=lambda file: uvloop.run(fill(file)),
        work=lambda: uvloop.run(app.run()),
    )
