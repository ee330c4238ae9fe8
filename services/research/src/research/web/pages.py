"""Pages for one keyword: got from the gateway, read in the processes that may die of them, and judged by what they say of themselves."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Final, TypeVar
from urllib.parse import urljoin

from research.clients.licences import is_free
from research.domain import Document, Page, Passage
from research.reading.facts import licence
from research.reading.formats import SUFFIXES, UnreadableFileError
from research.reading.pool import HostileDocumentError, Readers
from research.sources.domain import Sources, checked_address
from research.web.addresses import host_of, same_page, site_of, without_tracking
from research.web.gateway import FetchedPage, Gateway, LeftOutError
from research.web.leads import Lead, Told
from research.web.robots import forbidden_by

AT_ONCE: Final = 4
"""Pages in hand for one keyword."""
AT_ONCE_IN_ALL: Final = 12
"""For all keywords together: of each there are some megabytes at a time."""
SECONDS: Final = 75.0
"""For all pages of one keyword; a host that asks for pauses is not waited for longer."""
MAX_CHARACTERS: Final = 200_000
"""Of a page that are used, from its beginning."""
PREFERRED_WEIGHT: Final = 1.5
YOUNG_YEARS: Final = 2.0
"""So old may a page be without counting for less."""
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
class Reads:
    """What became of the leads."""

    pages: tuple[Page, ...]
    left_out: tuple[tuple[str, LeftOutError], ...]
    """By address."""


class Pages:
    """One for the life of the process, so that it can bound what is in hand."""

    def __init__(self, gateway: Gateway, readers: Readers, *, seconds: float = SECONDS) -> None:
        self._gateway = gateway
        self._readers = readers
        self._seconds = seconds
        self._room = asyncio.Semaphore(AT_ONCE_IN_ALL)

    async def read(self, leads: Sequence[Lead], sources: Sources, room: asyncio.Semaphore) -> Reads:
        """Reads them, some at a time, and leaves out what is not there in time. Raises what `Gateway` raises.

        `room` is that of the brand, within the room that there is for all.
        """
        ended = await self._each(leads, partial(self._page, sources), room)
        return _sorted_out(list(zip(leads, ended, strict=True)))

    async def feeds(
        self, sources: Sources, room: asyncio.Semaphore
    ) -> tuple[list[Told], list[tuple[str, LeftOutError]]]:
        """What the brand's feeds lead to, and those that could not be read. Raises what `Gateway` raises."""
        leads = [Lead(each) for each in sources.feeds]
        told: list[Told] = []
        left_out: list[tuple[str, LeftOutError]] = []
        for lead, outcome in zip(leads, await self._each(leads, self._feed, room), strict=True):
            if isinstance(outcome, LeftOutError):
                left_out.append((lead.address, outcome))
            else:
                told += outcome
        return told, left_out

    async def _each(
        self, leads: Sequence[Lead], read: Callable[[Lead], Awaitable[ReadT]], room: asyncio.Semaphore
    ) -> list[ReadT | LeftOutError]:
        """What became of each of them, in their order."""
        ended: dict[int, ReadT | LeftOutError] = {}
        waiting = iter(enumerate(leads))

        async def work() -> None:
            for at, lead in waiting:
                async with room, self._room:
                    try:
                        ended[at] = await read(lead)
                    except LeftOutError as why:
                        ended[at] = why

        try:
            async with asyncio.timeout(self._seconds), self._readers, asyncio.TaskGroup() as group:
                for _ in range(min(AT_ONCE, len(leads))):
                    group.create_task(work())
        except TimeoutError:
            pass  # what has not ended is left out
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        late = LeftOutError("it was not read in time", passing=True)
        return [ended.get(at, late) for at in range(len(leads))]

    async def _feed(self, lead: Lead) -> list[Told]:
        fetched = await self._gateway.page(lead.address, feed=True)
        try:
            entries = await self._readers.read_feed(fetched.body, charset=fetched.charset)
        except (UnreadableFileError, HostileDocumentError) as error:
            raise LeftOutError(str(error)) from error
        told = ((_joined(fetched.final, each.address), each) for each in entries)
        return [Told(Lead(address, each.published_on), each.text) for address, each in told if address]

    async def _page(self, sources: Sources, lead: Lead) -> Page:
        fetched = await self._gateway.page(lead.address)
        if sources.blocks(host_of(fetched.final)):
            raise LeftOutError("it leads to a blocked host")
        _check_robots(fetched.robots_tag or "")
        suffix = _SUFFIXES.get(fetched.media_type)
        if suffix is None or suffix not in SUFFIXES:
            raise LeftOutError(f"{fetched.media_type or 'what it is made of'} is not read")
        try:
            document = await self._readers.read(f"page{suffix}", fetched.body, charset=fetched.charset)
        except (UnreadableFileError, HostileDocumentError) as error:
            raise LeftOutError(str(error)) from error
        _check_robots(document.robots)
        if not document.passages:
            raise LeftOutError("it holds no text")
        return _page(document, fetched, lead, sources)


def _joined(base: str, reference: str) -> str:
    """The address that an entry leads to; empty if that is none of the web."""
    try:
        return checked_address(urljoin(base, reference.strip()))
    except ValueError:
        return ""


def _check_robots(tag: str) -> None:
    if (directive := forbidden_by(tag)) is not None:
        raise LeftOutError(f"it asks robots not to use it ({directive})")


def _sorted_out(ended: Sequence[tuple[Lead, Page | LeftOutError]]) -> Reads:
    """Two leads may have led to one page: the first of them counts."""
    pages: dict[str, Page] = {}
    left_out: list[tuple[str, LeftOutError]] = []
    for lead, outcome in ended:
        if isinstance(outcome, LeftOutError):
            left_out.append((lead.address, outcome))
            continue
        page = same_page(outcome.document.url or lead.address)
        if page in pages:
            left_out.append((lead.address, LeftOutError("it is another address of a page that was read")))
        else:
            pages[page] = outcome
    return Reads(tuple(pages.values()), tuple(left_out))


def _page(document: Document, fetched: FetchedPage, lead: Lead, sources: Sources) -> Page:
    address = _address(document, fetched)
    dated = document.published_on or lead.written_on
    preferred = sources.prefers(host_of(address))
    stated = document.licence or licence(fetched.licence)
    weight = weight_of_age(dated, datetime.now(UTC).date())
    return Page(
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
    """What a page counts for: less, the older it is, and not much less even then."""
    if written_on is None:
        return UNDATED_WEIGHT
    years = (today - written_on).days / 365
    return max(OLD_WEIGHT, 1.0 - WEIGHT_LOST_A_YEAR * max(0.0, years - YOUNG_YEARS))


def _address(document: Document, fetched: FetchedPage) -> str:
    """The canonical one, if the page speaks for its own site; anybody can name somebody else's."""
    for told in (document.url, fetched.canonical):
        if told and site_of(told) == site_of(fetched.final):
            return without_tracking(told)
    return without_tracking(fetched.final)


def _beginning(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    kept, size = [], 0
    for passage in passages:
        size += len(passage.text)
        if size > MAX_CHARACTERS:
            break
        kept.append(passage)
    return tuple(kept)
