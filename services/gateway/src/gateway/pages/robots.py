"""Reads and applies sites' `robots.txt` (RFC 9309)."""

import asyncio
from collections import OrderedDict
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from protego import Protego

from chassis import Connections
from gateway.egress import EgressClient, EgressRefusedError, EgressUnavailableError, EgressUrl, FetchLimits
from gateway.pages import store
from gateway.pages.store import RobotsRules

TOKEN: Final = "BrandEngine"  # noqa: S105 - the name that sites call it by
_LIMITS: Final = FetchLimits(seconds=10, max_bytes=2_000_000)
_MAX_BYTES: Final = 500 * 1024
"""Only this much of a file is read, as the standard allows."""
_KEPT: Final = timedelta(days=1)
_AFTER_FAILURE: Final = timedelta(minutes=5)
_PARSED: Final = 256
_LONGEST_PAUSE: Final = timedelta(days=1)


def user_agent(about: str | None) -> str:
    """The `User-Agent`: the name for robots.txt rules, and an address with more information."""
    return f"{TOKEN}/1.0 (+{about})" if about else f"{TOKEN}/1.0"


class RobotsTxt:
    """Rules of sites: permitted pages and pauses.

    Args:
        connections: of the database with the cached rules.
        egress: fetches the files.
        pause: default pause between two requests to a host.
    """

    def __init__(self, connections: Connections, egress: EgressClient, pause: timedelta) -> None:
        self._connections = connections
        self._egress = egress
        self._pause = pause
        self._parsed: OrderedDict[tuple[str, str], Protego] = OrderedDict()

    async def pause_for(self, target: EgressUrl) -> timedelta:
        """Returns the pause between requests that the site wants; at least the default.

        Raises:
            EgressRefusedError: the site forbids the page.
            EgressUnavailableError: the file cannot be read now, which counts as a temporary no.
        """
        rules = await self._rules(target)
        if rules.allows == "everything":
            return self._pause
        if rules.allows == "nothing":
            raise EgressUnavailableError(
                "robots",
                f"{target.host} cannot say now what robots may read: its robots.txt fails",
                after=_AFTER_FAILURE,
            )
        said = await self._parse(target.origin, rules.text)
        if not said.can_fetch(str(target), TOKEN):
            raise EgressRefusedError(
                "robots", f"{target.host} does not want robots to read {target.path[:200]}"
            )
        return max(self._pause, _wanted(said))

    async def _rules(self, target: EgressUrl) -> RobotsRules:
        async with self._connections.connection() as connection:
            known = await store.rules(connection, target.origin)
        if known is not None:
            return known
        allows, text, good_for = await self._ask(target)
        async with self._connections.connection() as connection:
            return await store.keep_rules(connection, target.origin, allows, text, good_for)

    async def _ask(self, target: EgressUrl) -> tuple[str, str, timedelta]:
        place = EgressUrl(target.scheme, target.host, "/robots.txt")
        try:
            found = await self._egress.get(place, _LIMITS)
        except EgressRefusedError as refusal:
            if refusal.code in {"too_large", "encoding", "redirects"}:
                return "everything", "", _KEPT  # Not a file of rules.
            raise
        except EgressUnavailableError:
            return "nothing", "", _AFTER_FAILURE
        if found.status == HTTPStatus.OK:
            text = found.body[:_MAX_BYTES].decode("utf-8", "replace").replace("\x00", "")
            return "file", text, _KEPT
        if found.status == HTTPStatus.TOO_MANY_REQUESTS or found.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return "nothing", "", _AFTER_FAILURE
        return "everything", "", _KEPT

    async def _parse(self, origin: str, text: str) -> Protego:
        key = (origin, text)
        if key not in self._parsed:
            # A hostile file may take a quarter of a second.
            self._parsed[key] = await asyncio.to_thread(Protego.parse, text)
            while len(self._parsed) > _PARSED:
                self._parsed.popitem(last=False)
        self._parsed.move_to_end(key)
        return self._parsed[key]


def _wanted(said: Protego) -> timedelta:
    seconds = said.crawl_delay(TOKEN) or 0.0
    rate = said.request_rate(TOKEN)
    if rate is not None and rate.requests > 0:
        seconds = max(seconds, rate.seconds / rate.requests)
    return min(timedelta(seconds=min(seconds, 1e6)), _LONGEST_PAUSE)
