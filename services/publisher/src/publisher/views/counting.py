"""Counting, in memory, of what is served; every few seconds it is written down.

What was counted since then is lost if the process is killed or the database goes away; nothing is counted twice. Neither cookies
nor addresses are looked at, so one reader who comes twice is two views.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

from starlette.datastructures import Headers

from chassis import DatabaseUnavailableError
from messaging import Database
from publisher.views import store

WRITTEN_EVERY_SECONDS: Final = 5.0
_BROWSER: Final = re.compile(r"Mozilla/|Opera/")
"""How the user agents of all browsers begin; programs and scripts mostly have their own names there."""
_ROBOT: Final = re.compile(
    # CUBOT makes phones.
    r"(?<!cu)bot|crawl|spider|slurp|archive|preview|externalhit|fetch|monitor|uptime|scan|headless|lighthouse|inspect"
    r"|validator|feed|rss|http-?client|python|curl|wget|\+https?://",
    re.IGNORECASE,
)


def _now() -> datetime:
    return datetime.now(UTC)


class Views:
    def __init__(self, database: Database, *, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._clock = clock
        self._counted: Counter[tuple[UUID, date]] = Counter()

    def note(self, content_id: UUID, method: str, headers: Headers) -> None:
        """A page is served; whether somebody looks at it is told by the headers."""
        if method == "GET" and is_somebody(headers):
            self._counted[content_id, self._clock().date()] += 1

    async def keep_writing(self) -> None:
        """Until it is cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(WRITTEN_EVERY_SECONDS)
                await self.write()
        finally:
            with suppress(DatabaseUnavailableError):
                await self.write()

    async def write(self) -> None:
        """What was counted since it was written last.

        Raises:
            DatabaseUnavailableError: the database is away, and what was counted is lost.
        """
        if not self._counted:
            return
        counted, self._counted = self._counted, Counter()
        async with self._database.transaction() as tx:
            await store.add(tx.connection, counted)


def is_somebody(headers: Headers) -> bool:
    """Whether a person looks at what is served, as far as the request says: neither a robot nor a browser that fetches in advance."""
    agent = headers.get("user-agent", "")
    in_advance = any("prefetch" in headers.get(name, "") for name in ("sec-purpose", "purpose", "x-moz"))
    return bool(_BROWSER.match(agent)) and not _ROBOT.search(agent) and not in_advance
