"""`/v1/brands/{slug}/reach`: metrics of a brand's posts on other platforms."""

from datetime import date, datetime
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import Field

from chassis.http.api import UNKNOWN, MayRead, View, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from envelope.brand.payloads import BrandSlug
from messaging import Database
from social.channels import PostMetrics
from social.post_metrics import store
from social.post_metrics.store import PostMetricsRow

_MOST: Final = 200


class DailyPostMetrics(View):
    """Totals up to a day; null: the platform does not report it."""

    day: date
    """In UTC."""
    likes: int | None
    shares: int | None
    """Reposts and quotes."""
    replies: int | None


class PostMetricsView(View):
    post_id: UUID
    content_id: UUID
    channel: Annotated[str, Field(examples=["mastodon"])]
    account: str
    post_url: str | None
    posted_at: datetime
    days: list[DailyPostMetrics]
    """The oldest first; the last has the current totals."""
    next_at: datetime | None
    """Time of the next request; null: none follows."""
    reason: str
    """Why the last request gave no metrics: `gone`, `not_told`, `limit`, `needs_reconnecting` …; empty: it succeeded."""
    detail: str
    """The same for people."""


class PostMetricsList(View):
    items: list[PostMetricsView]
    """The newest posts first."""
    next: int | None
    """`after` of the next page; null on the last."""


def post_metrics_routes(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/reach", tags=["posts"])

    @routes.get("", summary="List metrics of a brand's posts", responses=UNKNOWN)
    async def list_reach(
        caller: MayRead,
        slug: Annotated[BrandSlug, Path(description="The brand.")],
        article: Annotated[
            list[UUID] | None,
            Query(max_length=_MOST, description="Only posts about these articles."),
        ] = None,
        after: Annotated[
            int | None, Query(ge=0, le=2**63 - 1, description="`next` of the page before.")
        ] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> PostMetricsList:
        """For channels with `reach` enabled (`PUT …/channels/{channel}`); requested daily for two weeks after a post."""
        caller.check_visible(slug)
        async with database.connection() as connection:
            found = await store.fetch_posts(connection, slug, article or (), before=after, limit=limit + 1)
            page = found[:limit]
            told = await store.metrics_by_day(connection, [each.post_id for each in page])
        return PostMetricsList(
            items=[_shown(each, told.get(each.post_id, [])) for each in page],
            next=page[-1].number if len(found) > limit else None,
        )

    return routes


def _shown(post: PostMetricsRow, told: list[tuple[date, PostMetrics]]) -> PostMetricsView:
    return PostMetricsView(
        post_id=post.post_id,
        content_id=post.content_id,
        channel=post.channel,
        account=post.account,
        post_url=post.post_url,
        posted_at=post.posted_at,
        days=[
            DailyPostMetrics(day=day, likes=reach.likes, shares=reach.shares, replies=reach.replies)
            for day, reach in told
        ],
        next_at=post.due_at,
        reason=post.reason,
        detail=post.detail,
    )
