"""Common parts of the programs here: command line, environment, and the handling of a message.

Handling a message is one row in `effects`, a table without any unique constraint, so that a message handled twice shows.
At tier T2 a row in `inbox`, in the same transaction, decides whether the effect is still to be made.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import asyncpg
import pika
import psycopg

DATABASE_URL: Final = os.environ["DATABASE_URL"]
RABBITMQ_URL: Final = os.environ["RABBITMQ_URL"]
TIER: Final = os.environ.get("TIER", "T2")

DURABLE: Final = TIER in {"T1", "T2"}
IDEMPOTENT: Final = TIER == "T2"

QUEUE: Final = "research"

_INBOX: Final = """
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
    *, prepare: Callable[[], object], fill: Callable[[Path], object], work: Callable[[], object]
) -> None:
    """Runs `prepare`, `fill FILE` or `work`, as the command line says."""
    match sys.argv[1:]:
        case ["prepare"]:
            prepare()
        case ["fill", file]:
            fill(Path(file))
        case ["work"]:
            work()
        case _:
            sys.exit(f"usage: {Path(sys.argv[0]).name} prepare | fill FILE | work")


def create_inbox() -> None:
    with psycopg.connect(DATABASE_URL, autocommit=True) as connection:
        connection.execute(_INBOX)


def drop_queues(*names: str) -> None:
    """Deletes queues of any kind; missing ones are ignored."""
    with pika.BlockingConnection(pika.URLParameters(RABBITMQ_URL)) as connection:
        channel = connection.channel()
        for name in names:
            channel.queue_delete(name)


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
        fresh = await connection.fetchval(
            "insert into inbox (event_id) values ($1) on conflict do nothing returning event_id",
            effect.event_id,
        )
        if fresh is not None:
            await connection.execute(
                "insert into effects values ($1, $2, $3)", effect.event_id, effect.keyword, effect.made_at
            )


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
