"""Ends quiet hours. Every replica does; row locks share the work, and only the database's clock counts.

A brand's quiet hours last until this loop replaces their period with the next one.
"""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from messaging import Database
from orchestrator.brands import store

log = structlog.get_logger(__name__)

LONGEST_SLEEP: Final = timedelta(seconds=15)
"""How late this replica may notice quiet hours that were set on another replica."""
SHORTEST_SLEEP: Final = timedelta(milliseconds=20)


class QuietPeriods:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self) -> None:
        """Runs until cancelled; sleeps until the next period is over."""
        while True:
            await self.tick()
            async with self._database.connection() as connection:
                due = await store.until_a_quiet_period_ends(connection)
            pause = LONGEST_SLEEP if due is None else min(max(due, SHORTEST_SLEEP), LONGEST_SLEEP)
            await asyncio.sleep(pause.total_seconds())

    async def tick(self) -> None:
        """Ends the periods that are over. The dispatcher then begins the keywords that waited."""
        async with self._database.transaction() as tx:
            ended = await store.end_quiet_periods(tx.connection)
        if ended:
            log.info("quiet_hours_ended", brands=ended)
