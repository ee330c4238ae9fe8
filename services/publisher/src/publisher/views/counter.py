"""Who counts, and counting what is served. Neither cookies nor addresses are looked at, so one reader who comes twice is two views."""

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
"""How the user agents of all browsers begin; programs and scripts mostly have their own names there."""
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
        """A page is served; whether somebody looks at it is told by the headers."""
        if method == "GET" and is_person(headers):
            self.count((content_id, self._clock().date()))


def is_person(headers: Headers) -> bool:
    """Whether a person looks at what is served, as far as the request says: neither a robot nor a browser that fetches in advance."""
    agent = headers.get("user-agent", "")
    in_advance = any("prefetch" in headers.get(name, "") for name in ("sec-purpose", "purpose", "x-moz"))
    return bool(_BROWSER.match(agent)) and not _ROBOT.search(agent) and not in_advance
