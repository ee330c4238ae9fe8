"""Searches all sources of a brand for a keyword: folder, uploads, addresses, feeds and web searches."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, TypeVar

import structlog

from messaging import Dependency, RetryLater, Unprocessable, WaitFor
from reading.cleaning import one_line
from reading.ranking.sources import Findings, InsufficientSources, ResearchResult, ResearchSource
from research.clients.local_corpus import LocalCorpus
from research.clients.provider import ResearchQuery, UploadsUnreadError
from research.domain import WebPage
from research.questions import merge_answers, subject_of
from research.sources.domain import SourceSettings, WebSearchSettings, checked_address
from research.web.addresses import site_of
from research.web.candidates import PageCandidate, select_by_keyword, select_candidates
from research.web.fetch_limits import TURN, BrandFetchLimits
from research.web.gateway import BudgetExhaustedError, ResearchGateway, SearchResult
from research.web.pages import PageReads, WebPageReader
from research.web.proposals import QueryProposer
from research.web.queries import build_queries, merge_queries

log = structlog.get_logger(__name__)

MAX_DETAIL: Final = 1_900
"""Characters of a refusal; messages take 2,000."""
READ_PAUSE: Final = timedelta(seconds=5)
"""Pause before the next check whether a brand's uploads are read."""
SHORTEST_WAIT: Final = timedelta(seconds=30)
LONGEST_WAIT: Final = timedelta(minutes=10)

FoundT = TypeVar("FoundT")


@dataclass(frozen=True, slots=True)
class WebSearchReport:
    """The searches and page reads for one keyword."""

    searched: tuple[str, ...]
    skipped: int
    """Number of searches without budget (`unpaid`); free pages are read all the same."""
    unpaid: BudgetExhaustedError | None
    reads: PageReads
    blocked: int


class WebSearcher:
    """Searches the web and reads pages through the gateway. Without `proposer`, only rules make the queries."""

    def __init__(
        self, gateway: ResearchGateway, pages: WebPageReader, proposer: QueryProposer | None = None
    ) -> None:
        self._gateway = gateway
        self._pages = pages
        self._proposer = proposer
        self._limits = BrandFetchLimits()

    async def search(self, query: ResearchQuery) -> WebSearchReport:
        """Search, then read the selected pages.

        Raises the errors of `ResearchGateway` except `BudgetExhaustedError`, and WaitFor if the brand has no free slot.
        """
        with self._limits.hold_keyword_slot(query.brand, at_once=query.alone):
            return await self._search(query, self._limits.page_slots(query.brand))

    async def _search(self, query: ResearchQuery, page_slots: asyncio.Semaphore) -> WebSearchReport:
        sources, searched, searches = query.sources, list[str](), list[Sequence[PageCandidate]]()
        queries, unpaid = list[str](), None
        await self._gateway.prepare()
        if sources.web is not None:
            queries = await self._queries(query, sources.web)
            for text in queries:
                try:
                    found = await self._gateway.search(
                        text, sources.web, brand=query.brand, command=query.command
                    )
                except BudgetExhaustedError as error:
                    unpaid = error
                    break
                searched.append(text)
                searches.append([candidate for each in found if (candidate := _candidate(each)) is not None])
        entries, unread = await self._pages.read_feeds(sources, page_slots)
        given = [PageCandidate(url) for url in sources.urls]
        choice = select_candidates([*given, *select_by_keyword(query.keyword, entries)], searches, sources)
        reads = await self._pages.read(choice.candidates, sources, page_slots)
        reads = PageReads(reads.pages, (*unread, *reads.left_out))
        log.info(
            "web_read",
            brand=query.brand,
            keyword=query.keyword,
            searches=len(searched),
            found=sum(map(len, searches)),
            read=len(reads.pages),
            left_out=len(reads.left_out),
            blocked=choice.blocked,
            unpaid=str(unpaid or ""),
        )
        return WebSearchReport(tuple(searched), len(queries) - len(searched), unpaid, reads, choice.blocked)

    async def _queries(self, query: ResearchQuery, how: WebSearchSettings) -> list[str]:
        if query.questions:
            return list(query.questions[: how.queries])
        by_rule = build_queries(query.keyword, how.language, how.queries)
        if self._proposer is None or not how.proposals or how.queries == 1:
            return by_rule
        return merge_queries(by_rule, await self._proposer.propose(query, how.language), how.queries)


class SourcesProvider:
    """The `ResearchProvider` over all sources. `searching` guards the corpus; `web` is None without a gateway."""

    def __init__(self, corpus: LocalCorpus, searching: Dependency, web: WebSearcher | None) -> None:
        self._corpus = corpus
        self._searching = searching
        self._web = web

    def name(self, sources: SourceSettings) -> str:
        if not sources.uses_web:
            return "local_corpus"
        return "web_and_local_corpus" if sources.folder else "web"

    async def search(self, query: ResearchQuery) -> Findings:
        """See `ResearchProvider`.

        Raises:
            WaitFor: the folder, the uploads, a free slot, the gateway or a provider is not ready; or the budget is
                used up and free sources do not suffice.
            RetryLater: too few pages were readable, and some of them may be later.
            Unprocessable: an operator has to configure the gateway first.
        """
        if not query.sources.uses_web:
            return await self._in_corpus(query, (), "The corpus")
        if self._web is None:
            raise Unprocessable(
                f"the sources of brand '{query.brand}' need a gateway, and research has none: set its GATEWAY_URL,"
                " then replay"
            )
        if not await self._corpus.can_search(query.keyword):
            return await self._in_corpus(query, (), "The corpus")
        report = await self._web.search(query)
        looked_in = "The web search" + (", with the corpus," if query.sources.folder else "")
        findings = await self._in_corpus(query, report.reads.pages, looked_in)
        match findings:
            case ResearchResult() if report.unpaid is not None:
                searches = f"{report.skipped} of {report.skipped + len(report.searched)} searches of the web"
                return replace(
                    findings, is_preliminary=True, left_out=one_line(f"{searches}: {report.unpaid}")
                )
            case ResearchResult():
                return findings
            case InsufficientSources() if report.unpaid is not None:
                raise report.unpaid
            case InsufficientSources():
                if query.patient and any(each.passing for _, each in report.reads.left_out):
                    raise RetryLater(_with_report(findings.detail, report), after=_retry_delay(report.reads))
                return replace(findings, detail=_with_report(findings.detail, report))

    async def search_questions(self, query: ResearchQuery) -> ResearchResult:
        """See `ResearchProvider`."""
        pages, left_out = await self._pages_on_questions(query)
        answers: list[Sequence[ResearchSource]] = []
        for question in query.questions:
            answer = self._corpus.answer(
                query.keyword,
                subject_of(question),
                brand=query.brand,
                folder=query.sources.folder,
                pages=pages,
            )
            answers.append(await self._once_read(query, answer))
        return ResearchResult(merge_answers(answers), left_out=left_out)

    async def _pages_on_questions(self, query: ResearchQuery) -> tuple[Sequence[WebPage], str]:
        """Return the pages of the web on the questions, and what was left out, and why."""
        if not query.sources.uses_web or self._web is None:
            return (), ""
        try:
            report = await self._web.search(query)
        except (RetryLater, Unprocessable) as problem:
            if isinstance(problem, WaitFor) and problem.dependency == TURN:
                raise
            return (), one_line(f"the web: {problem}")
        unpaid = "" if report.unpaid is None else one_line(f"searches of the web: {report.unpaid}")
        return report.reads.pages, unpaid

    async def _in_corpus(self, query: ResearchQuery, pages: Sequence[WebPage], looked_in: str) -> Findings:
        search = self._corpus.search(
            query.keyword,
            brand=query.brand,
            folder=query.sources.folder,
            pages=pages,
            looked_in=looked_in,
        )
        return await self._once_read(query, search)

    async def _once_read(self, query: ResearchQuery, search: Awaitable[FoundT]) -> FoundT:
        """Return what a search in the corpus finds; raises WaitFor while the brand's documents or the folder are not read."""
        try:
            if not query.sources.folder:
                return await search
            async with self._searching.call():
                return await search
        except UploadsUnreadError as error:
            raise WaitFor("uploads", str(error), after=READ_PAUSE) from error


def _candidate(result: SearchResult) -> PageCandidate | None:
    try:
        return PageCandidate(checked_address(result.url), result.date)
    except ValueError:
        return None


def _retry_delay(reads: PageReads) -> timedelta:
    """Return the time until the first skipped page may be readable."""
    delays = [each.after for _, each in reads.left_out if each.passing and each.after is not None]
    return min(max(min(delays, default=SHORTEST_WAIT), SHORTEST_WAIT), LONGEST_WAIT)


def _with_report(detail: str, report: WebSearchReport) -> str:
    """Return the refusal with a summary of searches and pages."""
    sentences = [detail]
    if report.searched:
        sentences.append(f"Searched the web for {', '.join(f'“{each}”' for each in report.searched)}.")
    sentences.append(f"Pages read: {len(report.reads.pages)}.")
    if report.blocked:
        sentences.append(f"On blocked hosts: {report.blocked}.")
    if report.reads.left_out:
        reasons = dict.fromkeys(
            f"{site_of(address)} ({each.reason.rstrip('.')})" for address, each in report.reads.left_out
        )
        sentences.append(f"Left out: {len(report.reads.left_out)}: {'; '.join(reasons)}.")
    # Addresses and reasons come from strangers; they must not break the message.
    text = one_line(" ".join(sentences))
    return text if len(text) <= MAX_DETAIL else f"{text[:MAX_DETAIL].rpartition('; ')[0]}; …"
