"""Whether everything has come to rest: figures that stop changing when the work is done."""

from collections.abc import Collection, Sequence

from faults import recorder
from faults.history import History
from messaging.database import Pool
from messaging.topology import dead_letter_queue

Figures = dict[str, int]


async def figures(
    url: str, database: Pool, queues: Sequence[str], history: History, taken: Collection[str]
) -> Figures:
    """How things stand; `taken` are commands whose dead letters were taken off their queue."""
    depths = await recorder.depths(url, [*queues, *map(dead_letter_queue, queues)])
    ended = {str(row[0]) for row in await database.fetch("select distinct event_id from effects")}
    ended.update(taken)
    return {
        "waiting": sum(max(depths[queue], 0) for queue in queues),
        "outbox": await database.fetchval("select count(*) from outbox"),
        "outbox changes": await database.fetchval("select coalesce(max(n), 0) from outbox_changes"),
        "open": len(history.accepted - ended),
        "doubtful": len(history.in_doubt - ended),
        "dead": sum(max(depths[dead_letter_queue(queue)], 0) for queue in queues),
    }


def at_rest(now: Figures) -> bool:
    """Whether nothing is left to do; what has not ended must be among the dead letters."""
    return now["waiting"] == now["outbox"] == 0 and now["open"] <= now["dead"]
