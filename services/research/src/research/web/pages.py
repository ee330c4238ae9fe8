"""Fetches pages from the gateway, reads them in separate processes, and checks their robots directives."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Final, TypeVar
from urllib.parse import urljoin

from reading.document import DocumentPassage, ExtractedDocument
from reading.facts import licence_text
from reading.formats import SUFFIXES, UnreadableFileError
from reading.pool import HostileDocumentError, ReaderPool
from research.clients.licences import is_free
from research.domain import WebPage
from research.sources.domain import SourceSettings, checked_address
from research.web.addresses import host_of, page_key, site_of, without_tracking
from research.web.candidates import FeedCandidate, PageCandidate
from research.web.gateway import FetchedPage, PageSkippedError, ResearchGateway
from research.web.robots import find_forbidding_directive

AT_ONCE: Final = 4
"""Pages under way per keyword."""
AT_ONCE_IN_ALL: Final = 12
"""Pages under way in the process; each may take some megabytes."""
SECONDS: Final = 75.0
"""Time for all pages of one keyword, even if a host asks for longer pauses."""
MAX_CHARACTERS: Final = 200_000
"""Characters to use of a page, from its beginning."""
PREFERRED_WEIGHT: Final = 1.5
YOUNG_YEARS: Final = 2.0
"""Age from which a page loses weight."""
WEIGHT_LOST_A_YEAR: Final = 0.03
OLD_WEIGHT: Final = 0.7
UNDATED_WEIGHT: Final = 0.9

ReadT = TypeVar("ReadT")

_SUFFIXES: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "application/pdf": ".pdf",
}


@dataclass(frozen=True, slots=True)
class PageReads:
    """The pages that were read, and those left out."""

    pages: tuple[WebPage, ...]
    left_out: tuple[tuple[str, PageSkippedError], ...]
    """Address and reason of each."""


class WebPageReader:
    """Reads web pages and feeds: one reader per process, to bound the pages under way."""

    def __init__(self, gateway: ResearchGateway, readers: ReaderPool, *, seconds: float = SECONDS) -> None:
        self._gateway = gateway
        self._readers = readers
        self._seconds = seconds
        self._slots = asyncio.Semaphore(AT_ONCE_IN_ALL)

    async def read(
        self, candidates: Sequence[PageCandidate], sources: SourceSettings, page_slots: asyncio.Semaphore
    ) -> PageReads:
        """Read the candidates, a few at a time; leave out those that are not read in time.

        `page_slots` are the brand's; the process has its own besides. Raises the errors of `ResearchGateway`.
        """
        ended = await self._each(candidates, partial(self._page, sources), page_slots)
        return _collect_reads(list(zip(candidates, ended, strict=True)))

    async def read_feeds(
        self, sources: SourceSettings, page_slots: asyncio.Semaphore
    ) -> tuple[list[FeedCandidate], list[tuple[str, PageSkippedError]]]:
        """Return the entries of the brand's feeds, and the unreadable feeds. Raises the errors of `ResearchGateway`."""
        candidates = [PageCandidate(each) for each in sources.feeds]
        found: list[FeedCandidate] = []
        left_out: list[tuple[str, PageSkippedError]] = []
        for candidate, outcome in zip(
            candidates, await self._each(candidates, self._feed, page_slots), strict=True
        ):
            if isinstance(outcome, PageSkippedError):
                left_out.append((candidate.address, outcome))
            else:
                found += outcome
        return found, left_out

    async def _each(
        self,
        candidates: Sequence[PageCandidate],
        read: Callable[[PageCandidate], Awaitable[ReadT]],
        page_slots: asyncio.Semaphore,
    ) -> list[ReadT | PageSkippedError]:
        """Read each candidate; return results or reasons in the same order."""
        ended: dict[int, ReadT | PageSkippedError] = {}
        waiting = iter(enumerate(candidates))

        async def work() -> None:
            for at, candidate in waiting:
                async with page_slots, self._slots:
                    try:
                        ended[at] = await read(candidate)
                    except PageSkippedError as why:
                        ended[at] = why

        try:
            async with asyncio.timeout(self._seconds), self._readers, asyncio.TaskGroup() as group:
                for _ in range(min(AT_ONCE, len(candidates))):
                    group.create_task(work())
        except TimeoutError:
            pass  # unfinished ones are left out
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        late = PageSkippedError("it was not read in time", passing=True)
        return [ended.get(at, late) for at in range(len(candidates))]

    async def _feed(self, candidate: PageCandidate) -> list[FeedCandidate]:
        fetched = await self._gateway.fetch_page(candidate.address, feed=True)
        try:
            entries = await self._readers.read_feed(fetched.body, charset=fetched.charset)
        except (UnreadableFileError, HostileDocumentError) as error:
            raise PageSkippedError(str(error)) from error
        found = ((_entry_address(fetched.final, each.address), each) for each in entries)
        return [
            FeedCandidate(PageCandidate(address, each.published_on), each.text)
            for address, each in found
            if address
        ]

    async def _page(self, sources: SourceSettings, candidate: PageCandidate) -> WebPage:
        fetched = await self._gateway.fetch_page(candidate.address)
        if sources.blocks(host_of(fetched.final)):
            raise PageSkippedError("it leads to a blocked host")
        _check_robots(fetched.robots_tag or "")
        suffix = _SUFFIXES.get(fetched.media_type)
        if suffix is None or suffix not in SUFFIXES:
            raise PageSkippedError(f"research does not read {fetched.media_type or 'pages without a type'}")
        try:
            document = await self._readers.read(f"page{suffix}", fetched.body, charset=fetched.charset)
        except (UnreadableFileError, HostileDocumentError) as error:
            raise PageSkippedError(str(error)) from error
        _check_robots(document.robots)
        if not document.passages:
            raise PageSkippedError("it holds no text")
        return _page(document, fetched, candidate, sources)


def _entry_address(base: str, reference: str) -> str:
    """Return the absolute address of a feed entry; empty if it is not a web address."""
    try:
        return checked_address(urljoin(base, reference.strip()))
    except ValueError:
        return ""


def _check_robots(tag: str) -> None:
    if (directive := find_forbidding_directive(tag)) is not None:
        raise PageSkippedError(f"it asks robots not to use it ({directive})")


def _collect_reads(ended: Sequence[tuple[PageCandidate, WebPage | PageSkippedError]]) -> PageReads:
    """Separate pages from reasons; of two candidates with the same page, keep the first."""
    pages: dict[str, WebPage] = {}
    left_out: list[tuple[str, PageSkippedError]] = []
    for candidate, outcome in ended:
        if isinstance(outcome, PageSkippedError):
            left_out.append((candidate.address, outcome))
            continue
        page = page_key(outcome.document.url or candidate.address)
        if page in pages:
            left_out.append(
                (candidate.address, PageSkippedError("it is another address of a page that was read"))
            )
        else:
            pages[page] = outcome
    return PageReads(tuple(pages.values()), tuple(left_out))


def _page(
    document: ExtractedDocument, fetched: FetchedPage, candidate: PageCandidate, sources: SourceSettings
) -> WebPage:
    address = _address(document, fetched)
    dated = document.published_on or candidate.written_on
    preferred = sources.prefers(host_of(address))
    stated = document.licence or licence_text(fetched.licence)
    weight = weight_of_age(dated, datetime.now(UTC).date())
    return WebPage(
        replace(
            document,
            url=address,
            licence=stated,
            published_on=dated,
            passages=_beginning(document.passages),
        ),
        host=None if preferred else site_of(address),
        weight=weight * (PREFERRED_WEIGHT if preferred else 1.0),
        quotable=sources.owns(host_of(address)) or is_free(stated),
    )


def weight_of_age(written_on: date | None, today: date) -> float:
    """Return the weight of a page: 1 for young pages, then falling to `OLD_WEIGHT`."""
    if written_on is None:
        return UNDATED_WEIGHT
    years = (today - written_on).days / 365
    return max(OLD_WEIGHT, 1.0 - WEIGHT_LOST_A_YEAR * max(0.0, years - YOUNG_YEARS))


def _address(document: ExtractedDocument, fetched: FetchedPage) -> str:
    """Return the canonical address if it is on the page's own site, else the final one: any page can name a foreign one."""
    for found in (document.url, fetched.canonical):
        if found and site_of(found) == site_of(fetched.final):
            return without_tracking(found)
    return without_tracking(fetched.final)


def _beginning(passages: Sequence[DocumentPassage]) -> tuple[DocumentPassage, ...]:
    kept, size = [], 0
    for passage in passages:
        size += len(passage.text)
        if size > MAX_CHARACTERS:
            break
        kept.append(passage)
    return tuple(kept)
