"""Looks up API keys in batches: only one statement runs at a time, however many requests wait.

A stranger can send any number of well-formed keys. Separate lookups would take every database connection.
Batched, they cost a few statements, and a valid key among them is found by the same statement.
"""

import asyncio
import contextvars

from chassis.database.pool import DatabaseUnavailableError
from messaging import Database
from orchestrator.api.keys import store
from orchestrator.api.keys.store import KeyCredentials


class KeyLookup:
    """Finds keys by their ids. Each lookup reads the database after it was requested; nothing is cached."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._next: _Batch | None = None
        self._reading: asyncio.Task[None] | None = None

    async def find(self, key_id: str) -> KeyCredentials | None:
        """The key's lock; None: there is no such key.

        Raises:
            DatabaseUnavailableError: the database is unreachable.
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
    """The keys of the next statement."""

    def __init__(self) -> None:
        self.key_ids: set[str] = set()
        self.found: dict[str, KeyCredentials] = {}
        self.error: Exception | None = DatabaseUnavailableError("the keys were not looked up")
        """Until they were."""
        self.read = asyncio.Event()
