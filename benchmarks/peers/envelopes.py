"""Common parts of the programs here: command line, environment, and the handling of a message.

Handling a message is one row in `effects`, a table without any unique constraint, so that a message handled twice shows.
At tier T2 a row in `inbox`, in the same transaction, decides whether the effect is still to be made.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, LiteralString
from uuid import UUID, uuid4

import asyncpg
import pika
import psycopg

DATABASE_URL: Final = os.environ["DATABASE_URL"]
RABBITMQ_URL: Final = os.environ["RABBITMQ_URL"]
TIER: Final = os.environ.get("TIER", "T2")

DURABLE: Final = TIER in {"T1", "T2"}
IDEMPOTENT: Final = TIER == "T2"

QUEUE: Final = "research"
MOST_UNDER_WAY: Final = 64

_INBOX: Final[LiteralString] = """
    drop table if exists inbox;
    create table inbox (event_id uuid primary key, processed_at timestamptz not null default now());
"""


@dataclass(frozen=True, slots=True)
class Effect:
    """One row to write; `made_at` is when the message was sent."""

    event_id: UUID
    keyword: str
    made_at: datetime

    @classmethod
    def of(cls, envelope: dict[str, Any]) -> "Effect":
        return cls(
            UUID(envelope["event_id"]),
            envelope["payload"]["keyword"],
            datetime.fromisoformat(envelope["timestamp"]),
        )


def bodies(file: Path) -> list[bytes]:
    """The envelopes of a file as they are, one JSON object each."""
    return [line for line in file.read_bytes().splitlines() if line]


def envelopes(file: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, bodies(file))


def say_ready() -> None:
    print("ready", flush=True)


def main(
    *,
    prepare: Callable[[], object],
    fill: Callable[[Path], object],
    work: Callable[[], object],
    feed: Callable[[float, float], object] | None = None,
) -> None:
    """Runs `prepare`, `fill FILE`, `work` or `feed RATE SECONDS`, as the command line says."""
    match sys.argv[1:]:
        case ["prepare"]:
            prepare()
        case ["fill", file]:
            fill(Path(file))
        case ["work"]:
            work()
        case ["feed", rate, seconds] if feed is not None:
            feed(float(rate), float(seconds))
        case _:
            sys.exit(f"usage: {Path(sys.argv[0]).name} prepare | fill FILE | work | feed RATE SECONDS")


def create_inbox(and_more: LiteralString = "") -> None:
    with psycopg.connect(DATABASE_URL, autocommit=True) as connection:
        connection.execute(_INBOX + and_more)


def drop_queues(*names: str) -> None:
    """Deletes queues of any kind; missing ones are ignored."""
    with pika.BlockingConnection(pika.URLParameters(RABBITMQ_URL)) as connection:
        channel = connection.channel()
        for name in names:
            channel.queue_delete(name)


async def on_schedule(
    rate: float, seconds: float, enqueue: Callable[[list[bytes]], Awaitable[object]]
) -> None:
    """Enqueues message number n at `start + n / rate`, whatever the workers do; prints a JSON object at the end.

    As `benchmarks.load.feeder`, for the queues that only their own library can fill.
    """
    loop = asyncio.get_running_loop()
    began, began_at = loop.time(), datetime.now(UTC)
    total, sent, worst_lag = int(rate * seconds), 0, 0.0
    under_way: set[asyncio.Future[object]] = set()
    while sent < total:
        due = min(int((loop.time() - began) * rate) + 1, total)
        if due > sent:
            worst_lag = max(worst_lag, loop.time() - began - sent / rate)
            made = [_made(number, began_at + timedelta(seconds=number / rate)) for number in range(sent, due)]
            if len(under_way) >= MOST_UNDER_WAY:
                await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            task = asyncio.ensure_future(enqueue(made))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            sent = due
        await asyncio.sleep(max(0.001, began + sent / rate - loop.time()))
    await asyncio.gather(*under_way)
    told = {
        "began_at": began_at.isoformat(),
        "sent": sent,
        "refused": 0,
        "worst_lag_ms": round(worst_lag * 1000, 2),
    }
    print(json.dumps(told), flush=True)


def _made(number: int, at: datetime) -> bytes:
    """One envelope of about 350 bytes."""
    event_id = str(uuid4())
    keyword = f"{number:08d} a keyword of about the length that people search for, in a few words"
    made = {
        "event_id": event_id,
        "type": "research.requested",
        "source": "orchestrator",
        "timestamp": at.isoformat(),
        "correlation_id": event_id,
        "payload": {"brand_slug": f"brand-{number % 50:02d}", "keyword": keyword, "priority": "medium"},
    }
    return json.dumps(made).encode()


# -- asyncpg -----------------------------------------------------------------------------------------------------------


async def open_pool(size: int) -> "asyncpg.Pool[asyncpg.Record]":
    """A pool with its connections open, without the query that resets each one when it is given back.

    The services under test leave that query out as well; nothing here changes the state of a connection.
    """
    return await asyncpg.create_pool(DATABASE_URL, min_size=size, max_size=size, reset=_keep_as_is)


async def _keep_as_is(_connection: Any) -> None:
    await asyncio.sleep(0)


async def record(pool: "asyncpg.Pool[asyncpg.Record]", effect: Effect) -> None:
    """Writes the effect; at T2 once for each event."""
    if not IDEMPOTENT:
        await pool.execute(
            "insert into effects values ($1, $2, $3)", effect.event_id, effect.keyword, effect.made_at
        )
        return
    async with pool.acquire() as connection, connection.transaction():
        await record_in(connection, effect)


async def record_in(connection: Any, effect: Effect) -> bool:
    """Writes the effect in a transaction of the caller; returns whether the event is new."""
    fresh = await connection.fetchval(
        "insert into inbox (event_id) values ($1) on conflict do nothing returning event_id", effect.event_id
    )
    if fresh is None:
        return False
    await connection.execute(
        "insert into effects values ($1, $2, $3)", effect.event_id, effect.keyword, effect.made_at
    )
    return True


# -- psycopg -----------------------------------------------------------------------------------------------------------


def record_sync(connection: "psycopg.Connection[Any]", effect: Effect) -> None:
    """The same over a connection in autocommit mode."""
    row = (effect.event_id, effect.keyword, effect.made_at)
    if not IDEMPOTENT:
        connection.execute("insert into effects values (%s, %s, %s)", row)
        return
    with connection.transaction():
        fresh = connection.execute(
            "insert into inbox (event_id) values (%s) on conflict do nothing returning event_id", row[:1]
        ).fetchone()
        if fresh is not None:
            connection.execute("insert into effects values (%s, %s, %s)", row)
