"""Looking for a keyword in all of a brand's sources: its folder and documents, its addresses and feeds, and the web."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import structlog

from messaging import Dependency, RetryLater, Unprocessable, WaitFor
from research.clients.local_corpus import LocalCorpus
from research.clients.provider import NotReadyError, Wanted
from research.domain import Findings, Found, Insufficient, Page
from research.reading.cleaning import one_line
from research.sources.domain import Sources, WebSearch, checked_address
from research.web.addresses import site_of
from research.web.gateway import Gateway, NoMoneyError, Result
from research.web.leads import Lead, about, chosen
from research.web.pages import Pages, Reads
from research.web.proposals import Proposals
from research.web.queries import queries, together
from research.web.turns import Turns

log = structlog.get_logger(__name__)

MAX_DETAIL: Final = 1_900
"""Characters of a refusal; messages take 2,000."""
READ_PAUSE: Final = timedelta(seconds=5)
"""Until somebody asks again whether a brand's documents have been read."""
SHORTEST_WAIT: Final = timedelta(seconds=30)
LONGEST_WAIT: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Tried:
    """What was done to find pages."""

    asked: tuple[str, ...]
    unasked: int
    """Searches that were not made, being `unpaid`; what costs nothing was read all the same."""
    unpaid: NoMoneyError | None
    reads: Reads
    blocked: int


class Web:
    """What lies behind the gateway. Without `proposals`, queries are made by rules alone."""

    def __init__(self, gateway: Gateway, pages: Pages, proposals: Proposals | None = None) -> None:
        self._gateway = gateway
        self._pages = pages
        self._proposals = proposals
        self._turns = Turns()

    async def look(self, wanted: Wanted) -> Tried:
        """Searches and reads. Raises what `Gateway` raises, but for want of money; and WaitFor, if it is not the brand's turn."""
        with self._turns.take(wanted.brand, at_once=wanted.alone):
            return await self._look(wanted, self._turns.room(wanted.brand))

    async def _look(self, wanted: Wanted, room: asyncio.Semaphore) -> Tried:
        sources, asked, searches = wanted.sources, list[str](), list[Sequence[Lead]]()
        wished, unpaid = list[str](), None
        await self._gateway.prepare()
        if sources.web is not None:
            wished = await self._queries(wanted, sources.web)
            for query in wished:
                try:
                    found = await self._gateway.search(
                        query, sources.web, brand=wanted.brand, command=wanted.command
                    )
                except NoMoneyError as error:
                    unpaid = error
                    break
                asked.append(query)
                searches.append([lead for each in found if (lead := _lead(each)) is not None])
        told, unread = await self._pages.feeds(sources, room)
        named = [Lead(url) for url in sources.urls]
        choice = chosen([*named, *about(wanted.keyword, told)], searches, sources)
        reads = await self._pages.read(choice.leads, sources, room)
        reads = Reads(reads.pages, (*unread, *reads.left_out))
        log.info(
            "web_read",
            brand=wanted.brand,
            keyword=wanted.keyword,
            searches=len(asked),
            found=sum(map(len, searches)),
            read=len(reads.pages),
            left_out=len(reads.left_out),
            blocked=choice.blocked,
            unpaid=str(unpaid or ""),
        )
        return Tried(tuple(asked), len(wished) - len(asked), unpaid, reads, choice.blocked)

    async def _queries(self, wanted: Wanted, how: WebSearch) -> list[str]:
        by_rule = queries(wanted.keyword, how.language, how.queries)
        if self._proposals is None or not how.proposals or how.queries == 1:
            return by_rule
        return together(by_rule, await self._proposals.of(wanted, how.language), how.queries)


class BrandSources:
    """The `Provider`. `corpus` is asked while `searching`, a dependency, says that it can be; `web` is None without a gateway."""

    def __init__(self, corpus: LocalCorpus, searching: Dependency, web: Web | None) -> None:
        self._corpus = corpus
        self._searching = searching
        self._web = web

    def name(self, sources: Sources) -> str:
        if not sources.uses_web:
            return "local_corpus"
        return "web_and_local_corpus" if sources.folder else "web"

    async def search(self, wanted: Wanted) -> Findings:
        """As of `Provider`.

        Raises:
            WaitFor: the folder, the brand's own documents, its turn, the gateway or a provider has to be waited for; or
                money, where what is free says too little.
            RetryLater: too few pages could be read, and there may be more of them later.
            Unprocessable: the web cannot be read before somebody has seen to it.
        """
        if not wanted.sources.uses_web:
            return await self._in_corpus(wanted, (), "The corpus")
        if self._web is None:
            raise Unprocessable(
                f"the sources of brand '{wanted.brand}' need a gateway, and research knows of none: set its GATEWAY_URL,"
                " then replay"
            )
        if not await self._corpus.can_search(wanted.keyword):
            return await self._in_corpus(wanted, (), "The corpus")
        tried = await self._web.look(wanted)
        looked_in = "What was read of the web" + (", with the corpus," if wanted.sources.folder else "")
        findings = await self._in_corpus(wanted, tried.reads.pages, looked_in)
        match findings:
            case Found() if tried.unpaid is not None:
                searches = f"{tried.unasked} of {tried.unasked + len(tried.asked)} searches of the web"
                return replace(
                    findings, is_preliminary=True, left_out=one_line(f"{searches}: {tried.unpaid}")
                )
            case Found():
                return findings
            case Insufficient() if tried.unpaid is not None:
                raise tried.unpaid
            case Insufficient():
                if wanted.patient and any(each.passing for _, each in tried.reads.left_out):
                    raise RetryLater(_with_what_was_tried(findings.detail, tried), after=_wait(tried.reads))
                return replace(findings, detail=_with_what_was_tried(findings.detail, tried))

    async def _in_corpus(self, wanted: Wanted, pages: Sequence[Page], looked_in: str) -> Findings:
        async def search() -> Findings:
            try:
                return await self._corpus.search(
                    wanted.keyword,
                    brand=wanted.brand,
                    folder=wanted.sources.folder,
                    pages=pages,
                    looked_in=looked_in,
                )
            except NotReadyError as error:
                raise WaitFor("uploads", str(error), after=READ_PAUSE) from error

        if not wanted.sources.folder:
            return await search()
        async with self._searching.call():
            return await search()


def _lead(result: Result) -> Lead | None:
    try:
        return Lead(checked_address(result.url), result.date)
    except ValueError:
        return None


def _wait(reads: Reads) -> timedelta:
    """Until the first of them may be there."""
    told = [each.after for _, each in reads.left_out if each.passing and each.after is not None]
    return min(max(min(told, default=SHORTEST_WAIT), SHORTEST_WAIT), LONGEST_WAIT)


def _with_what_was_tried(detail: str, tried: Tried) -> str:
    """The refusal, and what its reader would ask next."""
    told = [detail]
    if tried.asked:
        told.append(f"The web was asked for {', '.join(f'“{query}”' for query in tried.asked)}.")
    told.append(f"Pages read: {len(tried.reads.pages)}.")
    if tried.blocked:
        told.append(f"On blocked hosts: {tried.blocked}.")
    if tried.reads.left_out:
        reasons = dict.fromkeys(
            f"{site_of(address)} ({each.reason.rstrip('.')})" for address, each in tried.reads.left_out
        )
        told.append(f"Left out: {len(tried.reads.left_out)}: {'; '.join(reasons)}.")
    # What strangers have a part in must not break the message that it goes into.
    text = one_line(" ".join(told))
    return text if len(text) <= MAX_DETAIL else f"{text[:MAX_DETAIL].rpartition('; ')[0]}; …"
