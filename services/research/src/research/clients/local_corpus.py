"""Research over a local folder of documents, indexed in the service's own PostgreSQL. Needs no key and no network."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from chassis import Connection
from messaging import Database
from research.clients import corpus_folder
from research.clients.corpus_folder import CorpusUnavailableError
from research.clients.indexer import Indexer
from research.clients.licences import is_free
from research.clients.page_hits import with_pages
from research.clients.provider import NotReadyError, ProviderUnavailableError
from research.domain import Candidate, Findings, Found, Insufficient, Page
from research.index import lookup, progress
from research.index.files import corpus_of_brand
from research.index.progress import Progress
from research.ranking import Hits, Query, abbreviation, decide
from research.reading.pool import Readers

# How long a request waits for the first reading of a corpus before it makes do with what has been read: longer than some
# hundreds of pages take, far shorter than the deadline of the handler that waits.
PATIENCE_SECONDS = 20.0


async def _none_unread(_: Connection, __: str) -> int:
    return 0


class LocalCorpus:
    """`run` keeps the index up to date; `search` answers beside it.

    `unread` tells how many documents of a brand, which others read, are still to be read.
    """

    def __init__(
        self,
        database: Database,
        folder: Path,
        *,
        rescan_seconds: float,
        readers: Readers,
        unread: Callable[[Connection, str], Awaitable[int]] = _none_unread,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._database = database
        self._folder = folder
        self._corpus = str(folder.resolve())
        self._indexer = Indexer(database, corpus_folder.FolderFiles(folder), self._corpus, readers)
        self._unread = unread
        self._rescan_seconds = rescan_seconds
        self._patience_seconds = patience_seconds
        self._settled = asyncio.Event()
        self._asked = asyncio.Event()
        self._failure: str | None = None
        self._licence: str | None = None
        self._licence_is_known = False

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
        self._asked.clear()
        await self._read_licence()
        await self._indexer.refresh(self._has_settled)

    def _has_settled(self) -> None:
        self._failure = None
        self._settled.set()

    async def _read_licence(self) -> None:
        self._licence = await asyncio.to_thread(corpus_folder.licence, self._folder)
        self._licence_is_known = True

    async def can_search(self, keyword: str) -> bool:
        """Whether the keyword has any word that is looked for."""
        async with self._database.connection() as connection:
            return bool((await lookup.parse_query(connection, [], keyword)).terms)

    async def search(
        self,
        keyword: str,
        *,
        brand: str,
        folder: bool = True,
        pages: Sequence[Page] = (),
        looked_in: str = "The corpus",
    ) -> Findings:
        """Searches the folder, what is the brand's alone, and these pages. Too little is an answer, not an error.

        Before all of the folder was read once, what has been read is searched, and too little is no answer.

        Args:
            keyword: what is looked for.
            brand: its slug.
            folder: whether the folder is searched.
            pages: of the web; they are in no index, and are ranked by the same rules.
            looked_in: what all this is called at the beginning of a refusal.

        Raises:
            ProviderUnavailableError: the folder cannot be read, or not enough of it has been.
            NotReadyError: too little was found, and not all that the brand has uploaded has been read.
        """
        now = await self._readiness() if folder else Progress(complete=True)
        if not self._licence_is_known:
            await self._read_licence()
        corpora = [self._corpus, corpus_of_brand(brand)] if folder else [corpus_of_brand(brand)]
        async with self._database.connection() as connection:
            unread = await self._unread(connection, brand)
            hits = await self._look_up(connection, corpora, pages, keyword)
            texts = [
                text
                for each in hits.candidates
                for text in (each.document_title, each.passage.heading or "", each.passage.text)
            ]
            # In threads: what a hostile document fills the index with takes tenths of a second.
            short = await asyncio.to_thread(abbreviation, keyword, texts)
            named_by = await self._look_up(connection, corpora, pages, short) if short else None
        findings = await asyncio.to_thread(decide, hits.query, hits.candidates, named_by, looked_in=looked_in)
        match findings:
            case Insufficient() if not now.complete:
                raise ProviderUnavailableError(
                    f"the corpus is still being read for the first time ({now.done} of {now.to_read} files)"
                )
            case Insufficient() if unread:
                raise NotReadyError(f"of the brand's documents, {unread} are still to be read")
            case Insufficient():
                return findings
            case Found():
                return replace(findings, is_preliminary=not now.complete or unread > 0)

    async def _look_up(
        self, connection: Connection, corpora: Sequence[str], pages: Sequence[Page], keyword: str
    ) -> Hits:
        query: Query = await lookup.parse_query(connection, corpora, keyword)
        found = await lookup.candidates(connection, corpora, query) if query.terms else []
        return await with_pages(connection, Hits(query, list(map(self._with_rights, found))), pages)

    def _with_rights(self, candidate: Candidate) -> Candidate:
        """The folder's licence is that of its documents, which may be quoted. What a brand uploads is asked for its own."""
        if candidate.corpus == self._corpus:
            return replace(candidate, licence=candidate.licence or self._licence)
        return replace(candidate, quotable=candidate.own or is_free(candidate.licence))

    async def _readiness(self) -> Progress:
        """Waits a while for the first reading; a corpus that was read before is searched at once.

        Raises:
            ProviderUnavailableError: the folder cannot be read.
        """
        now = await self._progress()
        if not now.complete:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience_seconds):
                    await self._settled.wait()
            now = await self._progress()
        if self._failure is not None:
            raise ProviderUnavailableError(self._failure)
        return now

    async def _progress(self) -> Progress:
        async with self._database.connection() as connection:
            return await progress.of(connection, self._corpus)
