"""What sites allow robots to read, as they say in their `robots.txt` (RFC 9309)."""

import asyncio
from collections import OrderedDict
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from protego import Protego

from chassis import Connections
from gateway.egress import Egress, Limits, PassingError, RefusedError, Target
from gateway.pages import store
from gateway.pages.store import Rules

TOKEN: Final = "BrandEngine"  # noqa: S105 - the name that sites call it by
_LIMITS: Final = Limits(seconds=10, max_bytes=2_000_000)
_MAX_BYTES: Final = 500 * 1024
"""More of a file is not looked at, as the standard has it."""
_KEPT: Final = timedelta(days=1)
_AFTER_FAILURE: Final = timedelta(minutes=5)
_PARSED: Final = 256
_LONGEST_PAUSE: Final = timedelta(days=1)


def robot(about: str | None) -> str:
    """How it introduces itself: by the name that rules are looked up by, and where to read more."""
    return f"{TOKEN}/1.0 (+{about})" if about else f"{TOKEN}/1.0"


class Robots:
    """What may be read, and how often.

    Args:
        connections: where the rules are kept, for all replicas.
        egress: how they are got.
        pause: between two requests to a host that asks for none.
    """

    def __init__(self, connections: Connections, egress: Egress, pause: timedelta) -> None:
        self._connections = connections
        self._egress = egress
        self._pause = pause
        self._parsed: OrderedDict[tuple[str, str], Protego] = OrderedDict()

    async def pause_for(self, target: Target) -> timedelta:
        """The pause that the site wants between two requests, at least our own.

        Raises:
            RefusedError: it does not want the page to be read.
            PassingError: it could not say, which counts as no for a while.
        """
        rules = await self._rules(target)
        if rules.allows == "everything":
            return self._pause
        if rules.allows == "nothing":
            raise PassingError(
                "robots",
                f"{target.host} cannot say now what robots may read: its robots.txt fails",
                after=_AFTER_FAILURE,
            )
        said = await self._parse(target.origin, rules.text)
        if not said.can_fetch(str(target), TOKEN):
            raise RefusedError("robots", f"{target.host} does not want robots to read {target.path[:200]}")
        return max(self._pause, _wanted(said))

    async def _rules(self, target: Target) -> Rules:
        async with self._connections.connection() as connection:
            known = await store.rules(connection, target.origin)
        if known is not None:
            return known
        allows, text, good_for = await self._ask(target)
        async with self._connections.connection() as connection:
            return await store.keep_rules(connection, target.origin, allows, text, good_for)

    async def _ask(self, target: Target) -> tuple[str, str, timedelta]:
        place = Target(target.scheme, target.host, "/robots.txt")
        try:
            found = await self._egress.get(place, _LIMITS)
        except RefusedError as refusal:
            if refusal.code in {"too_large", "encoding", "redirects"}:
                return "everything", "", _KEPT  # whatever it is, it is no file of rules
            raise
        except PassingError:
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
            # Up to a quarter of a second for a file that was made to take long.
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
