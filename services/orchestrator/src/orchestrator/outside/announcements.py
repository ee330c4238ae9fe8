"""What is told though nothing happens just now. Every replica looks; rows make it once."""

import asyncio
from datetime import timedelta
from typing import Final

from messaging import Database
from orchestrator.outside.ends import tell_of_ends
from orchestrator.outside.reminders import remind

EVERY: Final = timedelta(minutes=1)


class EventPoller:
    """Reminds of drafts that wait, and tells of cycles that a replica of the version before has ended."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self) -> None:
        """Goes on until it is cancelled."""
        while True:
            await self.announce()
            await asyncio.sleep(EVERY.total_seconds())

    async def announce(self) -> None:
        """One round."""
        async with self._database.transaction() as tx:
            await remind(tx)
        while True:
            async with self._database.transaction() as tx:
                if not await tell_of_ends(tx):
                    break
