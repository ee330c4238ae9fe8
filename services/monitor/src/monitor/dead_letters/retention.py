"""Deletes settled dead letters after the retention period: their bodies may hold personal data."""

import asyncio
from datetime import timedelta
from typing import Final

from messaging import Database
from monitor.dead_letters import store
from monitor.dead_letters.finished_work import delete_finished

_PAUSE_SECONDS: Final = 3600.0


class Retention:
    def __init__(self, database: Database, period: timedelta) -> None:
        self._database = database
        self._period = period

    async def run(self) -> None:
        while True:
            async with self._database.transaction() as tx:
                await store.delete_settled(tx.connection, self._period)
                await delete_finished(tx.connection, self._period)
            await asyncio.sleep(_PAUSE_SECONDS)
