"""Deletes ended notifications and messages after 90 days."""

import asyncio
from datetime import timedelta
from typing import Final

from messaging import Database
from monitor.notifications import store

KEPT: Final = timedelta(days=90)
_PAUSE_SECONDS: Final = 3600.0


async def enforce_retention(database: Database) -> None:
    """Deletes expired rows now and every hour, until cancelled."""
    while True:
        async with database.transaction() as tx:
            await store.delete_expired(tx.connection, KEPT)
        await asyncio.sleep(_PAUSE_SECONDS)
