"""Keeps the index in line with a folder, or with what else holds files: reads what has changed, several at a time, and tells how far it is."""

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
from research.index import lookup, progress, reads
from research.index.files import (
    FileState,
    IndexedFile,
    content_hashes,
    forget_content,
    forget_files,
    forget_other_folders,
    known_files,
    save_files,
    touch_files,
)
from research.index.leaving_out import (
    leave_out,
    repeated_paragraphs,
    with_too_little_left_out,
    with_too_much_left_out,
)
from research.reading.formats import UnreadableFileError
from research.reading.pool import HostileDocumentError, Readers

log = structlog.get_logger(__name__)

# What is read and written at a time: small, so that neither memory nor a lock grows with the corpus.
BATCH_FILES = 24
BATCH_BYTES = 1_000_000
# While one batch is written, the next is read.
BATCHES_AT_A_TIME = 3
PROGRESS_SECONDS = 5.0
# Between two tries to be the one who indexes.
TURN_SECONDS = 0.5


class Files(Protocol):
    """What an index is kept in line with."""

    async def scan(self) -> list[FileState]:
        """All that there are, by path. May raise what is wrong with them as a whole."""

    async def read(self, path: str) -> bytes:
        """Raises UnreadableFileError: this one cannot be had."""

    async def confirmed(self, connection: Connection, read: Sequence[IndexedFile]) -> list[IndexedFile]:
        """Those that are still there when they are stored, with what is known of them besides; run in that transaction."""


class Indexer:
    """`corpus` names the files in the database. `readers` are entered when there is something to read."""

    def __init__(self, database: Database, files: Files, corpus: str, readers: Readers) -> None:
        self._database = database
        self._files = files
        self._corpus = corpus
        self._readers = readers
        self._reader = uuid4()
        self._reported = 0.0
        self._has_looked = False

    async def refresh(self, settled: Callable[[], None] = lambda: None) -> None:
        """Brings the index in line with the files once. Of several replicas one works at a time.

        `settled` is called when all is read, or set aside. Raises what `scan` does.
        """
        async with self._turn():
            try:
                await self._refresh(settled)
            except BaseException:
                # Whoever is asked to stop, or loses the database, has not died of what it was reading.
                with suppress(DatabaseUnavailableError):
                    async with self._database.connection() as connection:
                        await reads.take_back(connection, self._reader)
                raise

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        while True:
            async with self._database.connection() as connection, connection.transaction():
                if await reads.try_turn(connection, self._corpus):
                    yield
                    return
            await asyncio.sleep(TURN_SECONDS)

    async def _refresh(self, settled: Callable[[], None]) -> None:
        started = self._reported = time.monotonic()
        found = await self._files.scan()
        async with self._database.connection() as connection:
            known = await known_files(connection, self._corpus)
            await reads.take_back(connection, self._reader)
            starts = await reads.left_behind(connection, self._corpus)
        changed = [state for state in found if known.get(state.path) != state]
        gone = sorted(known.keys() - {state.path for state in found})
        async with self._database.transaction() as tx:
            await forget_other_folders(tx.connection, self._corpus)
            await forget_files(tx.connection, self._corpus, gone)
            await reads.end(
                tx.connection, self._corpus, {state.path for state in starts.keys() - set(changed)}
            )
            await progress.begin(tx.connection, self._corpus, len(changed))
        # What a service may have died of comes last, and alone. It is waited for all the same: a service that was killed over
        # the first files of a corpus may have died of none of them, and whoever asked meanwhile would be told that there is
        # nothing. What does kill is set aside after its second time.
        suspects = [state for state in changed if state in starts]
        async with self._readers as readers:
            skipped = await self._index(readers, [state for state in changed if state not in starts])
            for state in suspects:
                if starts[state] < reads.MAX_STARTS:
                    skipped += await self._index(readers, [state])
                else:
                    skipped += 1
                    await self._save([_crashed(self._corpus, state, starts[state])])
            # The process before may have ended in the midst of it.
            if changed or gone or not self._has_looked:
                await self._leave_out_what_repeats(readers)
                self._has_looked = True
                async with self._database.connection() as connection:
                    await lookup.describe_to_planner(connection)
            async with self._database.transaction() as tx:
                await progress.complete(tx.connection, self._corpus)
            settled()
        if changed or gone:
            log.info(
                "corpus_indexed",
                corpus=self._corpus,
                files=len(found),
                read=len(changed),
                skipped=skipped,
                removed=len(gone),
                seconds=round(time.monotonic() - started, 2),
            )
        else:
            seconds = round(time.monotonic() - started, 3)
            log.debug("corpus_unchanged", corpus=self._corpus, files=len(found), seconds=seconds)

    async def _index(self, readers: Readers, states: Sequence[FileState]) -> int:
        """Reads and stores; returns how many cannot be searched."""
        slots = asyncio.Semaphore(BATCHES_AT_A_TIME)
        skipped = 0

        async def batch(states: Sequence[FileState]) -> None:
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
                now = await progress.of(connection, self._corpus)
            log.info("corpus_indexing", done=now.done, to_read=now.to_read)

    async def _read_all(self, readers: Readers, states: Sequence[FileState]) -> list[IndexedFile]:
        async with self._database.connection() as connection:
            await reads.begin(connection, self._corpus, states, self._reader)
            hashes = await content_hashes(connection, self._corpus, [each.path for each in states])
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._read(readers, state, hashes.get(state.path))) for state in states
            ]
        return [task.result() for task in tasks]

    async def _read(self, readers: Readers, state: FileState, known: bytes | None) -> IndexedFile:
        content_hash = None
        try:
            async with readers.in_hand:
                content = await self._files.read(state.path)
                content_hash = hashlib.sha256(content).digest()
                if content_hash == known:
                    return IndexedFile(state, None, content_hash=content_hash, unchanged=True)
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
            await touch_files(tx.connection, self._corpus, [file.state for file in files if file.unchanged])
            read = [file for file in files if not file.unchanged]
            await save_files(tx.connection, self._corpus, await self._files.confirmed(tx.connection, read))
            await reads.end(tx.connection, self._corpus, [file.state.path for file in files])
            await progress.advance(tx.connection, self._corpus, len(files))

    async def _leave_out_what_repeats(self, readers: Readers) -> None:
        async with self._database.connection() as connection:
            await lookup.describe_to_planner(connection)
            often = frozenset(await repeated_paragraphs(connection, self._corpus))
            again = await with_too_much_left_out(connection, self._corpus, often)
            touched = await with_too_little_left_out(connection, self._corpus, often)
        if again:
            # What no longer repeats is in the files alone.
            async with self._database.transaction() as tx:
                await forget_content(tx.connection, self._corpus, [state.path for state in again])
                await progress.advance(tx.connection, self._corpus, -len(again))
            await self._index(readers, again)
            async with self._database.connection() as connection:
                touched = await with_too_little_left_out(connection, self._corpus, often)
        for document_id in touched:
            async with self._database.transaction() as tx:
                await leave_out(tx.connection, document_id, often)
        if touched:
            log.info("corpus_repeats_left_out", paragraphs=len(often), documents=len(touched))


def _set_aside(corpus: str, state: FileState, problem: str) -> IndexedFile:
    log.warning(
        "corpus_file_set_aside",
        corpus=corpus,
        path=state.path,
        problem=problem,
        hint="it is read again when it changes, or after `brandctl documents release`",
    )
    return IndexedFile(state, None, problem, set_aside=True)


def _crashed(corpus: str, state: FileState, starts: int) -> IndexedFile:
    return _set_aside(corpus, state, f"the service ended {starts} times while it was being read")


def _batches(states: Sequence[FileState]) -> Iterator[list[FileState]]:
    batch: list[FileState] = []
    for state in states:
        if batch and (
            len(batch) >= BATCH_FILES or sum(each.size for each in batch) + state.size > BATCH_BYTES
        ):
            yield batch
            batch = []
        batch.append(state)
    if batch:
        yield batch
