"""Counts that collect in memory for some seconds, and are then added to the database in one statement.

A killed process or an unreachable database loses the last counts; nothing is counted twice.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final, Generic, TypeVar

from chassis import Connection, DatabaseUnavailableError
from messaging import Database

WRITTEN_EVERY_SECONDS: Final = 5.0

Key = TypeVar("Key")


class WriteBehindCounter(Generic[Key]):
    """Counts keys in memory; `add` adds the counts to the database, in the caller's transaction."""

    def __init__(
        self, database: Database, add: Callable[[Connection, Mapping[Key, int]], Awaitable[None]]
    ) -> None:
        self._database = database
        self._add = add
        self._counted: Counter[Key] = Counter()

    def count(self, key: Key) -> None:
        self._counted[key] += 1

    async def keep_writing(self) -> None:
        """Writes at an interval until cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(WRITTEN_EVERY_SECONDS)
                await self.write()
        finally:
            with suppress(DatabaseUnavailableError):
                await self.write()

    async def write(self) -> None:
        """Writes the counts since the last write.

        Raises:
            DatabaseUnavailableError: the database is away, and what was counted is lost.
        """
        if not self._counted:
            return
        counted, self._counted = self._counted, Counter()
        async with self._database.transaction() as tx:
            await self._add(tx.connection, counted)
