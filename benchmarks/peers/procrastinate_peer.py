"""procrastinate: jobs as rows of PostgreSQL, fetched one by one, several of them at a time."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import envelopes
import procrastinate
import psycopg
from psycopg_pool import AsyncConnectionPool

AT_ONCE = 10
CONNECTIONS = AT_ONCE + 2  # one listens
HEARTBEAT_SECONDS = 3
STALLED_SECONDS = 10

# It warns of an application made in the main module; task names are given here, so nothing hangs on it.
logging.getLogger("procrastinate").setLevel(logging.ERROR)
app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(
        conninfo=envelopes.DATABASE_URL, min_size=CONNECTIONS, max_size=CONNECTIONS
    )
)
pool = AsyncConnectionPool(
    envelopes.DATABASE_URL, min_size=AT_ONCE, max_size=AT_ONCE, kwargs={"autocommit": True}, open=False
)


@app.task(
    name="research.requested",
    queue=envelopes.QUEUE,
    retry=procrastinate.RetryStrategy(max_attempts=5, wait=1) if envelopes.DURABLE else False,
)
async def on_research_requested(envelope: dict[str, Any]) -> None:
    async with pool.connection() as connection:
        await record(connection, envelopes.Effect.of(envelope))


async def record(connection: "psycopg.AsyncConnection[Any]", effect: envelopes.Effect) -> None:
    row = (effect.event_id, effect.keyword, effect.made_at)
    if not envelopes.IDEMPOTENT:
        await connection.execute("insert into effects values (%s, %s, %s)", row)
        return
    async with connection.transaction():
        cursor = await connection.execute(
            "insert into inbox (event_id) values (%s) on conflict do nothing returning event_id", row[:1]
        )
        if await cursor.fetchone() is not None:
            await connection.execute("insert into effects values (%s, %s, %s)", row)


if envelopes.DURABLE:
    # The recipe of procrastinate's guide, at shorter intervals: without it a dead worker's jobs stay in hand for ever.
    @app.periodic(cron="* * * * * */5")
    @app.task(queueing_lock="retry_stalled_jobs", queue=envelopes.QUEUE, priority=100, pass_context=True)
    async def retry_stalled_jobs(_context: procrastinate.JobContext, timestamp: int) -> None:  # noqa: ARG001
        for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_SECONDS):
            await app.job_manager.retry_job(job)


async def prepare() -> None:
    envelopes.create_inbox()
    async with await psycopg.AsyncConnection.connect(envelopes.DATABASE_URL, autocommit=True) as connection:
        await connection.execute(_UNINSTALL)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


# It has no command that takes its schema away again.
_UNINSTALL = """
do $$
declare item record;
begin
    for item in select tablename as name from pg_tables
                where schemaname = 'public' and tablename like 'procrastinate\\_%' loop
        execute format('drop table %I cascade', item.name);
    end loop;
    for item in select oid::regprocedure as name from pg_proc where proname like 'procrastinate\\_%' loop
        execute format('drop function %s cascade', item.name);
    end loop;
    for item in select oid::regtype as name from pg_type
                where typname like 'procrastinate\\_%' and typtype in ('e', 'c') loop
        execute format('drop type %s cascade', item.name);
    end loop;
end $$
"""


async def fill(file: Path) -> None:
    jobs = [{"envelope": envelope} for envelope in envelopes.envelopes(file)]
    async with app.open_async():
        for start in range(0, len(jobs), 1000):
            await on_research_requested.batch_defer_async(*jobs[start : start + 1000])


async def work() -> None:
    async with app.open_async(), pool:
        envelopes.say_ready()
        await app.run_worker_async(
            queues=[envelopes.QUEUE],
            concurrency=AT_ONCE,
            delete_jobs="successful",
            update_heartbeat_interval=HEARTBEAT_SECONDS,
            stalled_worker_timeout=STALLED_SECONDS,
        )


if __name__ == "__main__":
    envelopes.main(
        prepare=lambda: asyncio.run(prepare()),
        fill=lambda file: asyncio.run(fill(file)),
        work=lambda: asyncio.run(work()),
    )
