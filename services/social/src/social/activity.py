"""Post activity: for each brand and channel, recent outcomes and waiting posts."""

from collections.abc import Collection
from datetime import datetime
from itertools import groupby
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Response
from pydantic import Field

from chassis import Connection
from chassis.http.api import READ, IfNoneMatch, MayRead, Moment, View, conditional, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from envelope.brand.payloads import MAX_BRAND_SLUG, SLUG_PATTERN
from messaging import Database


class ChannelActivity(View):
    """Activity of one account of a brand, or of its built-in feed."""

    channel: Annotated[str, Field(examples=["mastodon"])]
    """Kind of the channel; the name from the command while the account is unknown."""
    account: Annotated[str | None, Field(examples=["mastodon-eu"])]
    """The account at the gateway; null for the built-in feed and while unknown."""
    posted: int
    """Posts that went out since `since`."""
    failed: int
    """Posts due since then that failed."""
    waiting: int
    """Posts that wait for review now."""
    planned: int
    """Posts that have a time, or are being sent, now."""
    in_doubt: int
    """Posts in doubt now, which a person has to check (`/v1/receipts`)."""


class BrandActivity(View):
    brand_slug: Annotated[str, Field(examples=["daily-grind"])]
    channels: tuple[ChannelActivity, ...]
    """By name; channels without activity are left out."""


class ActivityList(View):
    items: tuple[BrandActivity, ...]
    """By slug; brands without any post are left out."""
    next: str | None
    """`after` of the next page; null on the last."""


_NEXT_BRAND: Final = """
    least((select min(brand_slug) from channel_posts where brand_slug > {0}),
          (select min(brand_slug) from pending_posts where brand_slug > {0}), (select min(brand_slug) from posts where brand_slug > {0}))
"""
_ALL_BRANDS: Final = f"""
    found as (
        select {_NEXT_BRAND.format("$1")} as brand_slug, 1 as number where $2::text[] is null
        union all
        select {_NEXT_BRAND.format("found.brand_slug")}, number + 1 from found where number < $3 and brand_slug is not null
    ),
    page as (select brand_slug from found where brand_slug is not null)
"""  # noqa: S608  (constants of this module)
"""Brand after brand from the indexes: there are many posts of each."""
_THESE_BRANDS: Final = """
    page as (
        select slug as brand_slug from unnest($2::text[]) as slug
        where slug > $1 and (
            exists (select from channel_posts where brand_slug = slug) or exists (select from pending_posts where brand_slug = slug)
            or exists (select from posts where brand_slug = slug))
        order by 1 limit $3
    )
"""


async def activity(
    connection: Connection, *, slugs: Collection[str] | None, after: str, limit: int, since: datetime
) -> list[dict[str, Any]]:
    """A page of brands by slug, with the post activity of their channels.

    Args:
        connection: to the service's database.
        slugs: only these brands; None: all.
        after: slugs that come after this one.
        limit: brands at most.
        since: counts posts that went out, or were due, from then on.
    """
    # State by state, with `offset 0` so that it stays so: else PostgreSQL may read what is open of all brands for each of them.
    rows = await connection.fetch(
        f"""
        with recursive {_ALL_BRANDS if slugs is None else _THESE_BRANDS},
        told as (
            select page.brand_slug, c.channel, c.account, count(*) filter (where state = 'posted') as posted,
                   count(*) filter (where state = 'failed') as failed, count(*) filter (where state = 'waiting') as waiting,
                   count(*) filter (where state in ('new', 'planned', 'sending')) as planned,
                   count(*) filter (where state = 'in_doubt') as in_doubt
            from page cross join lateral (
                select coalesce(channel, entry) as channel, account, state from channel_posts
                where brand_slug = page.brand_slug and state = 'posted' and coalesce(posted_at, due_at, since) >= $4 and posted_at >= $4
                union all
                select of_state.* from unnest(array['new', 'waiting', 'planned', 'sending', 'in_doubt']) as one cross join lateral (
                    select coalesce(channel, entry) as channel, account, state from channel_posts
                    where brand_slug = page.brand_slug and state = one
                      -- As the index of open posts has it.
                      and state in ('new', 'waiting', 'planned', 'sending', 'in_doubt', 'failed')
                    offset 0
                ) as of_state
                union all
                select coalesce(channel, entry), account, state from channel_posts
                where brand_slug = page.brand_slug and state = 'failed' and coalesce(posted_at, due_at, since) >= $4
                  and coalesce(due_at, since) >= $4
            ) as c group by 1, 2, 3
            union all
            select brand_slug, channel, null, 0, 0, count(*) filter (where publish_at is null),
                   count(*) filter (where publish_at is not null), 0
            from page join pending_posts using (brand_slug) where state = 'waiting' group by 1, 2
            union all
            select brand_slug, channel, null, count(*), 0, 0, 0, 0
            from page join posts using (brand_slug) where posted_at >= $4 group by 1, 2
        )
        select page.brand_slug, t.channel, t.account, sum(t.posted)::bigint as posted, sum(t.failed)::bigint as failed,
               sum(t.waiting)::bigint as waiting, sum(t.planned)::bigint as planned, sum(t.in_doubt)::bigint as in_doubt
        from page left join told as t on t.brand_slug = page.brand_slug and t.posted + t.failed + t.waiting + t.planned + t.in_doubt > 0
        group by 1, 2, 3 order by 1, 2, 3 nulls first
        """,  # noqa: S608  (constants of this module)
        after,
        None if slugs is None else list(slugs),
        limit,
        since,
    )
    return [
        {
            "brand_slug": slug,
            "channels": [dict(row) for row in of_brand if row["channel"] is not None],
        }
        for slug, of_brand in groupby(rows, key=lambda row: str(row["brand_slug"]))
    ]


def activity_routes(database: Database) -> APIRouter:
    routes = router(tags=["posts"])

    @routes.get("/activity", summary="List post activity", response_model=ActivityList, responses=READ)
    async def list_activity(
        caller: MayRead,
        since: Annotated[
            Moment, Query(description="Count posts that went out, or were due, from this time on.")
        ],
        after: Annotated[
            str,
            Query(
                pattern=f"^$|{SLUG_PATTERN}",
                max_length=MAX_BRAND_SLUG,
                description="`next` of the page before.",
            ),
        ] = "",
        limit: PageLimit = DEFAULT_PAGE,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """For each channel of each brand: posts out and failed since a time, and waiting posts; brands by slug."""
        async with database.connection() as connection:
            found = await activity(connection, slugs=caller.brands, after=after, limit=limit + 1, since=since)
        page = found[:limit]
        answer = ActivityList(
            items=tuple(BrandActivity.model_validate(each) for each in page),
            next=page[-1]["brand_slug"] if len(found) > limit else None,
        )
        return conditional(answer.model_dump_json(), if_none_match)

    return routes
