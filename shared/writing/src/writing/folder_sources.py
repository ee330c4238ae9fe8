"""Finds the sources of an article in a folder of documents, as the research service does in its index; needs `reading`."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from documents.sections import Section
from documents.words import stems_of, telling_stems
from reading import folder as document_folder
from reading.collection import (
    abbreviations_of,
    copies,
    heads_of,
    index_terms_of,
    pages_above,
    parents_of,
    product_words,
    site_names,
    text_fingerprint,
    title_suffixes,
    without_suffix,
)
from reading.document import ExtractedDocument
from reading.formats import UnreadableFileError
from reading.pool import HostileDocumentError, ReaderPool
from reading.ranking.aboutness import (
    MAX_LOADED,
    MIN_CANDIDATE,
    CollectionFacts,
    Keyword,
    SectionHead,
    SpineCandidate,
    aboutness,
    describe_absence,
    parse_keyword,
    rank_candidates,
)
from reading.ranking.narrow_topics import one_of_kinds, page_instead, short_sections
from writing.article import ArticleSource
from writing.writer import InsufficientSourcesError


async def read_documents(
    folder: Path, *, on_skipped: Callable[[str, str], None]
) -> dict[str, ExtractedDocument]:
    """Reads the documents below a folder, by their paths; `on_skipped(path, reason)` reports unusable ones.

    Raises:
        FolderUnavailableError: the folder cannot be read.
        ReadersUnavailableError: the machine cannot start the processes that read.
    """
    paths = [file.path for file in document_folder.scan(folder)]

    async def read(readers: ReaderPool, path: str) -> ExtractedDocument | None:
        try:
            async with readers.memory_slots:
                return await readers.read(path, document_folder.read(folder, path))
        except (UnreadableFileError, HostileDocumentError) as error:
            on_skipped(path, str(error))
            return None

    async with ReaderPool() as readers:
        documents = await asyncio.gather(*(read(readers, path) for path in paths))
    return {path: each for path, each in zip(paths, documents, strict=True) if each is not None}


@dataclass(frozen=True, slots=True)
class _IndexedSection:
    path: str
    head: SectionHead
    section: Section


class DocumentIndex:
    """The sections of documents by the stems of their titles and names."""

    def __init__(self, documents: Mapping[str, ExtractedDocument]) -> None:
        self._documents = documents
        pages = {path: each.sections for path, each in documents.items() if each.sections is not None}
        duplicates = copies({path: text_fingerprint(page) for path, page in pages.items()})
        suffixes = title_suffixes([page.title for page in pages.values()])
        self._pages = {
            path: replace(page, title=without_suffix(page.title, suffixes))
            for path, page in pages.items()
            if path not in duplicates
        }
        parents = parents_of({path: documents[path].toc for path in self._pages})
        terms = index_terms_of(term for each in documents.values() for term in each.index_terms)
        self._facts = CollectionFacts(
            product_words=product_words(
                [page.title for page in self._pages.values()], self._stems_by_page.values()
            ),
            site_names=site_names([each.title for _, each in page.walk()] for page in self._pages.values()),
            abbreviations=abbreviations_of(
                each.text for page in self._pages.values() for _, each in page.walk()
            ),
        )
        self._sections = [
            _IndexedSection(path, head, section)
            for path, page in self._pages.items()
            for head, section in heads_of(
                page,
                path=path,
                parent_titles=tuple(
                    self._pages[above].title for above in pages_above(path, parents) if above in self._pages
                ),
                index_terms=terms,
            )
        ]
        self._by_stem: dict[str, list[int]] = {}
        for at, each in enumerate(self._sections):
            for stem in each.head.search_stems():
                self._by_stem.setdefault(stem, []).append(at)

    def find_sources(self, keyword: str, *, licence: str | None = None) -> tuple[ArticleSource, ...]:
        """Returns the sections about the keyword, best first. `licence` applies to documents that name none.

        Raises:
            InsufficientSourcesError: no section is about the keyword.
        """
        wanted = parse_keyword(keyword)
        numbers = {at for stem in self._stems_of(wanted) for at in self._by_stem.get(stem, ())}
        rated = [(aboutness(wanted, self._sections[at].head, self._facts), at) for at in numbers]
        rated = sorted((-about, at) for about, at in rated if about >= MIN_CANDIDATE)[:MAX_LOADED]
        found = rank_candidates(
            wanted,
            [
                SpineCandidate(
                    self._sections[at].head,
                    one_of_kinds(wanted, self._sections[at].section, self._facts),
                    key=self._sections[at].path,
                )
                for _, at in rated
            ],
            self._facts,
        )
        if not found:
            raise InsufficientSourcesError(describe_absence(wanted, self._mentions(wanted), "The folder"))
        # Sections of one page are one source.
        numbers_of: dict[str, int] = {}
        return tuple(
            self._source(numbers_of.setdefault(str(each.key), len(numbers_of) + 1), each, licence)
            for each in (*found, *self._pages_of_short(wanted, found))
        )

    def _pages_of_short(self, keyword: Keyword, found: Sequence[SpineCandidate]) -> Iterator[SpineCandidate]:
        """Yields the page of a section that is named like the keyword and may be too short for an article of its own."""
        for each in short_sections(found):
            page = self._pages[str(each.key)]
            if (instead := page_instead(each, page, keyword, self._facts)) is not None:
                yield instead
                return

    def _stems_of(self, keyword: Keyword) -> set[str]:
        """Returns the stems to look for; the product's name is in too many titles."""
        stems = {*keyword.stems, *telling_stems(self._facts.other_form(keyword) or "")}
        return stems - self._facts.product_words or stems

    @cached_property
    def _stems_by_page(self) -> Mapping[str, tuple[str, ...]]:
        return {
            path: stems_of(" ".join(each.text for _, each in page.walk()))
            for path, page in self._pages.items()
        }

    def _mentions(self, keyword: Keyword) -> list[tuple[str, str]]:
        """Returns (title, path) of the pages with most of the keyword's words; none if no word occurs."""
        wanted = frozenset(keyword.stems)
        counts = ((len(wanted.intersection(stems)), path) for path, stems in self._stems_by_page.items())
        most = sorted((-count, path) for count, path in counts if count)
        return [(self._pages[path].title, path) for _, path in most[:3]]

    def _source(self, n: int, found: SpineCandidate, licence: str | None) -> ArticleSource:
        path = str(found.key)
        document = self._documents[path]
        return ArticleSource(
            n=n,
            title=self._pages[path].title or document.title,
            passages=(),
            url=document.url,
            path=path,
            licence=document.licence or licence,
            published_on=document.published_on,
            author=document.author,
            section=found.section,
            about=found.about,
            titles_above=found.head.titles_above,
        )
