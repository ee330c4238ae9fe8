"""Detects the end of work: figures that then stop changing."""

import asyncio
from collections.abc import Collection, Sequence

from chassis.database.pool import Pool
from faults.judging import recorder
from faults.judging.history import CommandHistory
from faults.surroundings.processes import WorkerProcess
from messaging.topology import dead_letter_queue

Figures = dict[str, int]


async def figures(
    url: str,
    database: Pool,
    queues: Sequence[str],
    workers: Sequence[WorkerProcess],
    history: CommandHistory,
    taken: Collection[str],
) -> Figures:
    """Counts the open work; `taken` are commands with dead letters that were taken off their queue."""
    # Asked before the queues: what is in nobody's hand then is among what waits.
    in_hand = sum(await asyncio.gather(*(worker.in_hand() for worker in workers)))
    depths = await recorder.depths(url, [*queues, *map(dead_letter_queue, queues)])
    ended = {str(row[0]) for row in await database.fetch("select distinct event_id from effects")}
    ended.update(taken)
    return {
        "waiting": sum(max(depths[queue], 0) for queue in queues),
        "in hand": in_hand,
        "outbox": await database.fetchval("select count(*) from outbox"),
        "outbox changes": await database.fetchval("select coalesce(max(n), 0) from outbox_changes"),
        "open": len(history.accepted - ended),
        "doubtful": len(history.in_doubt - ended),
        "dead": sum(max(depths[dead_letter_queue(queue)], 0) for queue in queues),
    }


def at_rest(now: Figures) -> bool:
    """Whether all work has ended, in an effect or a dead letter."""
    return now["waiting"] == now["in hand"] == now["outbox"] == 0 and now["open"] <= now["dead"]
