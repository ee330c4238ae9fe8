"""Brings the index up to date with a source of files: reads changed files, several at a time, and reports progress."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Protocol
from uuid import uuid4

import asyncpg
import structlog

from chassis import Connection, DatabaseUnavailableError
from messaging import Database
from reading.folder import FileStat
from reading.formats import UnreadableFileError
from reading.pool import HostileDocumentError, ReaderPool
from reading.works import is_work_file, parse_work
from research import store
from research.index import lookup, progress, reads
from research.index.collection_facts import update_collection_facts
from research.index.exclusions import (
    exclude_paragraphs,
    find_documents_to_trim,
    find_overtrimmed_files,
    find_repeated_paragraphs,
)
from research.index.files import (
    IndexedFile,
    clear_content_hashes,
    content_hashes,
    find_changes,
    forget_files,
    forget_other_folders,
    save_files,
    update_file_stats,
)

log = structlog.get_logger(__name__)

# Limits of one batch: small, so that neither memory nor a lock grows with the corpus.
BATCH_FILES = 24
BATCH_BYTES = 1_000_000
# The next batches are read while one is written.
BATCHES_AT_A_TIME = 3
PROGRESS_SECONDS = 5.0
# Between two tries to lock the corpus.
TURN_SECONDS = 0.5


class FileSource(Protocol):
    """A folder, or another collection of files, that an `Indexer` reads."""

    async def scan(self) -> list[FileStat]:
        """List all files by path. May raise an error of the collection as a whole."""

    async def read(self, path: str) -> bytes:
        """Return the file's bytes. Raises UnreadableFileError: it cannot be read."""

    async def confirm(self, connection: Connection, read: Sequence[IndexedFile]) -> list[IndexedFile]:
        """Return those that still exist, with metadata from elsewhere added. Runs in the transaction that stores them."""


class Indexer:
    """Indexes one source of files under the name `corpus`. `readers` start only if files have to be read."""

    def __init__(self, database: Database, files: FileSource, corpus: str, readers: ReaderPool) -> None:
        self._database = database
        self._files = files
        self._corpus = corpus
        self._readers = readers
        self._reader = uuid4()
        self._reported = 0.0
        self._has_indexed = False

    async def refresh(self, settled: Callable[[], None] = lambda: None) -> None:
        """Bring the index up to date once. Of several replicas one works at a time.

        Calls `settled` once every file is read or set aside. Raises the errors of `FileSource.scan`.
        """
        async with self._lock():
            try:
                await self._refresh(settled)
            except BaseException:
                # A cancellation or a lost database says nothing against the files under way.
                with suppress(DatabaseUnavailableError):
                    async with self._database.connection() as connection:
                        await reads.cancel_reads(connection, self._reader)
                raise

    @asynccontextmanager
    async def _lock(self) -> AsyncIterator[None]:
        while True:
            async with self._database.connection() as connection, connection.transaction():
                if await reads.try_lock_corpus(connection, self._corpus):
                    yield
                    return
            await asyncio.sleep(TURN_SECONDS)

    async def _refresh(self, settled: Callable[[], None]) -> None:
        started = self._reported = time.monotonic()
        found = await self._files.scan()
        files = len(found)
        async with self._database.connection() as connection:
            changes = await find_changes(connection, self._corpus, found)
            await reads.cancel_reads(connection, self._reader)
            starts = await reads.unfinished_reads(connection, self._corpus)
        del found
        # Rights are known before the documents that they are about.
        changed = sorted(changes.to_read, key=lambda state: not is_work_file(state.path))
        gone = changes.gone
        async with self._database.transaction() as tx:
            await forget_other_folders(tx.connection, self._corpus)
            await forget_files(tx.connection, self._corpus, gone)
            await reads.end(
                tx.connection, self._corpus, {state.path for state in starts.keys() - set(changed)}
            )
            await progress.begin(tx.connection, self._corpus, len(changed))
        # Files that a service may have died of come last, one by one. Requests wait for them too: a service killed during
        # the first files of a corpus may have died of none of them, and would otherwise answer that there is nothing.
        # A file that kills twice is set aside.
        suspects = [state for state in changed if state in starts]
        async with self._readers as readers:
            skipped = await self._index(readers, [state for state in changed if state not in starts])
            for state in suspects:
                if starts[state] < reads.MAX_STARTS:
                    skipped += await self._index(readers, [state])
                else:
                    skipped += 1
                    await self._save([_crashed(self._corpus, state, starts[state])])
            # A previous process may have ended before it finished this.
            if changed or gone or not self._has_indexed:
                await self._exclude_repeats(readers)
                await update_collection_facts(self._database, self._corpus)
                self._has_indexed = True
                async with self._database.connection() as connection:
                    await lookup.update_planner_statistics(connection)
            async with self._database.transaction() as tx:
                await progress.complete(tx.connection, self._corpus)
                if any(map(is_work_file, [*gone, *(state.path for state in changed)])):
                    await store.expire_researches(tx.connection)
            settled()
        if changed or gone:
            log.info(
                "corpus_indexed",
                corpus=self._corpus,
                files=files,
                read=len(changed),
                skipped=skipped,
                removed=len(gone),
                seconds=round(time.monotonic() - started, 2),
            )
        else:
            seconds = round(time.monotonic() - started, 3)
            log.debug("corpus_unchanged", corpus=self._corpus, files=files, seconds=seconds)

    async def _index(self, readers: ReaderPool, states: Sequence[FileStat]) -> int:
        """Read and store these files; return how many are unusable."""
        slots = asyncio.Semaphore(BATCHES_AT_A_TIME)
        skipped = 0

        async def batch(states: Sequence[FileStat]) -> None:
            nonlocal skipped
            try:
                files = await self._read_all(readers, states)
                await self._save(files)
                skipped += sum(file.problem is not None for file in files)
            finally:
                slots.release()

        async with asyncio.TaskGroup() as group:
            for each in _batches(states):
                await slots.acquire()
                group.create_task(batch(each))
                await self._report()
        return skipped

    async def _report(self) -> None:
        if time.monotonic() - self._reported >= PROGRESS_SECONDS:
            self._reported = time.monotonic()
            async with self._database.connection() as connection:
                now = await progress.get_progress(connection, self._corpus)
            log.info("corpus_indexing", done=now.done, to_read=now.to_read)

    async def _read_all(self, readers: ReaderPool, states: Sequence[FileStat]) -> list[IndexedFile]:
        async with self._database.connection() as connection:
            await reads.begin(connection, self._corpus, states, self._reader)
            hashes = await content_hashes(connection, self._corpus, [each.path for each in states])
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._read(readers, state, hashes.get(state.path))) for state in states
            ]
        return [task.result() for task in tasks]

    async def _read(self, readers: ReaderPool, state: FileStat, known: bytes | None) -> IndexedFile:
        content_hash = None
        try:
            async with readers.memory_slots:
                content = await self._files.read(state.path)
                content_hash = hashlib.sha256(content).digest()
                if content_hash == known:
                    return IndexedFile(state, None, content_hash=content_hash, unchanged=True)
                if is_work_file(state.path):
                    return IndexedFile(state, None, content_hash=content_hash, work=parse_work(content))
                return IndexedFile(state, await readers.read(state.path, content), content_hash=content_hash)
        except UnreadableFileError as error:
            log.warning("corpus_file_skipped", corpus=self._corpus, path=state.path, problem=str(error))
            return IndexedFile(state, None, str(error), content_hash=content_hash)
        except HostileDocumentError as error:
            return replace(_set_aside(self._corpus, state, str(error)), content_hash=content_hash)

    async def _save(self, files: Sequence[IndexedFile]) -> None:
        try:
            await self._write(files)
        except (asyncpg.DataError, asyncpg.ProgramLimitExceededError) as error:
            if len(files) > 1:
                for file in files:
                    await self._save([file])
                return
            problem = f"the index cannot hold it ({error})"
            log.warning("corpus_file_skipped", corpus=self._corpus, path=files[0].state.path, problem=problem)
            await self._write([replace(files[0], document=None, problem=problem)])

    async def _write(self, files: Sequence[IndexedFile]) -> None:
        async with self._database.transaction() as tx:
            await update_file_stats(
                tx.connection, self._corpus, [file.state for file in files if file.unchanged]
            )
            read = [file for file in files if not file.unchanged]
            await save_files(tx.connection, self._corpus, await self._files.confirm(tx.connection, read))
            await reads.end(tx.connection, self._corpus, [file.state.path for file in files])
            await progress.advance(tx.connection, self._corpus, len(files))

    async def _exclude_repeats(self, readers: ReaderPool) -> None:
        async with self._database.connection() as connection:
            await lookup.update_planner_statistics(connection)
            repeated = frozenset(await find_repeated_paragraphs(connection, self._corpus))
            overtrimmed = await find_overtrimmed_files(connection, self._corpus, repeated)
            to_trim = await find_documents_to_trim(connection, self._corpus, repeated)
        if overtrimmed:
            # The index no longer has these paragraphs; only the files do.
            async with self._database.transaction() as tx:
                await clear_content_hashes(tx.connection, self._corpus, [state.path for state in overtrimmed])
                await progress.advance(tx.connection, self._corpus, -len(overtrimmed))
            await self._index(readers, overtrimmed)
            async with self._database.connection() as connection:
                to_trim = await find_documents_to_trim(connection, self._corpus, repeated)
        for document_id in to_trim:
            async with self._database.transaction() as tx:
                await exclude_paragraphs(tx.connection, document_id, repeated)
        if to_trim:
            log.info("corpus_repeats_left_out", paragraphs=len(repeated), documents=len(to_trim))


def _set_aside(corpus: str, state: FileStat, problem: str) -> IndexedFile:
    log.warning(
        "corpus_file_set_aside",
        corpus=corpus,
        path=state.path,
        problem=problem,
        hint="research reads it again when it changes, or after `brandctl documents release`",
    )
    return IndexedFile(state, None, problem, set_aside=True)


def _crashed(corpus: str, state: FileStat, starts: int) -> IndexedFile:
    return _set_aside(corpus, state, f"the service ended {starts} times while it read the file")


def _batches(states: Sequence[FileStat]) -> Iterator[list[FileStat]]:
    batch: list[FileStat] = []
    for state in states:
        if batch and (
            len(batch) >= BATCH_FILES or sum(each.size for each in batch) + state.size > BATCH_BYTES
        ):
            yield batch
            batch = []
        batch.append(state)
    if batch:
        yield batch
