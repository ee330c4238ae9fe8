"""Research over a local folder of documents, indexed in the service's own PostgreSQL. Needs no key and no network."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from chassis import Connection
from chassis.coalescing import RequestCoalescer
from chassis.polling import Alarm
from envelope.brand.settings import MIN_SOURCES
from messaging import Database
from reading import folder as document_folder
from reading.folder import FileStat, FolderUnavailableError
from reading.licences import is_free
from reading.pool import ReaderPool
from reading.ranking.passages import SearchHits, find_abbreviation
from reading.ranking.relevance import KeywordQuery
from reading.ranking.source_selection import select_sources
from reading.ranking.sources import CandidatePassage, Findings, InsufficientSources, ResearchResult
from research.clients.indexer import Indexer
from research.clients.page_hits import add_page_hits
from research.clients.provider import ProviderUnavailableError, UploadsUnreadError
from research.domain import WebPage
from research.index import lookup, progress
from research.index.files import IndexedFile, corpus_of_brand
from research.index.progress import IndexProgress
from research.synonyms import Synonyms

# How long a request waits for the first reading of a corpus before it searches the files read so far: longer than some
# hundreds of pages take, far shorter than the deadline of the waiting handler.
PATIENCE_SECONDS = 20.0


# Keywords that one query to the database parses; more than handlers run at a time.
AT_ONCE = 50


async def _nothing_unread(_: Connection, __: Sequence[str]) -> Mapping[str, int]:
    return {}


class FolderFileSource:
    """The `FileSource` of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def scan(self) -> list[FileStat]:
        """Raises FolderUnavailableError: the folder cannot be read."""
        return await asyncio.to_thread(lambda: list(document_folder.scan(self._folder)))

    async def read(self, path: str) -> bytes:
        """Raises UnreadableFileError: see `reading.folder.read`."""
        return await asyncio.to_thread(document_folder.read, self._folder, path)

    async def confirm(self, _: Connection, found: Sequence[IndexedFile]) -> list[IndexedFile]:
        """Return all of them; the next scan notices files deleted meanwhile."""
        return list(found)


class LocalCorpus:
    """The folder and the uploads as one searchable corpus. `refresh` updates the folder's index; `search` works meanwhile.

    `unread` counts the uploads of each brand that are not indexed yet.
    """

    def __init__(
        self,
        database: Database,
        folder: Path,
        *,
        readers: ReaderPool,
        unread: Callable[[Connection, Sequence[str]], Awaitable[Mapping[str, int]]] = _nothing_unread,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._database = database
        self._folder = folder
        self._corpus = str(folder.resolve())
        self._indexer = Indexer(database, FolderFileSource(folder), self._corpus, readers)
        self._unread = unread
        self._patience_seconds = patience_seconds
        self._settled = asyncio.Event()
        self.alarm = Alarm()
        self._failure: str | None = None
        self._licence: str | None = None
        self._licence_is_known = False
        self._is_complete = False
        self._synonyms: Synonyms | None = None
        self._queries = RequestCoalescer(self._parse_keywords, limit=AT_ONCE)
        self._unread_counts = RequestCoalescer(self._count_unread, limit=AT_ONCE)

    async def refresh(self) -> None:
        """Bring the folder's index up to date once, reading changed files only. Of several replicas one works at a time.

        Raises:
            FolderUnavailableError: the folder is unreadable; requests fail with this reason until a later call succeeds.
        """
        try:
            await self._read_licence()
            await self._indexer.refresh(self._mark_settled)
        except FolderUnavailableError as error:
            self._failure = str(error)
            self._settled.set()
            raise

    def _mark_settled(self) -> None:
        self._failure = None
        self._settled.set()

    async def _read_licence(self) -> None:
        self._licence = await asyncio.to_thread(document_folder.licence, self._folder)
        self._licence_is_known = True

    async def can_search(self, keyword: str) -> bool:
        """Return whether the keyword has any searchable word; stop words alone have none."""
        return bool((await self._queries.get(keyword)).terms)

    async def search(
        self,
        keyword: str,
        *,
        brand: str,
        folder: bool = True,
        pages: Sequence[WebPage] = (),
        looked_in: str = "The corpus",
    ) -> Findings:
        """Search the folder, the brand's uploads and these pages. Too few sources are an answer, not an error.

        During the first reading of the folder it searches the files read so far; too few sources are an error then.

        Args:
            keyword: the keyword, in any spelling.
            brand: slug of the brand.
            folder: whether to search the folder.
            pages: web pages to rank together with the index.
            looked_in: name of the searched places, to begin a refusal with.

        Raises:
            ProviderUnavailableError: the folder is unreadable, or its first reading has not found enough yet.
            UploadsUnreadError: there are too few sources, and the brand has unread uploads.
        """
        now = await self._await_first_reading() if folder else IndexProgress(complete=True)
        if not self._licence_is_known:
            await self._read_licence()
        corpora = [self._corpus, corpus_of_brand(brand)] if folder else [corpus_of_brand(brand)]
        unread = await self._unread_counts.get(brand)
        hits = await self._look_up(corpora, pages, keyword)
        # In threads: the passages of a hostile document may take tenths of a second to rank.
        found = await asyncio.to_thread(_abbreviation_or_findings, keyword, hits, looked_in)
        if isinstance(found, str):
            named_by = await self._look_up(corpora, pages, found)
            findings = await asyncio.to_thread(
                select_sources,
                hits.query,
                hits.candidates,
                named_by,
                min_sources=MIN_SOURCES,
                looked_in=looked_in,
            )
        else:
            findings = found
        match findings:
            case InsufficientSources() if not now.complete:
                raise ProviderUnavailableError(
                    f"research is still reading the corpus for the first time ({now.done} of {now.to_read} files)"
                )
            case InsufficientSources() if unread:
                raise UploadsUnreadError(f"{unread} of the brand's documents are still unread")
            case InsufficientSources():
                return findings
            case ResearchResult():
                return replace(findings, is_preliminary=not now.complete or unread > 0)

    async def _look_up(self, corpora: Sequence[str], pages: Sequence[WebPage], keyword: str) -> SearchHits:
        query = await self._queries.get(keyword)
        async with self._database.connection() as connection:
            hits = await lookup.search_passages(connection, corpora, query)
            hits = SearchHits(hits.query, list(map(self._with_rights, hits.candidates)))
            return await add_page_hits(connection, hits, pages)

    async def _parse_keywords(self, keywords: Sequence[str]) -> Mapping[str, KeywordQuery]:
        async with self._database.connection() as connection:
            self._synonyms = self._synonyms or await lookup.load_synonyms(connection)
            return await lookup.parse_keywords(connection, keywords, self._synonyms)

    async def _count_unread(self, brands: Sequence[str]) -> Mapping[str, int]:
        async with self._database.connection() as connection:
            return dict.fromkeys(brands, 0) | dict(await self._unread(connection, brands))

    def _with_rights(self, candidate: CandidatePassage) -> CandidatePassage:
        """Give files of the folder its licence; decide for uploads whether articles may quote them."""
        if candidate.corpus != self._corpus:
            return replace(candidate, quotable=candidate.own or is_free(candidate.licence))
        if candidate.licence or not self._licence:
            return candidate
        return replace(candidate, licence=self._licence)

    async def _await_first_reading(self) -> IndexProgress:
        """Wait up to `patience_seconds` for the first reading; return the progress at once if that is over.

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

    async def _progress(self) -> IndexProgress:
        if self._is_complete:
            return IndexProgress(complete=True)
        async with self._database.connection() as connection:
            now = await progress.get_progress(connection, self._corpus)
        # A complete corpus stays complete.
        self._is_complete = now.complete
        return now


def _abbreviation_or_findings(keyword: str, hits: SearchHits, looked_in: str) -> str | Findings:
    """Return the keyword's abbreviation if the texts introduce one (a second search needs it), else the findings."""
    texts = (
        text
        for each in hits.candidates
        for text in (each.document_title, each.passage.heading or "", each.passage.text)
    )
    return find_abbreviation(keyword, texts) or select_sources(
        hits.query, hits.candidates, min_sources=MIN_SOURCES, looked_in=looked_in
    )
