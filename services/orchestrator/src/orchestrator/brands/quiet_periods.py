"""Ends the quiet hours of brands when they are over. Every replica does; row locks share it out, and only the database's clock counts.

A brand keeps quiet for as long as its period is not replaced by the next one: what nobody has ended yet, lasts.
"""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from messaging import Database
from orchestrator.brands import store

log = structlog.get_logger(__name__)

LONGEST_SLEEP: Final = timedelta(seconds=15)
"""How late quiet hours that were set on another replica may end."""
SHORTEST_SLEEP: Final = timedelta(milliseconds=20)


class QuietPeriods:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self) -> None:
        """Goes on until it is cancelled, asleep until the next period is over."""
        while True:
            await self.tick()
            async with self._database.connection() as connection:
                due = await store.until_a_quiet_period_ends(connection)
            pause = LONGEST_SLEEP if due is None else min(max(due, SHORTEST_SLEEP), LONGEST_SLEEP)
            await asyncio.sleep(pause.total_seconds())

    async def tick(self) -> None:
        """Ends what is over now. What waited is begun by whoever looks for keywords that are overlooked."""
        async with self._database.transaction() as tx:
            ended = await store.end_quiet_periods(tx.connection)
        if ended:
            log.info("quiet_hours_ended", brands=ended)
