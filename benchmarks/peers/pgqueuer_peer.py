"""PgQueuer: jobs as rows of PostgreSQL, fetched and settled in batches over asyncpg."""

import asyncio
import json
import signal
from datetime import timedelta
from pathlib import Path

import asyncpg
import envelopes
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.executors import DatabaseRetryEntrypointExecutor
from pgqueuer.models import Job
from pgqueuer.queries import Queries

BATCH = 100
CONNECTIONS = 10
# A job whose worker gave no sign of life for so long is taken by another one, which looks again at least this often.
HEARTBEAT = timedelta(seconds=10)
LOOK_AGAIN = timedelta(seconds=5)


async def prepare() -> None:
    envelopes.create_inbox()
    connection = await asyncpg.connect(envelopes.DATABASE_URL)
    queries = Queries(AsyncpgDriver(connection))
    if await queries.schema_is_installed():
        await queries.uninstall()
    await queries.install()
    await queries.optimize_autovacuum()
    await connection.close()


async def fill(file: Path) -> None:
    bodies = envelopes.bodies(file)
    async with asyncpg.create_pool(envelopes.DATABASE_URL) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))
        for start in range(0, len(bodies), 1000):
            chunk = bodies[start : start + 1000]
            await queries.enqueue([envelopes.QUEUE] * len(chunk), chunk, [0] * len(chunk))


async def feed(rate: float, seconds: float) -> None:
    async with asyncpg.create_pool(envelopes.DATABASE_URL) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))

        async def enqueue(bodies: list[bytes]) -> None:
            await queries.enqueue([envelopes.QUEUE] * len(bodies), list(bodies), [0] * len(bodies))

        await envelopes.on_schedule(rate, seconds, enqueue)


async def work() -> None:
    connection = await asyncpg.connect(envelopes.DATABASE_URL)
    pool = await envelopes.open_pool(CONNECTIONS)
    # As its guide says: a connection of its own for the queue, a pool for everything else.
    queue = PgQueuer(AsyncpgDriver(connection))

    # A job that raises would be logged and deleted without this.
    @queue.entrypoint(
        envelopes.QUEUE,
        executor_factory=(lambda parameters: DatabaseRetryEntrypointExecutor(parameters, max_attempts=5))
        if envelopes.DURABLE
        else None,
    )
    async def on_research_requested(job: Job) -> None:
        assert job.payload is not None
        await envelopes.record(pool, envelopes.Effect.of(json.loads(job.payload)))

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, queue.shutdown.set)
    envelopes.say_ready()
    await queue.run(
        batch_size=BATCH,
        max_concurrent_tasks=2 * BATCH,
        dequeue_timeout=LOOK_AGAIN,
        heartbeat_timeout=HEARTBEAT,
    )
    await pool.close()
    await connection.close()


if __name__ == "__main__":
    envelopes.main(
        prepare=lambda: asyncio.run(prepare()),
        fill=lambda file: uvloop.run(fill(file)),
        work=lambda: uvloop.run(work()),
        feed=lambda rate, seconds: uvloop.run(feed(rate, seconds)),
    )
