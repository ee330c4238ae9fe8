"""Research over a local folder of documents, indexed in the service's own PostgreSQL. Needs no key and no network."""

import asyncio
import ctypes
import gc
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import asyncpg
import structlog

from chassis import Connection
from messaging import Database
from research import index_store
from research.clients import corpus_folder
from research.clients.corpus_folder import CorpusUnavailableError
from research.clients.provider import ProviderUnavailableError
from research.domain import Findings, Found, Hits, Query, abbreviation, decide
from research.extraction import UnreadableFileError, extract
from research.index_store import FileState, IndexedFile

log = structlog.get_logger(__name__)

# One piece of work for the thread and one transaction: small, so that neither memory nor a lock grows with the corpus.
BATCH_FILES = 24
BATCH_BYTES = 1_000_000
PROGRESS_SECONDS = 5.0
# Longer than reading a thousand pages takes; shorter than the deadline of the handler that waits.
PATIENCE_SECONDS = 100.0


class LocalCorpus:
    """A `Provider`. `run` keeps the index up to date; `search` waits until it was complete once."""

    def __init__(self, database: Database, folder: Path, *, rescan_seconds: float) -> None:
        self._database = database
        self._folder = folder
        self._corpus = str(folder.resolve())
        self._rescan_seconds = rescan_seconds
        self._settled = asyncio.Event()
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
            await asyncio.sleep(self._rescan_seconds)

    async def refresh(self) -> None:
        """Bring the index in line with the folder once."""
        started = time.monotonic()
        self._licence = await asyncio.to_thread(corpus_folder.licence, self._folder)
        found = await asyncio.to_thread(lambda: list(corpus_folder.scan(self._folder)))
        async with self._database.connection() as connection:
            known = await index_store.known_files(connection, self._corpus)
        changed = [state for state in found if known.get(state.path) != state]
        gone = sorted(known.keys() - {state.path for state in found})
        async with self._database.transaction() as tx:
            await index_store.forget_other_corpora(tx.connection, self._corpus)
            await index_store.forget_files(tx.connection, self._corpus, gone)
        skipped = await self._index(changed, total=len(found))
        if changed:
            async with self._database.connection() as connection:
                await index_store.describe_to_planner(connection)
        self._failure = None
        self._settled.set()
        if changed:
            await asyncio.to_thread(_give_memory_back)
        if changed or gone:
            log.info(
                "corpus_indexed",
                files=len(found),
                read=len(changed),
                skipped=skipped,
                removed=len(gone),
                seconds=round(time.monotonic() - started, 1),
            )

    async def _index(self, changed: Sequence[FileState], *, total: int) -> int:
        done = skipped = 0
        reported = time.monotonic()
        for states in _batches(changed):
            files = await asyncio.to_thread(self._read_all, states)
            await self._save(files)
            done += len(files)
            skipped += sum(file.problem is not None for file in files)
            if time.monotonic() - reported >= PROGRESS_SECONDS:
                reported = time.monotonic()
                log.info("corpus_indexing", done=done, to_read=len(changed), files=total)
        return skipped

    def _read_all(self, states: Sequence[FileState]) -> list[IndexedFile]:
        return [self._read(state) for state in states]

    def _read(self, state: FileState) -> IndexedFile:
        try:
            return IndexedFile(state, extract(state.path, corpus_folder.read(self._folder, state.path)))
        except UnreadableFileError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - whatever one file holds, the others must still be read
            problem = f"it cannot be read ({type(error).__name__}: {error})"[:500]
        log.warning("corpus_file_skipped", path=state.path, problem=problem)
        return IndexedFile(state, None, problem)

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

    async def search(self, keyword: str) -> Findings:
        await self._wait_for_index()
        async with self._database.connection() as connection:
            hits = await self._look_up(connection, keyword)
            texts = (
                text
                for each in hits.candidates
                for text in (each.document_title, each.passage.heading or "", each.passage.text)
            )
            short = abbreviation(keyword, texts)
            named_by = await self._look_up(connection, short) if short else None
        return self._with_licence(decide(hits.query, hits.candidates, named_by))

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


def _give_memory_back() -> None:
    """Parsing leaves the allocator with free pages that an idle service would hold for good."""
    gc.collect()
    # glibc only; other libraries give memory back by themselves.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


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
