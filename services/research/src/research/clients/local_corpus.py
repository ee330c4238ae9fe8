"""Research over a local folder of documents, indexed in the service's own PostgreSQL. Needs no key and no network."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import asyncpg
import structlog

from chassis import Connection, DatabaseUnavailableError
from messaging import Database
from research import index_store, reads
from research.clients import corpus_folder
from research.clients.corpus_folder import CorpusUnavailableError
from research.clients.provider import ProviderUnavailableError
from research.domain import Findings, Found, Hits, Query, abbreviation, decide
from research.index_store import FileState, IndexedFile
from research.reading.formats import UnreadableFileError
from research.reading.pool import HostileDocumentError, Readers

log = structlog.get_logger(__name__)

# What is read and written at a time: small, so that neither memory nor a lock grows with the corpus.
BATCH_FILES = 24
BATCH_BYTES = 1_000_000
PROGRESS_SECONDS = 5.0
# Longer than reading a thousand pages takes; shorter than the deadline of the handler that waits.
PATIENCE_SECONDS = 100.0
# Between two tries to be the one who indexes.
TURN_SECONDS = 0.5


class LocalCorpus:
    """A `Provider`. `run` keeps the index up to date; `search` waits until it was complete once."""

    def __init__(
        self,
        database: Database,
        folder: Path,
        *,
        rescan_seconds: float,
        readers: Callable[[], Readers] = Readers,
    ) -> None:
        self._database = database
        self._readers = readers
        self._folder = folder
        self._corpus = str(folder.resolve())
        self._rescan_seconds = rescan_seconds
        self._reader = uuid4()
        self._settled = asyncio.Event()
        self._asked = asyncio.Event()
        self._failure: str | None = None
        self._licence: str | None = None

    @property
    def name(self) -> str:
        return "local_corpus"

    async def run(self) -> None:
        """Index the folder, then again every so often; only changed files are read. Never returns.

        Raises:
            CorpusUnavailableError: the folder cannot be read; requests are told so until a later run succeeds.
        """
        while True:
            try:
                await self.refresh()
            except CorpusUnavailableError as error:
                self._failure = str(error)
                self._settled.set()
                raise
            with suppress(TimeoutError):
                async with asyncio.timeout(self._rescan_seconds):
                    await self._asked.wait()

    def look_again(self) -> None:
        """Asks for the next look at the folder now."""
        self._asked.set()

    async def refresh(self) -> None:
        """Bring the index in line with the folder once. Of several replicas one works at a time."""
        async with self._turn():
            try:
                await self._refresh()
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

    async def _refresh(self) -> None:
        self._asked.clear()
        started = time.monotonic()
        self._licence = await asyncio.to_thread(corpus_folder.licence, self._folder)
        found = await asyncio.to_thread(lambda: list(corpus_folder.scan(self._folder)))
        async with self._database.connection() as connection:
            known = await index_store.known_files(connection, self._corpus)
            await reads.take_back(connection, self._reader)
            starts = await reads.left_behind(connection, self._corpus)
        changed = [state for state in found if known.get(state.path) != state]
        gone = sorted(known.keys() - {state.path for state in found})
        async with self._database.transaction() as tx:
            await index_store.forget_other_corpora(tx.connection, self._corpus)
            await index_store.forget_files(tx.connection, self._corpus, gone)
            await reads.end(
                tx.connection, self._corpus, {state.path for state in starts.keys() - set(changed)}
            )
        # What a service may have died of comes last, and alone; nobody waits for it.
        suspects = [state for state in changed if state in starts]
        async with self._readers() as readers:
            skipped = await self._index(
                readers, list(_batches([state for state in changed if state not in starts]))
            )
            if changed:
                async with self._database.connection() as connection:
                    await index_store.describe_to_planner(connection)
            self._failure = None
            self._settled.set()
            for state in suspects:
                if starts[state] < reads.MAX_STARTS:
                    skipped += await self._index(readers, [[state]])
                else:
                    skipped += 1
                    await self._save([_crashed(state, starts[state])])
        if changed or gone:
            log.info(
                "corpus_indexed",
                files=len(found),
                read=len(changed),
                skipped=skipped,
                removed=len(gone),
                seconds=round(time.monotonic() - started, 1),
            )

    async def _index(self, readers: Readers, batches: Sequence[Sequence[FileState]]) -> int:
        """Reads and stores; returns how many cannot be searched."""
        done = skipped = 0
        reported = time.monotonic()
        for states in batches:
            files = await self._read_all(readers, states)
            await self._save(files)
            done += len(files)
            skipped += sum(file.problem is not None for file in files)
            if time.monotonic() - reported >= PROGRESS_SECONDS:
                reported = time.monotonic()
                log.info("corpus_indexing", done=done, to_read=sum(map(len, batches)))
        return skipped

    async def _read_all(self, readers: Readers, states: Sequence[FileState]) -> list[IndexedFile]:
        async with self._database.connection() as connection:
            await reads.begin(connection, self._corpus, states, self._reader)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._read(readers, state)) for state in states]
        return [task.result() for task in tasks]

    async def _read(self, readers: Readers, state: FileState) -> IndexedFile:
        try:
            content = await asyncio.to_thread(corpus_folder.read, self._folder, state.path)
            return IndexedFile(state, await readers.read(state.path, content))
        except UnreadableFileError as error:
            log.warning("corpus_file_skipped", path=state.path, problem=str(error))
            return IndexedFile(state, None, str(error))
        except HostileDocumentError as error:
            return _set_aside(state, str(error))

    async def _save(self, files: Sequence[IndexedFile]) -> None:
        try:
            await self._write(files)
        except (asyncpg.DataError, asyncpg.ProgramLimitExceededError) as error:
            if len(files) > 1:
                for file in files:
                    await self._save([file])
                return
            problem = f"the index cannot hold it ({error})"
            log.warning("corpus_file_skipped", path=files[0].state.path, problem=problem)
            await self._write([replace(files[0], document=None, problem=problem)])

    async def _write(self, files: Sequence[IndexedFile]) -> None:
        async with self._database.transaction() as tx:
            await index_store.save_files(tx.connection, self._corpus, files)
            await reads.end(tx.connection, self._corpus, [file.state.path for file in files])

    async def search(self, keyword: str) -> Findings:
        await self._wait_for_index()
        async with self._database.connection() as connection:
            hits = await self._look_up(connection, keyword)
            texts = [
                text
                for each in hits.candidates
                for text in (each.document_title, each.passage.heading or "", each.passage.text)
            ]
            # In threads: what a hostile document fills the index with takes tenths of a second.
            short = await asyncio.to_thread(abbreviation, keyword, texts)
            named_by = await self._look_up(connection, short) if short else None
        return self._with_licence(await asyncio.to_thread(decide, hits.query, hits.candidates, named_by))

    async def _look_up(self, connection: Connection, keyword: str) -> Hits:
        query: Query = await index_store.parse_query(connection, self._corpus, keyword)
        return Hits(
            query, await index_store.candidates(connection, self._corpus, query) if query.terms else []
        )

    async def _wait_for_index(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._settled.wait()
        except TimeoutError:
            raise ProviderUnavailableError("the corpus is still being indexed for the first time") from None
        if self._failure is not None:
            raise ProviderUnavailableError(self._failure)

    def _with_licence(self, findings: Findings) -> Findings:
        if not isinstance(findings, Found) or self._licence is None:
            return findings
        return Found(tuple(replace(each, licence=each.licence or self._licence) for each in findings.sources))


def _set_aside(state: FileState, problem: str) -> IndexedFile:
    log.warning(
        "corpus_file_set_aside",
        path=state.path,
        problem=problem,
        hint="it is read again when it changes, or after `brandctl documents release`",
    )
    return IndexedFile(state, None, problem, set_aside=True)


def _crashed(state: FileState, starts: int) -> IndexedFile:
    return _set_aside(state, f"the service ended {starts} times while it was being read")


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
