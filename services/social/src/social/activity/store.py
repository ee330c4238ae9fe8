"""SQL over post activity."""

from collections.abc import Collection
from datetime import datetime
from itertools import groupby
from typing import Any

from chassis import Connection


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
    rows = await connection.fetch(
        """
        with page as (
            select brand_slug from (
                select brand_slug from channel_posts union select brand_slug from pending_posts union select brand_slug from posts
            ) as brands
            where brand_slug > $1 and ($2::text[] is null or brand_slug = any ($2)) order by brand_slug limit $3
        ), told as (
            select brand_slug, coalesce(channel, entry) as channel, account,
                   count(*) filter (where state = 'posted' and posted_at >= $4) as posted,
                   count(*) filter (where state = 'failed' and coalesce(due_at, since) >= $4) as failed,
                   count(*) filter (where state = 'waiting') as waiting,
                   count(*) filter (where state in ('new', 'planned', 'sending')) as planned,
                   count(*) filter (where state = 'in_doubt') as in_doubt
            from channel_posts where brand_slug in (select brand_slug from page) group by 1, 2, 3
            union all
            select brand_slug, channel, null, 0, 0, count(*) filter (where publish_at is null),
                   count(*) filter (where publish_at is not null), 0
            from pending_posts where state = 'waiting' and brand_slug in (select brand_slug from page) group by 1, 2
            union all
            select brand_slug, channel, null, count(*), 0, 0, 0, 0
            from posts where posted_at >= $4 and brand_slug in (select brand_slug from page) group by 1, 2
        )
        select page.brand_slug, t.channel, t.account, sum(t.posted)::bigint as posted, sum(t.failed)::bigint as failed,
               sum(t.waiting)::bigint as waiting, sum(t.planned)::bigint as planned, sum(t.in_doubt)::bigint as in_doubt
        from page left join told as t on t.brand_slug = page.brand_slug and t.posted + t.failed + t.waiting + t.planned + t.in_doubt > 0
        group by 1, 2, 3 order by 1, 2, 3 nulls first
        """,
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
