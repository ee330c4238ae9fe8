"""Publishes integration events that are due by time. Every replica polls; rows make each event unique."""

import asyncio
from datetime import timedelta
from typing import Final

from messaging import Database
from orchestrator.integration_events.ended_cycles import announce_ended_cycles
from orchestrator.integration_events.waiting_drafts import announce_waiting_drafts

EVERY: Final = timedelta(minutes=1)


class EventPoller:
    """Publishes `drafts.waiting`, and `cycle.completed` for cycles that an older replica ended."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            await self.announce()
            await asyncio.sleep(EVERY.total_seconds())

    async def announce(self) -> None:
        """Publishes the events that are due now."""
        async with self._database.transaction() as tx:
            await announce_waiting_drafts(tx)
        while True:
            async with self._database.transaction() as tx:
                if not await announce_ended_cycles(tx):
                    break
