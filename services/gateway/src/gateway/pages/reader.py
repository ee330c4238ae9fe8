"""Reading a page: from what is kept, or from the site, once for all who ask at the same moment."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final
from uuid import uuid4

import structlog

from chassis import Connections
from chassis.http.client import retry_after
from gateway.egress import Egress, Fetched, Limits, PassingError, RefusedError, Target
from gateway.pages import store
from gateway.pages.domain import FEED_TYPES, MEDIA_TYPES, Page, conditions, describe, good_for, kept
from gateway.pages.robots import Robots

log = structlog.get_logger(__name__)

_READING: Final = timedelta(seconds=90)
"""All of one reading: turns, redirects and the answer."""
_POLL_SECONDS: Final = 0.25
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
class Manners:
    """How a site is visited."""

    limits: Limits
    pause: timedelta
    """Between two requests to a host, of all replicas together, where its robots.txt asks for no longer one."""
    patience: timedelta
    """How far away a turn may be to be waited for."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How an address answered."""

    address: str
    """As asked for."""
    final: str
    """Where the redirects ended."""
    status: int
    looked_at: datetime


class Reader:
    """One for the life of the process.

    Args:
        connections: where pages and turns are kept, for all replicas.
        egress: how sites are reached.
        manners: how they are visited.
    """

    def __init__(self, connections: Connections, egress: Egress, manners: Manners) -> None:
        self._connections = connections
        self._egress = egress
        self._manners = manners
        self._robots = Robots(connections, egress, manners.pause)
        self._under_way: dict[tuple[str, bool], asyncio.Task[Page]] = {}

    async def read(self, target: Target, *, feed: bool = False) -> Page:
        """The page at the target, or the feed.

        Raises:
            RefusedError: it cannot or must not be read, today or tomorrow.
            PassingError: it may be another time.
        """
        address = str(target)
        known = await self._kept(address)
        if known is not None and known[1] and _is_wanted(known[0], feed=feed):
            return known[0]
        # A reading belongs to nobody: whoever began it may go away, and others wait for it.
        reading = self._under_way.get((address, feed))
        if reading is None:
            reading = asyncio.create_task(
                self._read_in_time(target, feed=feed), name=f"page of {target.host}"
            )
            self._under_way[address, feed] = reading
            reading.add_done_callback(lambda done: self._ended((address, feed), done))
        return await asyncio.shield(reading)

    async def look(self, target: Target) -> Seen:
        """Whether there is something at the target: what is kept of it says so, or else its site, of whose answer the headers alone are read.

        Raises:
            RefusedError: the site must not be asked.
            PassingError: it did not answer, or not yet.
        """
        known = await self._kept(str(target))
        if known is not None and known[1]:
            return Seen(str(target), known[0].final, HTTPStatus.OK, known[0].read_at)
        try:
            async with asyncio.timeout(_READING.total_seconds()):
                found = await self._egress.get(
                    target,
                    self._manners.limits,
                    headers={"Accept": _ACCEPT},
                    before=self._wait_for_turn,
                    body=False,
                )
        except TimeoutError:
            raise PassingError("timeout", f"{target.host} did not answer in time") from None
        await self._rest_if_asked(found)
        return Seen(str(target), str(found.target), found.status, datetime.now(UTC))

    async def finish(self) -> None:
        """Gives up what is being read."""
        readings = list(self._under_way.values())
        for each in readings:
            each.cancel()
        await asyncio.gather(*readings, return_exceptions=True)

    def _ended(self, asked: tuple[str, bool], reading: asyncio.Task[Page]) -> None:
        del self._under_way[asked]
        if not reading.cancelled():
            reading.exception()  # seen, even where everybody who asked has gone

    async def _kept(self, address: str) -> tuple[Page, bool] | None:
        async with self._connections.connection() as connection:
            return await store.page(connection, address)

    async def _read_in_time(self, target: Target, *, feed: bool) -> Page:
        try:
            async with asyncio.timeout(_READING.total_seconds()):
                return await self._read_alone(target, feed=feed)
        except TimeoutError:
            raise PassingError("timeout", f"{target.host} could not be read in time") from None

    async def _read_alone(self, target: Target, *, feed: bool) -> Page:
        """Reads it, or waits for the replica that does."""
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

    async def _ask(self, target: Target, known: Page | None, *, feed: bool) -> Page:
        found = await self._egress.get(
            target,
            self._manners.limits,
            media_types=FEED_TYPES if feed else MEDIA_TYPES,
            headers={"Accept": _ACCEPT_FEED if feed else _ACCEPT, **(conditions(known) if known else {})},
            before=self._wait_for_turn,
        )
        now = datetime.now(UTC)
        log.info("page_read", host=found.target.host, status=found.status, bytes=len(found.body))
        if found.status == HTTPStatus.NOT_MODIFIED and known is not None and str(found.target) == known.final:
            page = replace(known, headers={**known.headers, **kept(found.headers)}, read_at=now)
        else:
            await self._check(found, target)
            page = Page(str(target), str(found.target), kept(found.headers), found.body, now, now)
        good = good_for({**page.headers, **found.headers}, now)
        async with self._connections.connection() as connection:
            if good is None:
                await store.forget(connection, page.address)
                return page
            page = replace(page, expires_at=now + good)
            await store.keep(connection, page)
        return page

    async def _wait_for_turn(self, target: Target) -> None:
        pause = await self._robots.pause_for(target)
        async with self._connections.connection() as connection:
            turn = await store.take_turn(connection, target.host, pause, self._manners.patience)
        if not turn.mine:
            raise PassingError(
                "busy",
                f"{target.host} is asked often already; its next turn is in {turn.wait.total_seconds():.0f} s",
                after=turn.wait,
            )
        await asyncio.sleep(turn.wait.total_seconds())

    async def _check(self, found: Fetched, target: Target) -> None:
        """That there is a page in the answer."""
        status, host = found.status, found.target.host
        if status == HTTPStatus.OK:
            return
        after = await self._rest_if_asked(found)
        problem = f"{host} answered {status}"
        if status in {*_ASKED_FOR_REST, *_PASSING} or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise PassingError("site_failed", problem, after=after)
        async with self._connections.connection() as connection:
            await store.forget(connection, str(target))
        raise RefusedError("no_page", f"{problem}: there is no page to read")

    async def _rest_if_asked(self, found: Fetched) -> timedelta | None:
        """When to ask again, if the site says so."""
        after = retry_after(found.headers.get("retry-after"), datetime.now(UTC))
        if found.status in _ASKED_FOR_REST:
            after = max(after or _SHORTEST_REST, _SHORTEST_REST)
            async with self._connections.connection() as connection:
                await store.hold_back(connection, found.target.host, after)
        return after


def _is_wanted(page: Page, *, feed: bool) -> bool:
    """Whether what was kept for one who asked otherwise will do."""
    return describe(page).media_type in (FEED_TYPES if feed else MEDIA_TYPES)
