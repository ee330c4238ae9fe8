"""Indexes the uploads of brands, each brand in its own corpus, brands with the least to read first."""

from collections.abc import Sequence
from typing import Final

from chassis import Connection
from chassis.polling import Alarm
from messaging import Database
from reading.folder import FileStat
from reading.formats import UnreadableFileError
from reading.pool import ReaderPool
from research.clients.indexer import Indexer
from research.index import progress
from research.index.files import IndexedFile, corpus_of_brand
from research.uploads import store

BRANDS_AT_A_TIME: Final = 2
"""Pollers of each process that call `index_waiting`."""


class UploadFileSource:
    """The `FileSource` of one brand's uploads."""

    def __init__(self, database: Database, brand: str) -> None:
        self._database = database
        self._brand = brand

    async def scan(self) -> list[FileStat]:
        async with self._database.connection() as connection:
            return await store.list_files(connection, self._brand)

    async def read(self, path: str) -> bytes:
        """Return the file's bytes. Raises UnreadableFileError: it was removed meanwhile."""
        async with self._database.connection() as connection:
            content = await store.get_content(connection, self._brand, path)
        if content is None:
            raise UnreadableFileError("it was removed")
        return content

    async def confirm(self, connection: Connection, read: Sequence[IndexedFile]) -> list[IndexedFile]:
        return await store.confirm_files(connection, self._brand, read)


class UploadIndexer:
    """Indexes all brands' uploads; the `alarm` rings when there is one to index."""

    def __init__(self, database: Database, readers: ReaderPool) -> None:
        self._database = database
        self._readers = readers
        self._indexers: dict[str, Indexer] = {}
        self._under_way: set[str] = set()
        self.alarm = Alarm()

    async def index_waiting(self) -> None:
        """Index brand after brand, until no more have unread uploads. Concurrent calls take different brands."""
        while True:
            async with self._database.connection() as connection:
                waiting = await store.brands_with_work(connection)
            brand = next((each for each in waiting if each not in self._under_way), None)
            if brand is None:
                return
            await self._read(brand)

    async def _read(self, brand: str) -> None:
        self._under_way.add(brand)
        try:
            await self._indexer(brand).refresh()
            async with self._database.transaction() as tx:
                await store.expire_research(tx.connection, brand)
                # The row exists while reading is under way; a row found at the start means that reading broke off.
                await progress.forget(tx.connection, corpus_of_brand(brand))
        finally:
            self._under_way.discard(brand)

    def _indexer(self, brand: str) -> Indexer:
        """Return the brand's indexer, one per process: it recognises the reads that it started itself."""
        if brand not in self._indexers:
            files = UploadFileSource(self._database, brand)
            self._indexers[brand] = Indexer(self._database, files, corpus_of_brand(brand), self._readers)
        return self._indexers[brand]
