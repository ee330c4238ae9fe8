"""prune_day: deletes a day of the inbox by dropping its partition, and by `delete` on a table without partitions."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import Final
from uuid import uuid4

import asyncpg

from benchmarks.reporting.results import ResultRow, spread_of
from benchmarks.run import BenchmarkRun
from chassis import Connection
from messaging.storage import partitions
from messaging.storage.migrations import migrate

_REPEATED: Final = 1_000_000
_COLUMNS: Final = """
    (event_id uuid not null, type text not null, queue text not null, outcome text not null,
     processed_at timestamptz not null default now(), primary key (event_id))
"""
_INSERT: Final = (
    "insert into processed_events (event_id, type, queue, outcome) values ($1, 'a', 'b', 'handled')"
)
_INSERT_FLAT: Final = "insert into flat (event_id, type, queue, outcome) values ($1, 'a', 'b', 'handled')"
_DAY: Final = """
    select (lpad(to_hex(ms), 12, '0') || '7' || substr(noise, 1, 3) || '8' || substr(noise, 4, 15))::uuid,
           'research.requested', 'research-commands', 'handled', to_timestamp(ms / 1000.0)
    from (select floor(extract(epoch from $2::timestamptz) * 1000 + number * (86400000.0 / ($1::int + 1)))::bigint as ms,
                 md5(number::text) as noise
          from generate_series(1, $1::int) as number) as made
"""


@dataclass(frozen=True, slots=True)
class Pruning:
    """The duration of deleting one day, in milliseconds."""

    took: float
    held_up: float
    """The longest wait of another connection for an insert of one row meanwhile."""


def prune_day(run: BenchmarkRun) -> list[ResultRow]:
    return [
        row
        for size in run.of((100_000, 1_000_000), (100_000, 1_000_000, 5_000_000))
        for row in _of_size(run, size)
    ]


def _of_size(run: BenchmarkRun, size: int) -> list[ResultRow]:
    # Making the largest takes minutes.
    rounds = run.of(1, run.rounds if size <= _REPEATED else 1)
    with run.nodes.database() as url:
        dropped, deleted = asyncio.run(_measure(url, size, rounds))
    run.log(
        f"prune_day {size:,} rows: dropped in {_took(dropped):.0f} ms, others held up {_held_up(dropped):.0f} ms;"
        f" deleted in {_took(deleted):.0f} ms"
    )
    return [
        _row(f"ours, {size:.0e}".replace("e+0", "e"), "ours", size, dropped),
        _row(f"delete, {size:.0e}".replace("e+0", "e"), "comparison", size, deleted),
    ]


def _took(prunings: list[Pruning]) -> float:
    return median(each.took for each in prunings)


def _held_up(prunings: list[Pruning]) -> float:
    return max(each.held_up for each in prunings)


def _row(system: str, kind: str, size: int, prunings: list[Pruning]) -> ResultRow:
    figures = [each.took for each in prunings]
    return ResultRow(
        "prune_day",
        system,
        p50_ms=round(median(figures), 1),
        kind=kind,
        rounds=[round(figure, 1) for figure in figures],
        spread=spread_of(figures),
        extra={"rows": size, "others_held_up_ms": round(_held_up(prunings), 1)},
    )


async def _measure(url: str, size: int, rounds: int) -> tuple[list[Pruning], list[Pruning]]:
    await migrate(url)
    connection: Connection = await asyncpg.connect(url)
    other: Connection = await asyncpg.connect(url)
    try:
        # The day before the first kept one: `maintain` finds it as every midnight.
        day = datetime.now(UTC).date() - partitions.RETENTION - timedelta(days=1)
        await connection.execute(f"create table flat {_COLUMNS}")
        dropped, deleted = [], []
        for _ in range(rounds):
            await _preload(connection, day, size)
            dropped.append(await _prune(partitions.maintain(connection), other, _INSERT))
            assert await connection.fetchval("select to_regclass($1)", partitions.partition_name(day)) is None
            forget = "delete from flat where processed_at < now() - interval '1 day'"
            deleted.append(await _prune(connection.execute(forget), other, _INSERT_FLAT))
            await connection.execute("vacuum flat")
        return dropped, deleted
    finally:
        await other.close()
        await connection.close()


async def _preload(connection: Connection, day: date, size: int) -> None:
    name, begin = partitions.partition_name(day), datetime(day.year, day.month, day.day, tzinfo=UTC)
    first, after = partitions.lower_bound(day), partitions.lower_bound(day + timedelta(days=1))
    await connection.execute(
        f"create table {name} partition of processed_events for values from ('{first}') to ('{after}')"
    )
    # Names and bounds above and below are made here, of dates alone.
    await connection.execute(f"insert into {name} {_DAY}", size, begin)
    await connection.execute(f"insert into flat {_DAY}", size, begin)
    await connection.execute(f"analyze {name}, flat")
    await connection.execute("checkpoint")


async def _prune(work: Awaitable[object], other: Connection, insert: str) -> Pruning:
    """Does the work while another connection inserts row after row."""
    await other.execute(insert, uuid4())
    held_up = 0.0
    working = asyncio.create_task(_milliseconds(work))
    while not working.done():
        held_up = max(held_up, await _milliseconds(other.execute(insert, uuid4())))
    return Pruning(await working, held_up)


async def _milliseconds(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000
