"""Removes the dead letters of an erased brand."""

from typing import Final
from uuid import UUID

from chassis import Connection
from monitor.dead_letters.replays import read_head
from monitor.erased import brand_of

_AT_ONCE: Final = 200


async def remove(connection: Connection, brand: str) -> int:
    """Deletes the dead letters with this brand in their payload, in batches, since bodies are large; returns their number."""
    removed, after = 0, UUID(int=0)
    while True:
        rows = await connection.fetch(
            "select id, payload from dead_messages where id > $1 and position(convert_to($2, 'UTF8') in payload) > 0"
            " order by id limit $3",
            after,
            f'"{brand}"',
            _AT_ONCE,
        )
        if not rows:
            return removed
        after = rows[-1]["id"]
        ids = [row["id"] for row in rows if brand_of(read_head(row["payload"])) == brand]
        removed += _count(await connection.execute("delete from dead_messages where id = any ($1)", ids))


def _count(status: str) -> int:
    """The number in a status such as `DELETE 5`."""
    return int(status.rpartition(" ")[2])
