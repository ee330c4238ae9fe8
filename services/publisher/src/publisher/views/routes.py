"""`/v1/brands/{slug}/views`: page views of a brand."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query

from chassis.http.api import UNKNOWN, MayRead, View, router
from chassis.http.problem_codes import UNKNOWN_BRAND, RefusalError
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher.domain import BrandSlug
from publisher.site_settings import address_of
from publisher.urls import SiteUrls
from publisher.views import store

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
        if not caller.may_see(slug):
            raise RefusalError(UNKNOWN_BRAND, f"your key is for other brands than '{slug}'")
        brand, last = BrandSlug(slug), today()
        first = last - timedelta(days=days - 1)
        async with database.connection() as connection:
            home = urls.at(brand, await address_of(connection, brand))
            counted = await store.by_day(connection, brand, first, last)
            pages = await store.by_page(connection, brand, first, last, _MOST_PAGES)
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
