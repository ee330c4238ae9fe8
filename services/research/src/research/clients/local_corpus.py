"""Research over a local folder of documents, indexed in the service's own PostgreSQL. Needs no key and no network."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import asyncpg

from chassis import Connection
from chassis.coalescing import RequestCoalescer
from chassis.polling import Alarm
from documents.source_minimum import MIN_SHOWN_WORDS
from envelope.brand.settings import MIN_SOURCES
from messaging import Database
from reading import folder as document_folder
from reading.folder import FileStat, FolderUnavailableError
from reading.pool import ReaderPool
from reading.ranking.aboutness import SpineCandidate, describe_absence
from reading.ranking.passages import SearchHits, find_abbreviation
from reading.ranking.relevance import KeywordQuery
from reading.ranking.source_selection import select_answers, select_sources
from reading.ranking.sources import (
    CandidatePassage,
    Findings,
    InsufficientSources,
    NearestSection,
    ResearchResult,
    ResearchSource,
)
from research.clients.indexer import Indexer
from research.clients.page_hits import add_page_hits
from research.clients.provider import ProviderUnavailableError, UploadsUnreadError
from research.clients.rights import CorpusRights, DocumentRights
from research.clients.spines import search_sections
from research.domain import WebPage
from research.index import lookup, progress
from research.index.files import IndexedFile, corpus_of_brand
from research.index.progress import IndexProgress
from research.index.section_lookup import SectionPlace
from research.synonyms import Synonyms

# How long a request waits for the first reading of a corpus before it searches the files read so far: longer than some
# hundreds of pages take, far shorter than the deadline of the waiting handler.
PATIENCE_SECONDS = 20.0

# While documents are unread, a page answers a keyword alone if its title is the keyword and it has so many words.
SURELY_ABOUT = 0.9
PLENTY_OF_WORDS = 2 * MIN_SHOWN_WORDS

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
        return await asyncio.to_thread(lambda: list(document_folder.scan(self._folder, with_works=True)))

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
        self._rights = CorpusRights(database, folder, self._corpus)
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
            await self._indexer.refresh(self._mark_settled)
            await self._rights.load()
        except FolderUnavailableError as error:
            self._failure = str(error)
            self._settled.set()
            raise

    def _mark_settled(self) -> None:
        self._failure = None
        self._settled.set()

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

        While documents are unread it answers only from a page that is plenty for an article.

        Args:
            keyword: the keyword, in any spelling.
            brand: slug of the brand.
            folder: whether to search the folder.
            pages: web pages to rank together with the index.
            looked_in: name of the searched places, to begin a refusal with.

        Raises:
            ProviderUnavailableError: the folder is unreadable, or its first reading has not found plenty yet.
            UploadsUnreadError: the same of the brand's uploads.
        """
        now = await self._await_first_reading() if folder else IndexProgress(complete=True)
        # While files are being read, what their operator states about them may have come just now.
        await (self._rights.load_once() if now.complete else self._rights.load())
        corpora = [self._corpus, corpus_of_brand(brand)] if folder else [corpus_of_brand(brand)]
        unread = await self._unread_counts.get(brand)
        async with self._database.connection() as connection:
            sections = await search_sections(connection, corpora, keyword, pages)
        spines = [self._spine(each) for each in sections.spines]
        limit = lookup.FEW_CANDIDATES if any(each.suffices for each in spines) else lookup.CANDIDATES
        hits = await self._look_up(corpora, pages, keyword, limit)
        if hits.query.terms and sections.keyword.is_generic:
            return InsufficientSources(describe_absence(sections.keyword, (), looked_in))
        select = partial(
            select_sources,
            hits.query,
            hits.candidates,
            min_sources=MIN_SOURCES,
            spines=spines,
            nearest=self._nearest(spines, sections.nearest),
            looked_in=looked_in,
        )
        # In threads: the passages of a hostile document may take tenths of a second to rank.
        found = await asyncio.to_thread(_abbreviation_or_findings, keyword, hits, select)
        if isinstance(found, str):
            named_by = await self._look_up(corpora, pages, found, limit)
            found = await asyncio.to_thread(select, named_by)
        if isinstance(found, ResearchResult):
            stated = {each.path: each for each in hits.candidates}
            found = replace(
                found,
                sources=tuple(self._with_rights(each, stated) for each in found.sources),
            )
        if now.complete and not unread:
            return found
        # Unread documents may hold what an article lacks; a writer that gets too little refuses for good.
        if isinstance(found, ResearchResult) and _is_plenty(found):
            return replace(found, is_preliminary=True)
        raise _unread_error(now, unread)

    async def answer(
        self, keyword: str, question: str, *, brand: str, folder: bool = True, pages: Sequence[WebPage] = ()
    ) -> Sequence[ResearchSource]:
        """Return the sources that answer a question about the keyword, best first; see `search` for the arguments and errors."""
        now = await self._await_first_reading() if folder else IndexProgress(complete=True)
        unread = await self._unread_counts.get(brand)
        if not now.complete or unread:
            raise _unread_error(now, unread)
        await self._rights.load_once()
        corpora = [self._corpus, corpus_of_brand(brand)] if folder else [corpus_of_brand(brand)]
        topic = await self._queries.get(keyword)
        hits = await self._look_up(corpora, pages, f"{keyword} {question}", lookup.CANDIDATES)
        found = await asyncio.to_thread(select_answers, hits.query, topic, hits.candidates)
        stated = {each.path: each for each in hits.candidates}
        return [self._with_rights(each, stated) for each in found]

    async def _look_up(
        self, corpora: Sequence[str], pages: Sequence[WebPage], keyword: str, limit: int
    ) -> SearchHits:
        query = await self._queries.get(keyword)
        async with self._database.connection() as connection:
            hits = await lookup.search_passages(connection, corpora, query, limit)
            return await add_page_hits(connection, hits, pages)

    async def _parse_keywords(self, keywords: Sequence[str]) -> Mapping[str, KeywordQuery]:
        async with self._database.connection() as connection:
            self._synonyms = self._synonyms or await lookup.load_synonyms(connection)
            return await lookup.parse_keywords(connection, keywords, self._synonyms)

    async def _count_unread(self, brands: Sequence[str]) -> Mapping[str, int]:
        async with self._database.connection() as connection:
            return dict.fromkeys(brands, 0) | dict(await self._unread(connection, brands))

    def _with_rights(
        self, source: ResearchSource, candidates: Mapping[str | None, CandidatePassage]
    ) -> ResearchSource:
        """Add what holds for a file or an upload; spines and pages of the web have it."""
        candidate = candidates.get(source.path)
        if candidate is None or source.path is None or source.section is not None:
            return source
        stated = DocumentRights(source.url, source.author, source.licence)
        rights = self._rights.of_document(candidate.corpus, source.path, stated, own=candidate.own)
        return replace(
            source,
            url=rights.url,
            author=rights.author,
            licence=rights.licence,
            work=rights.work,
            quotable=rights.quotable,
        )

    async def may_quote(self, document: asyncpg.Record) -> bool:
        """Return whether articles may print whole paragraphs of an indexed document, so that one section of it is enough."""
        await self._rights.load_once()
        return self._rights_of(document).quotable

    def _rights_of(self, document: asyncpg.Record) -> DocumentRights:
        stated = DocumentRights(document["url"], document["author"], document["licence"])
        return self._rights.of_document(document["corpus"], document["path"], stated, own=document["own"])

    def _spine(self, candidate: SpineCandidate) -> ResearchSource:
        place = candidate.key
        if isinstance(place, SectionPlace):
            rights = self._rights_of(place.document)
            return ResearchSource(
                title=place.page_title,
                url=_with_anchor(rights.url, place.anchor),
                path=place.path,
                licence=rights.licence,
                passages=(),
                published_on=place.document["published_on"],
                author=rights.author,
                quotable=rights.quotable,
                work=rights.work,
                section=candidate.section,
                about=candidate.about,
                titles_above=candidate.head.titles_above,
            )
        assert isinstance(place, WebPage)
        page = place.document
        return ResearchSource(
            title=page.title,
            url=_with_anchor(page.url, candidate.section.anchor if candidate.head.titles_above else ""),
            path=None,
            licence=page.licence,
            passages=(),
            published_on=page.published_on,
            author=page.author,
            quotable=place.quotable,
            section=candidate.section,
            about=candidate.about,
            titles_above=candidate.head.titles_above,
        )

    def _nearest(
        self, spines: Sequence[ResearchSource], rated: tuple[float, SectionPlace] | None
    ) -> NearestSection | None:
        """Return the section for a refusal to name: one that may be quoted at length before others."""
        for spine in sorted(spines, key=lambda each: not each.quotable):
            assert spine.section is not None
            place = spine.path or spine.url or ""
            return NearestSection(
                spine.section.title, place, spine.section.words, spine.about, spine.quotable
            )
        if rated is None:
            return None
        about, found = rated
        quotable = self._rights_of(found.document).quotable
        return NearestSection(found.head.title, found.path, found.words, about, quotable)

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


def _abbreviation_or_findings(
    keyword: str, hits: SearchHits, select: Callable[[], Findings]
) -> str | Findings:
    """Return the keyword's abbreviation if the texts introduce one (a second search needs it), else the findings."""
    texts = (
        text
        for each in hits.candidates
        for text in (each.document_title, each.passage.heading or "", each.passage.text)
    )
    return find_abbreviation(keyword, texts) or select()


def _unread_error(now: IndexProgress, unread: int) -> ProviderUnavailableError | UploadsUnreadError:
    if not now.complete:
        return ProviderUnavailableError(
            f"research is still reading the corpus ({now.done} of {now.to_read} files)"
        )
    return UploadsUnreadError(f"{unread} of the brand's documents are still unread")


def _is_plenty(found: ResearchResult) -> bool:
    """Return whether one page is so long and so much about the keyword that no writer needs another."""
    return any(
        each.suffices and each.about >= SURELY_ABOUT and each.section.words >= PLENTY_OF_WORDS
        for each in found.sources
        if each.section is not None
    )


def _with_anchor(url: str | None, anchor: str) -> str | None:
    return f"{url.partition('#')[0]}#{anchor}" if url and anchor else url
