"""Counts page views by people. Uses neither cookies nor addresses, so one reader who returns makes two views."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

from starlette.datastructures import Headers

from messaging import Database
from publisher.views import store
from publisher.views.write_behind import WriteBehindCounter

_BROWSER: Final = re.compile(r"Mozilla/|Opera/")
"""The user agents of all browsers begin like this; programs and scripts mostly use their own names."""
_ROBOT: Final = re.compile(
    # CUBOT makes phones.
    r"(?<!cu)bot|crawl|spider|slurp|archive|preview|externalhit|fetch|monitor|uptime|scan|headless|lighthouse|inspect"
    r"|validator|feed|rss|http-?client|python|curl|wget|\+https?://",
    re.IGNORECASE,
)


def _now() -> datetime:
    return datetime.now(UTC)


class PageViewCounter(WriteBehindCounter[tuple[UUID, date]]):
    def __init__(self, database: Database, *, clock: Callable[[], datetime] = _now) -> None:
        super().__init__(database, store.add)
        self._clock = clock

    def record(self, content_id: UUID, method: str, headers: Headers) -> None:
        """Counts a served page if the headers look like a person's browser."""
        if method == "GET" and is_person(headers):
            self.count((content_id, self._clock().date()))


def is_person(headers: Headers) -> bool:
    """Whether a person makes the request, judged by its headers: no robot, and no browser that prefetches."""
    agent = headers.get("user-agent", "")
    in_advance = any("prefetch" in headers.get(name, "") for name in ("sec-purpose", "purpose", "x-moz"))
    return bool(_BROWSER.match(agent)) and not _ROBOT.search(agent) and not in_advance
