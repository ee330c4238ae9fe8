"""Reads a page from the cache or its site; concurrent requests share one reading."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final
from uuid import uuid4

import structlog

from chassis import Connections
from chassis.http.client import retry_after
from gateway.chain_calls import ChainRecorder
from gateway.egress import (
    EgressClient,
    EgressRefusedError,
    EgressUnavailableError,
    EgressUrl,
    FetchedResponse,
    FetchLimits,
)
from gateway.pages import store
from gateway.pages.domain import (
    FEED_TYPES,
    MEDIA_TYPES,
    PageResponse,
    conditions,
    describe,
    fresh_for,
    kept_headers,
)
from gateway.pages.robots import RobotsTxt

log = structlog.get_logger(__name__)

_READING: Final = timedelta(seconds=90)
"""Time limit of one reading: turns, redirects and the answer."""
_POLL_SECONDS: Final = 0.25
_STALE_FOR: Final = timedelta(days=7)
"""How long an expired page stays: its site may confirm it without sending it again."""
_SHORTEST_REST: Final = timedelta(seconds=30)
_ASKED_FOR_REST: Final = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_PASSING: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY}
_ACCEPT: Final = (
    "text/html, application/xhtml+xml, application/pdf, text/plain, text/markdown, application/xml;q=0.8"
)
_ACCEPT_FEED: Final = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9,"
    " application/json;q=0.8, text/html;q=0.1"
)


@dataclass(frozen=True, slots=True)
class CrawlPolicy:
    """How politely sites are read."""

    limits: FetchLimits
    pause: timedelta
    """Between two requests to a host, over all replicas; a robots.txt may ask for more."""
    patience: timedelta
    """The longest wait for a turn at a host."""


@dataclass(frozen=True, slots=True)
class AddressCheck:
    """An address and its answer."""

    address: str
    """The requested address."""
    final: str
    """The address after redirects."""
    status: int
    looked_at: datetime


class PageReader:
    """Reads pages; the process has one.

    Args:
        connections: of the database with the cache and the hosts' turns.
        egress: fetches from the sites.
        policy: pauses and limits.
    """

    def __init__(self, connections: Connections, egress: EgressClient, policy: CrawlPolicy) -> None:
        self._connections = connections
        self._egress = egress
        self._policy = policy
        self._recorder = ChainRecorder(connections)
        self._robots = RobotsTxt(connections, egress, policy.pause)
        self._under_way: dict[tuple[str, bool], asyncio.Task[PageResponse]] = {}

    async def clean_cache(self, max_bytes: int) -> None:
        """Deletes pages that are too old, and the oldest of those that together exceed the limit."""
        async with self._connections.connection() as connection:
            deleted = await store.clean(connection, max_bytes, _STALE_FOR)
        if deleted:
            log.info("pages_forgotten", pages=deleted)

    async def read(self, target: EgressUrl, *, feed: bool = False) -> PageResponse:
        """Returns the page, or the feed, at the URL.

        Raises:
            EgressRefusedError: a permanent error: it must not be read, or is unusable.
            EgressUnavailableError: a temporary error.
        """
        address = str(target)
        known = await self._kept(address)
        if known is not None and known[1] and _is_wanted(known[0], feed=feed):
            return known[0]
        # The reading is a task of its own: its first caller may leave while others wait.
        reading = self._under_way.get((address, feed))
        if reading is None:
            reading = asyncio.create_task(
                self._read_in_time(target, feed=feed), name=f"page of {target.host}"
            )
            self._under_way[address, feed] = reading
            reading.add_done_callback(lambda done: self._ended((address, feed), done))
        return await asyncio.shield(reading)

    async def look(self, target: EgressUrl) -> AddressCheck:
        """Checks whether the URL exists: from the cache if fresh, else by the headers of the site's answer.

        Raises:
            EgressRefusedError: the site must not be read.
            EgressUnavailableError: the site did not answer, or its turn is too far away.
        """
        known = await self._kept(str(target))
        if known is not None and known[1]:
            return AddressCheck(str(target), known[0].final, HTTPStatus.OK, known[0].read_at)
        try:
            async with asyncio.timeout(_READING.total_seconds()):
                found = await self._egress.get(
                    target,
                    self._policy.limits,
                    headers={"Accept": _ACCEPT},
                    before=self._wait_for_turn,
                    body=False,
                )
        except TimeoutError:
            raise EgressUnavailableError("timeout", f"{target.host} did not answer in time") from None
        await self._rest_if_asked(found)
        return AddressCheck(str(target), str(found.target), found.status, datetime.now(UTC))

    async def finish(self) -> None:
        """Cancels all readings."""
        readings = list(self._under_way.values())
        for each in readings:
            each.cancel()
        await asyncio.gather(*readings, return_exceptions=True)

    def _ended(self, asked: tuple[str, bool], reading: asyncio.Task[PageResponse]) -> None:
        del self._under_way[asked]
        if not reading.cancelled():
            reading.exception()  # Retrieved here, because all callers may have left.

    async def _kept(self, address: str) -> tuple[PageResponse, bool] | None:
        async with self._connections.connection() as connection:
            return await store.page(connection, address)

    async def _read_in_time(self, target: EgressUrl, *, feed: bool) -> PageResponse:
        try:
            async with asyncio.timeout(_READING.total_seconds()):
                return await self._read_alone(target, feed=feed)
        except TimeoutError:
            raise EgressUnavailableError("timeout", f"{target.host} could not be read in time") from None

    async def _read_alone(self, target: EgressUrl, *, feed: bool) -> PageResponse:
        """Reads the page, or waits for the replica that reads it."""
        address, me = str(target), uuid4()
        while True:
            async with self._connections.connection() as connection:
                mine = await store.begin_reading(connection, address, me, _READING)
            if mine:
                break
            await asyncio.sleep(_POLL_SECONDS)
        try:
            known = await self._kept(address)
            usable = known if known is not None and _is_wanted(known[0], feed=feed) else None
            if usable is not None and usable[1]:
                return usable[0]
            return await self._ask(target, usable[0] if usable else None, feed=feed)
        finally:
            async with self._connections.connection() as connection:
                await store.end_reading(connection, address, me)

    async def _ask(self, target: EgressUrl, known: PageResponse | None, *, feed: bool) -> PageResponse:
        async with self._recorder.recorded("page", target.host, "feed" if feed else "page", brand=None):
            return await self._ask_site(target, known, feed=feed)

    async def _ask_site(self, target: EgressUrl, known: PageResponse | None, *, feed: bool) -> PageResponse:
        found = await self._egress.get(
            target,
            self._policy.limits,
            media_types=FEED_TYPES if feed else MEDIA_TYPES,
            headers={"Accept": _ACCEPT_FEED if feed else _ACCEPT, **(conditions(known) if known else {})},
            before=self._wait_for_turn,
        )
        now = datetime.now(UTC)
        log.info("page_read", host=found.target.host, status=found.status, bytes=len(found.body))
        if found.status == HTTPStatus.NOT_MODIFIED and known is not None and str(found.target) == known.final:
            page = replace(known, headers={**known.headers, **kept_headers(found.headers)}, read_at=now)
        else:
            await self._check(found, target)
            page = PageResponse(
                str(target), str(found.target), kept_headers(found.headers), found.body, now, now
            )
        good = fresh_for({**page.headers, **found.headers}, now)
        async with self._connections.connection() as connection:
            if good is None:
                await store.forget(connection, page.address)
                return page
            page = replace(page, expires_at=now + good)
            await store.keep(connection, page)
        return page

    async def _wait_for_turn(self, target: EgressUrl) -> None:
        pause = await self._robots.pause_for(target)
        async with self._connections.connection() as connection:
            turn = await store.take_turn(connection, target.host, pause, self._policy.patience)
        if not turn.mine:
            raise EgressUnavailableError(
                "busy",
                f"{target.host} is asked often already; its next turn is in {turn.wait.total_seconds():.0f} s",
                after=turn.wait,
            )
        await asyncio.sleep(turn.wait.total_seconds())

    async def _check(self, found: FetchedResponse, target: EgressUrl) -> None:
        """Raises unless the answer contains a page."""
        status, host = found.status, found.target.host
        if status == HTTPStatus.OK:
            return
        after = await self._rest_if_asked(found)
        problem = f"{host} answered {status}"
        if status in {*_ASKED_FOR_REST, *_PASSING} or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise EgressUnavailableError("site_failed", problem, after=after)
        async with self._connections.connection() as connection:
            await store.forget(connection, str(target))
        raise EgressRefusedError("no_page", f"{problem}: there is no page to read")

    async def _rest_if_asked(self, found: FetchedResponse) -> timedelta | None:
        """The site's `Retry-After`, if any."""
        after = retry_after(found.headers.get("retry-after"), datetime.now(UTC))
        if found.status in _ASKED_FOR_REST:
            after = max(after or _SHORTEST_REST, _SHORTEST_REST)
            async with self._connections.connection() as connection:
                await store.delay_host(connection, found.target.host, after)
        return after


def _is_wanted(page: PageResponse, *, feed: bool) -> bool:
    """Whether a page cached for the other kind of request will do."""
    return describe(page).media_type in (FEED_TYPES if feed else MEDIA_TYPES)
