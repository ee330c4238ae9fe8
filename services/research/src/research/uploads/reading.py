"""Reads what brands upload, each into a corpus of its own; whoever has uploaded little does not wait for who has much."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from chassis import Connection
from messaging import Database
from research.clients.indexer import Indexer
from research.index import progress
from research.index.files import FileState, IndexedFile, corpus_of_brand
from research.reading.formats import UnreadableFileError
from research.reading.pool import Readers
from research.uploads import store

BRANDS_AT_A_TIME: Final = 2
LOOK_SECONDS: Final = 10.0
"""Between looks for what another replica has taken in and did not live to read."""


class UploadedFiles:
    """What one brand has uploaded; for an indexer."""

    def __init__(self, database: Database, brand: str) -> None:
        self._database = database
        self._brand = brand

    async def scan(self) -> list[FileState]:
        async with self._database.connection() as connection:
            return await store.files(connection, self._brand)

    async def read(self, path: str) -> bytes:
        """Raises UnreadableFileError: it was removed meanwhile."""
        async with self._database.connection() as connection:
            content = await store.content_of(connection, self._brand, path)
        if content is None:
            raise UnreadableFileError("it was removed")
        return content

    async def confirmed(self, connection: Connection, read: Sequence[IndexedFile]) -> list[IndexedFile]:
        return await store.confirmed(connection, self._brand, read)


class UploadReading:
    """`run` reads whatever there is to read; `look` has it begin at once."""

    def __init__(self, database: Database, readers: Readers) -> None:
        self._database = database
        self._readers = readers
        self._indexers: dict[str, Indexer] = {}
        self._under_way: set[str] = set()
        self._asked = asyncio.Event()

    def look(self) -> None:
        self._asked.set()

    async def run(self) -> None:
        """Never returns."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._asked.clear()
                async with self._database.connection() as connection:
                    waiting = await store.brands_with_work(connection)
                for brand in waiting:
                    if brand not in self._under_way and len(self._under_way) < BRANDS_AT_A_TIME:
                        self._under_way.add(brand)
                        group.create_task(self._read(brand))
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._asked.wait()

    async def _read(self, brand: str) -> None:
        try:
            await self._indexer(brand).refresh()
            async with self._database.transaction() as tx:
                await store.look_anew(tx.connection, brand)
                # The row is there while something is being read; found at the start, it tells that it broke off.
                await progress.forget(tx.connection, corpus_of_brand(brand))
        finally:
            self._under_way.discard(brand)
            self._asked.set()

    def _indexer(self, brand: str) -> Indexer:
        """One for the life of the process, which knows by it what it has begun itself."""
        if brand not in self._indexers:
            files = UploadedFiles(self._database, brand)
            self._indexers[brand] = Indexer(self._database, files, corpus_of_brand(brand), self._readers)
        return self._indexers[brand]
