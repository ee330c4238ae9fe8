"""Page views in the publisher's database: each statement beside the function that runs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from chassis import Connection
from publisher.domain import BrandSlug, PageSlug


@dataclass(frozen=True, slots=True)
class ArticleViews:
    """A page with its number of views."""

    content_id: UUID
    slug: PageSlug
    title: str
    views: int


async def add(connection: Connection, counted: Mapping[tuple[UUID, date], int]) -> None:
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
