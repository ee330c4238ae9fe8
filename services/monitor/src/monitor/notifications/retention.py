"""Deletes ended notifications and messages after 90 days."""

from datetime import timedelta
from typing import Final

from messaging import Database
from monitor.notifications import store

KEPT: Final = timedelta(days=90)


async def enforce_retention(database: Database) -> None:
    """Deletes expired rows."""
    async with database.transaction() as tx:
        await store.delete_expired(tx.connection, KEPT)
