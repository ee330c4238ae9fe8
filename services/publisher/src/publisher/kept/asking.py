"""Asking for the states of pages: for all visitors who come while the database answers others, in one statement."""

from collections.abc import Sequence
from typing import Final

from chassis.coalescing import RequestCoalescer
from messaging import Database
from publisher.domain import BrandSlug, PageSlug
from publisher.kept.store import Standing, standings_of

_MOST_AT_ONCE: Final = 100

_Place = tuple[BrandSlug, PageSlug]


class Standings:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._gathering: RequestCoalescer[_Place, Standing | None] = RequestCoalescer(
            self._ask, limit=_MOST_AT_ONCE
        )

    async def of(self, brand: BrandSlug, slug: PageSlug) -> Standing | None:
        """As it is after this call began; None if there is no page, or it was taken down.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        return await self._gathering.get((brand, slug))

    async def _ask(self, places: Sequence[_Place]) -> dict[_Place, Standing | Exception | None]:
        async with self._database.connection() as connection:
            found = await standings_of(connection, places)
        return {place: found.get(place) for place in places}
