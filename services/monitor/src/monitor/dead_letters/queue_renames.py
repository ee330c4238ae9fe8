"""What is recorded under the former name of a queue is shown, replayed and settled under that of today."""

import asyncio
from typing import Final

from envelope.brand import CATALOGUE
from messaging import Database
from monitor.dead_letters import store

_PAUSE_SECONDS: Final = 3600.0


async def run(database: Database) -> None:
    """Now, and every hour: during an upgrade, processes of the version before still write former names."""
    names = {name: CATALOGUE.name_today(name) for name in CATALOGUE.events_queue_formerly}
    while names:
        async with database.transaction() as tx:
            await store.lock_exclusive(tx.connection)
            replays = await store.rename_queues(tx.connection, names)
            # Word of some of them may have come when the names did not match yet.
            await store.resolve_handled(tx.connection, replays)
        await asyncio.sleep(_PAUSE_SECONDS)
