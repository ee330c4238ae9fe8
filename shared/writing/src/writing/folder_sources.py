"""Finds the sources of an article in a folder of documents, as the research service does in its index; needs `reading`."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from reading import folder as document_folder
from reading.document import DocumentPassage, ExtractedDocument
from reading.formats import UnreadableFileError
from reading.pool import HostileDocumentError, ReaderPool
from reading.ranking.relevance import KeywordQuery, QueryTerm
from reading.ranking.source_selection import select_sources
from reading.ranking.sources import CandidatePassage, InsufficientSources, ResearchSource, normalise_keyword
from writing.article import ArticleSource, SourcePassage
from writing.extractive.sentences import stem, words_of
from writing.extractive.topic import COMMON_STEMS
from writing.writer import InsufficientSourcesError

Stems = Mapping[str, list[int]]
"""The positions of the stemmed words of a text."""


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


def find_sources(
    keyword: str, documents: Mapping[str, ExtractedDocument], *, min_sources: int, licence: str | None = None
) -> tuple[ArticleSource, ...]:
    """Returns the documents that answer the keyword with their best passages, best first.

    `licence` applies to documents that name none.

    Raises:
        InsufficientSourcesError: fewer than `min_sources` documents treat the keyword.
    """
    candidates = [
        _candidate(number, path, document, position, passage)
        for number, (path, document) in enumerate(documents.items())
        for position, passage in enumerate(document.passages)
    ]
    terms = tuple(
        QueryTerm(lexeme, position, sum(lexeme in each.body_hits for each in candidates))
        for lexeme, positions in _stems_in(normalise_keyword(keyword)).items()
        for position in positions
        if lexeme not in COMMON_STEMS
    )
    query = KeywordQuery(keyword, terms, corpus_passages=len(candidates))
    findings = select_sources(query, candidates, min_sources=min_sources, looked_in="The folder")
    if isinstance(findings, InsufficientSources):
        raise InsufficientSourcesError(findings.detail)
    return tuple(_source(n, found, licence) for n, found in enumerate(findings.sources, start=1))


def _stems_in(text: str) -> Stems:
    found: dict[str, list[int]] = {}
    for position, word in enumerate(words_of(text), start=1):
        found.setdefault(stem(word), []).append(position)
    return found


def _candidate(
    number: int, path: str, document: ExtractedDocument, position: int, passage: DocumentPassage
) -> CandidatePassage:
    return CandidatePassage(
        document_id=number,
        document_title=document.title,
        path=path,
        url=document.url,
        licence=document.licence,
        quality=document.quality,
        passages_in_document=len(document.passages),
        position=position,
        passage=passage,
        published_on=document.published_on,
        body_hits=_stems_in(passage.text),
        heading_hits=_stems_in(passage.heading or ""),
        title_hits=_stems_in(document.title),
        author=document.author,
    )


def _source(n: int, found: ResearchSource, licence: str | None) -> ArticleSource:
    return ArticleSource(
        n=n,
        title=found.title,
        url=found.url,
        path=found.path,
        licence=found.licence or licence,
        published_on=found.published_on,
        passages=tuple(
            SourcePassage(each.heading, each.text, each.score, each.flags) for each in found.passages
        ),
    )
