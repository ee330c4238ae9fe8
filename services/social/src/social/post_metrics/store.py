"""SQL over post metrics and the times of their requests. Only the database's clock counts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from chassis import Connection
from social.channels import PostMetrics
from social.domain import PostRefusal

DAYS: Final = 14
"""Days for which metrics are requested, and for which an account without metrics is left alone."""
_MOST_FOLLOWED: Final = 500
"""Most new posts in one round."""


@dataclass(frozen=True, slots=True)
class MetricsLookup:
    """A post with a due request for metrics."""

    post_id: UUID
    brand_slug: str
    channel: str
    account: str
    failures: int
    """Consecutive failures so far."""


@dataclass(frozen=True, slots=True)
class PostMetricsRow:
    """A post with the state of its metric requests."""

    post_id: UUID
    number: int
    content_id: UUID
    channel: str
    account: str
    post_url: str | None
    posted_at: datetime
    due_at: datetime | None
    reason: str
    detail: str


async def follow_rules(connection: Connection) -> None:
    """Schedules requests for posts on channels with metrics, and deletes those of other channels and expired ones."""
    await connection.execute(
        """
        delete from reach_looks as l using channel_posts as p
        where p.post_id = l.post_id and (
            l.due_at is null and l.changed_at < clock_timestamp() - make_interval(days => $1)
            or not exists (
                select from channel_rules as r where r.brand_slug = p.brand_slug and r.channel = p.channel and r.reach))
        """,
        DAYS,
    )
    await connection.execute(
        """
        with followed as (
            insert into reach_looks (post_id, brand_slug, account, due_at)
            select p.post_id, p.brand_slug, p.account, p.posted_at + interval '1 day'
            from channel_rules as r join channel_posts as p on p.brand_slug = r.brand_slug and p.channel = r.channel
            where r.reach and p.state = 'posted' and p.account is not null
              -- As an index has it; a posted one has one of the first two.
              and coalesce(p.posted_at, p.due_at, p.since) > clock_timestamp() - make_interval(days => $1)
              and not exists (select from reach_looks as l where l.post_id = p.post_id)
              and not exists (
                  select from reach_looks as silent
                  where silent.brand_slug = p.brand_slug and silent.account = p.account and silent.reason = 'not_told'
                    and silent.changed_at > clock_timestamp() - make_interval(days => $1))
            order by p.number limit $2
            -- Skips posts that are being erased.
            for key share of p skip locked
            on conflict do nothing
            returning post_id
        )
        update channel_posts as p set has_metrics = true from followed where p.post_id = followed.post_id and not p.has_metrics
        """,
        DAYS,
        _MOST_FOLLOWED,
    )


async def claim_due(connection: Connection, *, at_once: int) -> list[MetricsLookup]:
    """Claims due requests for ten minutes, the oldest first; skips rows that other replicas hold."""
    rows = await connection.fetch(
        """
        with found as (
            select post_id, due_at from reach_looks where due_at <= clock_timestamp()
            order by due_at, post_id limit $1 for update skip locked
        ), claimed as (
            update reach_looks as l set due_at = clock_timestamp() + interval '10 minutes'
            from found where l.post_id = found.post_id
            returning l.post_id, l.brand_slug, l.account, l.failures, found.due_at as was_due_at
        )
        select c.*, p.channel from claimed as c join channel_posts as p using (post_id) order by c.was_due_at, c.post_id
        """,
        at_once,
    )
    return [
        MetricsLookup(row["post_id"], row["brand_slug"], row["channel"], row["account"], row["failures"])
        for row in rows
    ]


async def store_metrics(connection: Connection, post_id: UUID, reach: PostMetrics) -> None:
    """Stores today's metrics, and schedules the next daily request within the two weeks."""
    row = await connection.fetchrow(
        """
        update reach_looks as l set failures = 0, reason = '', detail = '', changed_at = clock_timestamp(),
               due_at = case when d.days < $2 then d.posted_at + make_interval(days => d.days + 1) end
        from (
            select posted_at, greatest(floor(extract(epoch from clock_timestamp() - posted_at) / 86400), 0)::int as days
            from channel_posts where post_id = $1
        ) as d
        where l.post_id = $1 returning 1
        """,
        post_id,
        DAYS,
    )
    if row is None:
        return  # erased, or metrics were disabled
    # A version before this one may have scheduled the request.
    await connection.execute(
        "update channel_posts set has_metrics = true where post_id = $1 and not has_metrics", post_id
    )
    await connection.execute(
        """
        insert into reach (post_id, day, likes, shares, replies)
        values ($1, (clock_timestamp() at time zone 'UTC')::date, $2, $3, $4)
        on conflict (post_id, day) do update set likes = excluded.likes, shares = excluded.shares, replies = excluded.replies
        """,
        post_id,
        reach.likes,
        reach.shares,
        reach.replies,
    )


async def postpone(
    connection: Connection,
    post_ids: Sequence[UUID],
    pause: timedelta,
    why: PostRefusal,
    *,
    counts: bool = False,
) -> None:
    await connection.execute(
        """
        update reach_looks set due_at = clock_timestamp() + $2::interval, failures = failures + $5::int,
               reason = $3, detail = $4, changed_at = clock_timestamp()
        where post_id = any ($1::uuid[])
        """,
        list(post_ids),
        pause,
        why.reason,
        why.detail,
        int(counts),
    )


async def give_up(connection: Connection, post_id: UUID, why: PostRefusal) -> None:
    """Ends the requests for a post; stored metrics stay."""
    await connection.execute(
        """
        update reach_looks set due_at = null, reason = $2, detail = $3, changed_at = clock_timestamp()
        where post_id = $1
        """,
        post_id,
        why.reason,
        why.detail,
    )


async def pause_account(connection: Connection, look: MetricsLookup, why: PostRefusal) -> int:
    """Ends the requests for all posts of the account; returns their number. New ones start after two weeks."""
    status = await connection.execute(
        """
        update reach_looks set due_at = null, reason = $3, detail = $4, changed_at = clock_timestamp()
        where brand_slug = $1 and account = $2 and due_at is not null
        """,
        look.brand_slug,
        look.account,
        why.reason,
        why.detail,
    )
    return int(status.rpartition(" ")[2])


async def fetch_posts(
    connection: Connection, brand: str, content_ids: Collection[UUID], *, before: int | None, limit: int
) -> list[PostMetricsRow]:
    """A page of a brand's posts with metric requests, the newest first; `content_ids`, if any, selects articles."""
    rows = await connection.fetch(
        """
        select p.post_id, p.number, p.content_id, p.channel, p.account, p.post_url, p.posted_at, l.due_at,
               coalesce(l.reason, '') as reason, coalesce(l.detail, '') as detail
        from channel_posts as p left join reach_looks as l using (post_id)
        where p.brand_slug = $1 and p.has_metrics and p.state = 'posted' and ($2::uuid[] = '{}' or p.content_id = any ($2))
          and ($3::bigint is null or p.number < $3)
          and (l.post_id is not null or exists (select from reach as r where r.post_id = p.post_id))
        order by p.number desc limit $4
        """,
        brand,
        list(content_ids),
        before,
        limit,
    )
    return [PostMetricsRow(**dict(row)) for row in rows]


async def metrics_by_day(
    connection: Connection, post_ids: Sequence[UUID]
) -> dict[UUID, list[tuple[date, PostMetrics]]]:
    """Daily metrics of these posts, the oldest day first."""
    rows = await connection.fetch(
        "select * from reach where post_id = any ($1::uuid[]) order by post_id, day", list(post_ids)
    )
    found: dict[UUID, list[tuple[date, PostMetrics]]] = {}
    for row in rows:
        told = PostMetrics(row["likes"], row["shares"], row["replies"])
        found.setdefault(row["post_id"], []).append((row["day"], told))
    return found
