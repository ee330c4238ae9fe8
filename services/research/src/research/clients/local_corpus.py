"""Research over a local folder of documents, indexed in the service's own PostgreSQL. Needs no key and no network."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from chassis import Connection
from chassis.gathering import Gathering
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
from research.synonyms import OtherWords

# How long a request waits for the first reading of a corpus before it makes do with what has been read: longer than some
# hundreds of pages take, far shorter than the deadline of the handler that waits.
PATIENCE_SECONDS = 20.0


# Keywords whose words are looked at together; more than handlers run at a time.
AT_ONCE = 50


async def _none_unread(_: Connection, __: Sequence[str]) -> Mapping[str, int]:
    return {}


class LocalCorpus:
    """`run` keeps the index up to date; `search` answers beside it.

    `unread` tells of brands how many of their documents, which others read, are still to be read.
    """

    def __init__(
        self,
        database: Database,
        folder: Path,
        *,
        rescan_seconds: float,
        readers: Readers,
        unread: Callable[[Connection, Sequence[str]], Awaitable[Mapping[str, int]]] = _none_unread,
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
        self._is_complete = False
        self._others: OtherWords | None = None
        self._queries = Gathering(self._parsed, limit=AT_ONCE)
        self._unread_of = Gathering(self._count_unread, limit=AT_ONCE)

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
        return bool((await self._queries.get(keyword)).terms)

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
        unread = await self._unread_of.get(brand)
        hits = await self._look_up(corpora, pages, keyword)
        # In threads: what a hostile document fills the index with takes tenths of a second.
        found = await asyncio.to_thread(_short_or_decided, keyword, hits, looked_in)
        if isinstance(found, str):
            named_by = await self._look_up(corpora, pages, found)
            findings = await asyncio.to_thread(
                decide, hits.query, hits.candidates, named_by, looked_in=looked_in
            )
        else:
            findings = found
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

    async def _look_up(self, corpora: Sequence[str], pages: Sequence[Page], keyword: str) -> Hits:
        query = await self._queries.get(keyword)
        async with self._database.connection() as connection:
            hits = await lookup.look_up(connection, corpora, query)
            hits = Hits(hits.query, list(map(self._with_rights, hits.candidates)))
            return await with_pages(connection, hits, pages)

    async def _parsed(self, keywords: Sequence[str]) -> Mapping[str, Query]:
        async with self._database.connection() as connection:
            self._others = self._others or await lookup.other_words(connection)
            return await lookup.parsed(connection, keywords, self._others)

    async def _count_unread(self, brands: Sequence[str]) -> Mapping[str, int]:
        async with self._database.connection() as connection:
            return dict.fromkeys(brands, 0) | dict(await self._unread(connection, brands))

    def _with_rights(self, candidate: Candidate) -> Candidate:
        """The folder's licence is that of its documents, which may be quoted. What a brand uploads is asked for its own."""
        if candidate.corpus != self._corpus:
            return replace(candidate, quotable=candidate.own or is_free(candidate.licence))
        if candidate.licence or not self._licence:
            return candidate
        return replace(candidate, licence=self._licence)

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
        if self._is_complete:
            return Progress(complete=True)
        async with self._database.connection() as connection:
            now = await progress.of(connection, self._corpus)
        # Once it is, it stays so.
        self._is_complete = now.complete
        return now


def _short_or_decided(keyword: str, hits: Hits, looked_in: str) -> str | Findings:
    """The abbreviation that is to be looked up, too; or else what is found."""
    texts = (
        text
        for each in hits.candidates
        for text in (each.document_title, each.passage.heading or "", each.passage.text)
    )
    return abbreviation(keyword, texts) or decide(hits.query, hits.candidates, looked_in=looked_in)
