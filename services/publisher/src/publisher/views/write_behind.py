"""Counts that are kept in memory for some seconds, and then added to those in the database in one statement.

What was counted since then is lost if the process is killed or the database goes away; nothing is counted twice.
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
    """`add` adds to what the database has, in the caller's transaction."""

    def __init__(
        self, database: Database, add: Callable[[Connection, Mapping[Key, int]], Awaitable[None]]
    ) -> None:
        self._database = database
        self._add = add
        self._counted: Counter[Key] = Counter()

    def count(self, key: Key) -> None:
        self._counted[key] += 1

    async def keep_writing(self) -> None:
        """Until it is cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(WRITTEN_EVERY_SECONDS)
                await self.write()
        finally:
            with suppress(DatabaseUnavailableError):
                await self.write()

    async def write(self) -> None:
        """What was counted since it was written last.

        Raises:
            DatabaseUnavailableError: the database is away, and what was counted is lost.
        """
        if not self._counted:
            return
        counted, self._counted = self._counted, Counter()
        async with self._database.transaction() as tx:
            await self._add(tx.connection, counted)
