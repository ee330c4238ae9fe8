"""taskiq over RabbitMQ (taskiq-aio-pika): asynchronous tasks, a hundred of them at a time."""

import asyncio
from pathlib import Path
from typing import Any

import envelopes
import uvloop
from taskiq import TaskiqEvents, TaskiqState
from taskiq.acks import AcknowledgeType
from taskiq.cli.worker.args import WorkerArgs
from taskiq.cli.worker.run import start_listen
from taskiq.middlewares import SimpleRetryMiddleware
from taskiq_aio_pika import AioPikaBroker, Queue, QueueType

AT_ONCE = 100
CONNECTIONS = 10

# Quorum queues are this broker's own default, confirms are aio-pika's, and every message is persistent.
broker = AioPikaBroker(
    envelopes.RABBITMQ_URL,
    qos=AT_ONCE,
    task_queues=[Queue(name=envelopes.QUEUE, type=QueueType.QUORUM)],
)
if envelopes.DURABLE:
    # A task that raises is acknowledged all the same, and would be lost without this.
    broker = broker.with_middlewares(SimpleRetryMiddleware(default_retry_count=5))


@broker.on_event(TaskiqEvents.WORKER_STARTUP)
async def connect(state: TaskiqState) -> None:
    state.pool = await envelopes.open_pool(CONNECTIONS)
    envelopes.say_ready()


@broker.on_event(TaskiqEvents.WORKER_SHUTDOWN)
async def disconnect(state: TaskiqState) -> None:
    await state.pool.close()


@broker.task(task_name="research.requested", retry_on_error=envelopes.DURABLE)
async def on_research_requested(envelope: dict[str, Any]) -> None:
    await envelopes.record(broker.state.pool, envelopes.Effect.of(envelope))


async def prepare() -> None:
    envelopes.create_inbox()
    envelopes.drop_queues(envelopes.QUEUE, "taskiq.dead_letter")
    await broker.startup()
    await broker.shutdown()


async def fill(file: Path) -> None:
    await broker.startup()
    events = list(envelopes.envelopes(file))
    for start in range(0, len(events), 500):
        await asyncio.gather(*(on_research_requested.kiq(event) for event in events[start : start + 500]))
    await broker.shutdown()


def work() -> None:
    # What `taskiq worker` runs in each of its processes, without the process that watches over them.
    start_listen(
        WorkerArgs(
            broker=broker,
            modules=[],
            workers=1,
            max_async_tasks=AT_ONCE,
            ack_type=AcknowledgeType.WHEN_EXECUTED if envelopes.DURABLE else AcknowledgeType.WHEN_SAVED,
            configure_logging=False,
        )
    )


if __name__ == "__main__":
    envelopes.main(
        prepare=lambda: asyncio.run(prepare()), fill=lambda file: uvloop.run(fill(file)), work=work
    )
