"""Keeps rendered pages in memory, and serves them while the database reports no change.

`PageVersions` and `SiteVersions` read versions, `PageCache` holds rendered pages by version, `CachedAnswer` is one of them.
"""

import gzip
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Final, Self
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from chassis import Connection
from chassis.coalescing import RequestCoalescer
from chassis.http.conditional import is_fresh, validators
from publisher.domain import BrandSlug, PageSlug
from publisher.replica import PageDatabase

_LEAST_BYTES: Final = 1024
"""Smaller bodies are not compressed."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    etag: str
    last_modified: datetime
    headers: Mapping[str, str]
    """Headers of answers with and without a body."""
    media_type: str
    body: bytes
    is_packed: bool
    """Whether `body` is gzip; it is decompressed for the rare client without gzip."""

    @classmethod
    def build(
        cls, text: str, *, media_type: str, last_modified: datetime, headers: Mapping[str, str]
    ) -> Self:
        content = text.encode()
        is_packed = len(content) >= _LEAST_BYTES
        etag, validating = validators(content, last_modified)
        return cls(
            etag,
            last_modified,
            {**validating, **headers},
            media_type,
            gzip.compress(content, mtime=0) if is_packed else content,
            is_packed,
        )

    @property
    def size(self) -> int:
        """Approximate size in memory, in bytes."""
        return len(self.body) + sum(len(name) + len(value) for name, value in self.headers.items())

    def respond(self, request: Request) -> Response:
        """200 with the body, or 304 without it if the client's copy is current."""
        headers = dict(self.headers)
        if is_fresh(request, self.etag, self.last_modified):
            return Response(status_code=304, headers=headers)
        if not self.is_packed:
            return Response(self.body, media_type=self.media_type, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            # The middleware that compresses bodies adds `Vary` here, too.
            return Response(gzip.decompress(self.body), media_type=self.media_type, headers=headers)
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(self.body, media_type=self.media_type, headers=headers)


MOST_BYTES: Final = 16_000_000
"""About two thousand articles."""
_BYTES_BESIDE: Final = 2_000
"""Approximate overhead of an entry: its key, its version and the objects themselves."""
KEPT_SECONDS: Final = 600.0
"""How long an answer that nobody asks for is kept: those of an erased brand, or of a crawler's walk, are not needed again."""


@dataclass(slots=True)
class _Entry:
    version: Hashable
    answer: CachedAnswer
    used_at: float


class PageCache:
    """The answers of the last minutes, most recently used last, up to `most_bytes`; one version of a page at a time.

    Args:
        most_bytes: approximate size of all answers together.
        now: seconds of a clock that only goes forward.
    """

    def __init__(self, *, most_bytes: int = MOST_BYTES, now: Callable[[], float] = monotonic) -> None:
        self._most_bytes = most_bytes
        self._now = now
        self._bytes = 0
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(self, place: Hashable, version: Hashable) -> CachedAnswer | None:
        """The stored answer, if it was made from this version; else None."""
        known = self._entries.get(place)
        if known is None or known.version != version:
            return None
        known.used_at = self._now()
        self._entries.move_to_end(place)
        return known.answer

    def put(self, place: Hashable, version: Hashable, answer: CachedAnswer) -> None:
        """Stores an answer.

        The caller must read `version` before all other data of the answer: after a later change, the versions then differ.
        """
        self.drop(place)
        size = _size(answer)
        if size > self._most_bytes:
            return
        now = self._now()
        self._entries[place] = _Entry(version, answer, now)
        self._bytes += size
        while self._bytes > self._most_bytes or self._used_first_at() < now - KEPT_SECONDS:
            self.drop(next(iter(self._entries)))

    def drop(self, place: Hashable) -> None:
        if (known := self._entries.pop(place, None)) is not None:
            self._bytes -= _size(known.answer)

    def _used_first_at(self) -> float:
        return next(iter(self._entries.values())).used_at


def _size(answer: CachedAnswer) -> int:
    return answer.size + _BYTES_BESIDE


@dataclass(frozen=True, slots=True)
class PageVersion:
    """The version of a visible page."""

    content_id: UUID
    version: Hashable
    """Differs after each change to anything that the page shows."""


async def find_versions(
    connection: Connection, places: Sequence[tuple[BrandSlug, PageSlug]]
) -> dict[tuple[BrandSlug, PageSlug], PageVersion]:
    """The versions of the pages at these addresses; leaves out missing pages and pages taken down.

    A page shows its own row, its site's, the logo and the settings: `xmin` is the transaction that last wrote each of these.
    `changed_at` covers its links to other pages: every visible change on the site updates it.
    """
    rows = await connection.fetch(
        """
        select brand_slug, slug, pages.content_id, sites.changed_at, sites.xmin, pages.xmin, logos.xmin, site_settings.xmin
        from unnest($1::text[], $2::text[]) as asked (brand_slug, slug)
             join pages using (brand_slug, slug) join sites using (brand_slug)
             left join logos using (brand_slug) left join site_settings using (brand_slug)
        where taken_down_at is null
        """,
        [brand for brand, _ in places],
        [slug for _, slug in places],
    )
    return {(row[0], row[1]): PageVersion(row[2], tuple(row)[3:]) for row in rows}


async def find_site_versions(
    connection: Connection, brands: Sequence[BrandSlug]
) -> dict[BrandSlug, Hashable]:
    """The versions of what the brands' sites list; leaves out brands without a site. See `find_versions`."""
    rows = await connection.fetch(
        """
        select brand_slug, sites.changed_at, sites.xmin, logos.xmin, site_settings.xmin
        from unnest($1::text[]) as asked (brand_slug) join sites using (brand_slug)
             left join logos using (brand_slug) left join site_settings using (brand_slug)
        """,
        brands,
    )
    return {row[0]: tuple(row)[1:] for row in rows}


_MOST_AT_ONCE: Final = 100

_Place = tuple[BrandSlug, PageSlug]


class PageVersions:
    def __init__(self, database: PageDatabase) -> None:
        self._database = database
        self._coalescer: RequestCoalescer[_Place, PageVersion | None] = RequestCoalescer(
            self._ask, limit=_MOST_AT_ONCE
        )

    async def get(self, brand: BrandSlug, slug: PageSlug) -> PageVersion | None:
        """The page's version after the call began; None if there is no page, or it is taken down.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        return await self._coalescer.get((brand, slug))

    async def _ask(self, places: Sequence[_Place]) -> dict[_Place, PageVersion | Exception | None]:
        async with self._database.connection() as connection:
            found = await find_versions(connection, places)
        return {place: found.get(place) for place in places}


class SiteVersions:
    def __init__(self, database: PageDatabase) -> None:
        self._database = database
        self._coalescer: RequestCoalescer[BrandSlug, Hashable] = RequestCoalescer(
            self._ask, limit=_MOST_AT_ONCE
        )

    async def get(self, brand: BrandSlug) -> Hashable | None:
        """The version of the site's lists after the call began; None if there is no site.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        return await self._coalescer.get(brand)

    async def _ask(self, brands: Sequence[BrandSlug]) -> dict[BrandSlug, Hashable | Exception | None]:
        async with self._database.connection() as connection:
            found = await find_site_versions(connection, brands)
        return {brand: found.get(brand) for brand in brands}
