"""Moves records from a queue's former name to its current one, so that lists, replays and reports match them."""

import asyncio
from typing import Final

from envelope.brand import CATALOGUE
from messaging import Database
from monitor.dead_letters import store

_PAUSE_SECONDS: Final = 3600.0


async def run(database: Database) -> None:
    """Renames now and every hour: during an upgrade, replicas of the previous version still write former names."""
    names = {name: CATALOGUE.name_today(name) for name in CATALOGUE.events_queue_formerly}
    while names:
        async with database.transaction() as tx:
            await store.lock_exclusive(tx.connection)
            replays = await store.rename_queues(tx.connection, names)
            # Reports for some of them may have arrived before the names matched.
            await store.resolve_handled(tx.connection, replays)
        await asyncio.sleep(_PAUSE_SECONDS)
