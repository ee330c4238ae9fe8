"""Reads the versions of pages, in one statement for all requests that wait."""

from collections.abc import Sequence
from typing import Final

from chassis.coalescing import RequestCoalescer
from messaging import Database
from publisher.domain import BrandSlug, PageSlug
from publisher.page_cache.store import PageVersion, find_versions

_MOST_AT_ONCE: Final = 100

_Place = tuple[BrandSlug, PageSlug]


class PageVersions:
    def __init__(self, database: Database) -> None:
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
