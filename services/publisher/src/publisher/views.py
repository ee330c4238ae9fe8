"""Page views, `/v1/brands/{slug}/views`: a number for each page and day, and no data about visitors.

Uses neither cookies nor addresses, so one reader who returns makes two views. Counts collect in memory for some seconds, and are
then added to the database in one statement. A killed process or an unreachable database loses the last counts; nothing is
counted twice.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Final, Generic, TypeVar
from uuid import UUID

from fastapi import APIRouter, Path, Query
from starlette.datastructures import Headers

from chassis import Connection
from chassis.http.api import UNKNOWN, MayRead, View, router
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher.domain import BrandSlug, PageSlug
from publisher.site_settings import address_of
from publisher.urls import SiteUrls

WRITTEN_EVERY: Final = timedelta(seconds=5)

Key = TypeVar("Key")


class WriteBehindCounter(Generic[Key]):
    """Counts keys in memory; `add` adds the counts to the database, in the caller's transaction."""

    def __init__(
        self, database: Database, add: Callable[[Connection, Mapping[Key, int]], Awaitable[None]]
    ) -> None:
        self._database = database
        self._add = add
        self._counted: Counter[Key] = Counter()

    def count(self, key: Key) -> None:
        self._counted[key] += 1

    async def write(self) -> None:
        """Writes the counts since the last write.

        Raises:
            DatabaseUnavailableError: the database is away, and what was counted is lost.
        """
        if not self._counted:
            return
        counted, self._counted = self._counted, Counter()
        async with self._database.transaction() as tx:
            await self._add(tx.connection, counted)


@dataclass(frozen=True, slots=True)
class ArticleViews:
    """A page with its number of views."""

    content_id: UUID
    slug: PageSlug
    title: str
    views: int


async def add_views(connection: Connection, counted: Mapping[tuple[UUID, date], int]) -> None:
    """Adds counts in the caller's transaction; skips pages that were deleted meanwhile."""
    await connection.execute(
        """
        insert into page_views as known (content_id, day, views)
        select content_id, day, counted.views
        from unnest($1::uuid[], $2::date[], $3::integer[]) as counted (content_id, day, views) join pages using (content_id)
        -- In one order, so that no two replicas wait for each other.
        order by content_id, day
        on conflict (content_id, day) do update set views = known.views + excluded.views
        """,
        [content_id for content_id, _ in counted],
        [day for _, day in counted],
        list(counted.values()),
    )


async def by_day(connection: Connection, brand: BrandSlug, first: date, last: date) -> dict[date, int]:
    """Views of all pages of the brand; leaves out days without views."""
    rows = await connection.fetch(
        """
        select day, sum(views) as views from page_views join pages using (content_id)
        where brand_slug = $1 and day between $2 and $3 group by day order by day
        """,
        brand,
        first,
        last,
    )
    return {row["day"]: row["views"] for row in rows}


async def by_page(
    connection: Connection, brand: BrandSlug, first: date, last: date, limit: int
) -> list[ArticleViews]:
    """Viewed pages, most views first."""
    rows = await connection.fetch(
        """
        select pages.content_id, slug, title, sum(page_views.views) as views from page_views join pages using (content_id)
        where brand_slug = $1 and day between $2 and $3 group by pages.content_id
        order by sum(page_views.views) desc, published_at desc, pages.content_id desc limit $4
        """,
        brand,
        first,
        last,
        limit,
    )
    return [ArticleViews(**row) for row in rows]


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
        super().__init__(database, add_views)
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


_MOST_PAGES: Final = 200
_MOST_DAYS: Final = 400


class DayViews(View):
    day: date
    """In UTC."""
    views: int


class PageViews(View):
    content_id: UUID
    title: str
    url: str
    views: int


class BrandViews(View):
    """Views by browsers that do not identify as robots. One reader who returns makes two views; pages from a cache make none."""

    first: date
    last: date
    total: int
    days: list[DayViews]
    """One entry per day, the oldest first."""
    pages: list[PageViews]
    """Viewed pages, most views first; at most 200."""


def view_routes(
    database: Database, urls: SiteUrls, *, today: Callable[[], date] = lambda: datetime.now(UTC).date()
) -> APIRouter:
    routes = router("/brands/{slug}/views", tags=["views"])

    @routes.get("", summary="Get a brand's page views", responses=UNKNOWN)
    async def get_views(
        caller: MayRead,
        slug: Annotated[Slug, Path(description="The brand.")],
        days: Annotated[int, Query(ge=1, le=_MOST_DAYS, description="Number of days, including today.")] = 30,
    ) -> BrandViews:
        """The service stores only a number for each page and day: no cookie, no address. Counts lag some seconds."""
        caller.check_visible(slug)
        brand, last = BrandSlug(slug), today()
        first = last - timedelta(days=days - 1)
        async with database.connection() as connection:
            home = urls.at(brand, await address_of(connection, brand))
            counted = await by_day(connection, brand, first, last)
            pages = await by_page(connection, brand, first, last, _MOST_PAGES)
        each_day = [first + timedelta(days=number) for number in range(days)]
        return BrandViews(
            first=first,
            last=last,
            total=sum(counted.values()),
            days=[DayViews(day=day, views=counted.get(day, 0)) for day in each_day],
            pages=[
                PageViews(
                    content_id=page.content_id,
                    title=page.title,
                    url=home.absolute(home.article(brand, page.slug)),
                    views=page.views,
                )
                for page in pages
            ],
        )

    return routes
