"""Hourly work on the recorded dead letters, and their removal with an erased brand."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from chassis import Connection
from envelope.brand import CATALOGUE
from messaging import Database
from monitor.dead_letters import canary, mass_operations, store
from monitor.dead_letters.edits import delete_old_edits, forget_edits_of_brand, rename_queues_of_edits
from monitor.dead_letters.finished_work import delete_finished
from monitor.dead_letters.masking import RULES, masked_body
from monitor.dead_letters.message_states import forget_removed, note_removed
from monitor.dead_letters.replays import read_head
from monitor.erased import brand_of

_AT_ONCE: Final = 200


async def remove(connection: Connection, brand: str) -> int:
    """Deletes the dead letters with this brand in their payload, in batches, since bodies are large; returns their number."""
    await canary.forget_brand(connection, brand)
    await forget_edits_of_brand(connection, brand)
    await mass_operations.forget_brand(connection, brand)
    removed, after = 0, UUID(int=0)
    while True:
        rows = await connection.fetch(
            "select id, event_id, queue, payload from dead_messages where id > $1 and position(convert_to($2, 'UTF8') in payload) > 0"
            " order by id limit $3",
            after,
            f'"{brand}"',
            _AT_ONCE,
        )
        if not rows:
            return removed
        after = rows[-1]["id"]
        found = [row for row in rows if brand_of(read_head(row["payload"])) == brand]
        await note_removed(connection, ((row["event_id"], row["queue"]) for row in found))
        ids = [row["id"] for row in found]
        removed += _count(await connection.execute("delete from dead_messages where id = any ($1)", ids))


async def mask_bodies(database: Database) -> None:
    """Masks the bodies that an earlier version of the service or of the rules recorded, so that searches find them."""
    after = UUID(int=0)
    while True:
        async with database.transaction() as tx:
            rows = await tx.connection.fetch(
                "select id, payload from dead_messages where id > $1 and masking is distinct from $2 order by id limit $3",
                after,
                RULES,
                _AT_ONCE,
            )
            if not rows:
                return
            after = rows[-1]["id"]
            await tx.connection.execute(
                "update dead_messages d set masked = f.masked, masking = $3"
                " from unnest($1::uuid[], $2::bytea[]) as f (id, masked) where d.id = f.id",
                [row["id"] for row in rows],
                [masked_body(row["payload"]) for row in rows],
                RULES,
            )


def _count(status: str) -> int:
    """The number in a status such as `DELETE 5`."""
    return int(status.rpartition(" ")[2])


async def delete_old(database: Database, period: timedelta) -> None:
    """Deletes settled dead letters after the retention period: their bodies may hold personal data."""
    async with database.transaction() as tx:
        await store.delete_settled(tx.connection, period)
        await delete_old_edits(tx.connection, period)
        await delete_finished(tx.connection, period)
        await forget_removed(tx.connection)
        await canary.delete_ended(tx.connection, period)
        await mass_operations.delete_ended(tx.connection, period)


async def rename_queues(database: Database) -> None:
    """Moves records from a queue's former name to its current one, so that lists, replays and reports match them.

    During an upgrade, replicas of the previous version still write former names.
    """
    names = {name: CATALOGUE.name_today(name) for name in CATALOGUE.events_queue_formerly}
    if not names:
        return
    async with database.transaction() as tx:
        await store.lock_exclusive(tx.connection)
        replays = await store.rename_queues(tx.connection, names)
        await rename_queues_of_edits(tx.connection, names)
        # Reports for some of them may have arrived before the names matched.
        await store.resolve_handled(tx.connection, replays)
