"""Looking keys up together: whatever number of requests wait for it, one statement is under way.

A stranger can make any number of keys that look right. Looked up one by one, they would take the connections of everybody;
so they cost a few statements, and a right key among them is found in the same one as they are.
"""

import asyncio
import contextvars

from chassis.database.pool import DatabaseUnavailableError
from messaging import Database
from orchestrator.api.keys import store
from orchestrator.api.keys.store import Lock


class LockLookup:
    """Finds keys by their ids. Each is read after it was asked for, never from memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._next: _Batch | None = None
        self._reading: asyncio.Task[None] | None = None

    async def find(self, key_id: str) -> Lock | None:
        """The key's lock; None: there is no such key.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        if self._next is None:
            self._next = _Batch()
        batch = self._next
        batch.key_ids.add(key_id)
        if self._reading is None:
            # In a context of its own: it is part of no request.
            self._reading = asyncio.create_task(self._read_all(), context=contextvars.Context())
        await batch.read.wait()
        if batch.error is not None:
            raise batch.error
        return batch.found.get(key_id)

    async def _read_all(self) -> None:
        try:
            while (batch := self._next) is not None:
                self._next = None
                try:
                    async with self._database.connection() as connection:
                        batch.found = await store.find_locks(connection, batch.key_ids)
                    batch.error = None
                except Exception as error:  # noqa: BLE001  (of whoever asked)
                    batch.error = error
                finally:
                    batch.read.set()
        finally:
            self._reading = None


class _Batch:
    """Keys that the next statement reads."""

    def __init__(self) -> None:
        self.key_ids: set[str] = set()
        self.found: dict[str, Lock] = {}
        self.error: Exception | None = DatabaseUnavailableError("the keys were not looked up")
        """Until they were."""
        self.read = asyncio.Event()
