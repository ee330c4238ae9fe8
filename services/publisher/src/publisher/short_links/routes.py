"""`/v1/brands/{slug}/measures`: views of a brand's articles, and the posts that readers came from."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query

from chassis.http.api import UNKNOWN, MayRead, View, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher import views
from publisher.domain import BrandSlug
from publisher.short_links import store
from publisher.short_links.store import ArticleMeasures, PostClicks
from publisher.site_settings import address_of
from publisher.urls import SiteUrls

_MOST_DAYS: Final = 400
_MOST: Final = 200
_CURSOR: Final = r"^[0-9]{1,18}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"


class MeasuredDay(View):
    day: date
    """In UTC."""
    views: int
    clicks: int


class ChannelClicks(View):
    channel: str | None
    """Null: not from a known post, such as the article's plain short link."""
    clicks: int


class ClicksOfPost(ChannelClicks):
    post_id: UUID | None
    """Repetitions of a post share its link."""
    account: str | None


class MeasuredArticle(View):
    content_id: UUID
    title: str
    url: str | None
    """Null if the article is gone."""
    views: int
    """Views of its page on the built-in site."""
    clicks: int
    posts: list[ClicksOfPost]
    """The most clicked first."""


class MeasuresView(View):
    """Views of pages of the built-in site, and clicks on short links in posts, by browsers that do not identify as robots.

    Following a short link to the built-in site counts as a click and as a view. Both counts lag some seconds.
    """

    first: date
    last: date
    views: int
    clicks: int
    days: list[MeasuredDay]
    """One entry per day, the oldest first."""
    channels: list[ChannelClicks]
    items: list[MeasuredArticle]
    """Articles with views or clicks, most first."""
    next: str | None
    """The position of the next page: send it as `after`. Counts change meanwhile, so an article may be on both pages."""


def measure_routes(
    database: Database, urls: SiteUrls, *, today: Callable[[], date] = lambda: datetime.now(UTC).date()
) -> APIRouter:
    routes = router("/brands/{slug}/measures", tags=["views"])

    @routes.get("", summary="Get a brand's views and clicks, by article and post", responses=UNKNOWN)
    async def list_measures(
        caller: MayRead,
        slug: Annotated[Slug, Path(description="The brand.")],
        days: Annotated[
            int, Query(ge=1, le=_MOST_DAYS, description="Number of days, including the last.")
        ] = 30,
        last: Annotated[date | None, Query(description="The last day, in UTC; default: today.")] = None,
        after: Annotated[
            str | None, Query(pattern=_CURSOR, description="`next` of the previous page.")
        ] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> MeasuresView:
        """The service stores only a number for each post and day: no cookie, no address."""
        caller.check_visible(slug)
        brand = BrandSlug(slug)
        until = min(last or today(), today())
        first = until - timedelta(days=min(days - 1, (until - date.min).days))
        async with database.connection() as connection:
            home = urls.at(brand, await address_of(connection, brand))
            viewed = await views.by_day(connection, brand, first, until)
            followed = await store.by_day(connection, brand, first, until)
            channels = await store.by_channel(connection, brand, first, until)
            found = await store.by_article(
                connection, brand, first, until, after=_place(after), limit=limit + 1
            )
            page = found[:limit]
            posts = await store.by_post(connection, [each.content_id for each in page], first, until)
        of_article = defaultdict(list)
        for each in posts:
            of_article[each.content_id].append(_of_post(each))
        each_day = [first + timedelta(days=number) for number in range((until - first).days + 1)]
        return MeasuresView(
            first=first,
            last=until,
            views=sum(viewed.values()),
            clicks=sum(followed.values()),
            days=[
                MeasuredDay(day=day, views=viewed.get(day, 0), clicks=followed.get(day, 0))
                for day in each_day
            ],
            channels=[
                ChannelClicks(channel=channel or None, clicks=clicks) for channel, clicks in channels.items()
            ],
            items=[
                MeasuredArticle(
                    content_id=each.content_id,
                    title=each.title,
                    url=each.url if each.slug is None else home.absolute(home.article(brand, each.slug)),
                    views=each.views,
                    clicks=each.clicks,
                    posts=of_article[each.content_id],
                )
                for each in page
            ],
            next=_cursor(page[-1]) if len(found) > limit else None,
        )

    return routes


def _of_post(post: PostClicks) -> ClicksOfPost:
    return ClicksOfPost(post_id=post.post_id, channel=post.channel, account=post.account, clicks=post.clicks)


def _cursor(article: ArticleMeasures) -> str:
    return f"{article.rank}.{article.content_id}"


def _place(after: str | None) -> tuple[int, UUID] | None:
    if after is None:
        return None
    rank, _, content_id = after.partition(".")
    return int(rank), UUID(content_id)
