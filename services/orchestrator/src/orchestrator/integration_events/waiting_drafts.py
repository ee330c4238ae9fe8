"""`drafts.waiting`: the reminder of drafts and posts that wait for a decision.

A brand gets it when the first one waits, then daily, and at once when drafts pause the brand. A second immediate reminder needs
a review of all those drafts first. A row per brand makes it unique among replicas; only the database's clock counts.
"""

from datetime import timedelta
from typing import Final

import structlog

from envelope.brand.payloads import DraftsWaiting
from messaging import Transaction
from orchestrator.article_workflow import HELD_UP_SINCE, UNREVIEWED_SINCE, WAITS

log = structlog.get_logger(__name__)

EVERY: Final = timedelta(days=1)


POSTS_WAIT: Final = (
    """jsonb_path_exists(k.posts, '$[*] ? (@.url == null && @.reason starts with "needs_review")')"""
)
"""SQL: whether keyword k has a post that waits at social; as in the index keywords_with_waiting_posts."""


async def announce_waiting_drafts(tx: Transaction) -> int:
    """Publishes the reminders that are due; returns their number. Locked brands are left for the next round."""
    rows = await tx.connection.fetch(
        f"""
        with promoted as (
            select c.brand_slug, count(*)::int as posts, min(k.moved_at) as since
            from keywords as k join cycles as c using (cycle_id) where {POSTS_WAIT} group by c.brand_slug
        ), due as (
            select b.slug, waiting.drafts, coalesce(promoted.posts, 0) as posts,
                   least(waiting.since, promoted.since) as since, {HELD_UP_SINCE} is not null as held_up
            from brands as b cross join lateral (
                select count(*)::int as drafts, min(coalesce(d.waits_since, d.created_at)) as since
                from content as d where d.brand_slug = b.slug and {WAITS}
            ) as waiting left join promoted on promoted.brand_slug = b.slug
            where (waiting.drafts > 0 or promoted.posts > 0)
              and (b.reminded_at is null or b.reminded_at <= now() - $1::interval
                   or b.reminded_at < {HELD_UP_SINCE} and coalesce(b.held_up_told_at < {UNREVIEWED_SINCE}, true))
            order by b.slug for no key update of b skip locked
        )
        update brands set reminded_at = clock_timestamp(),
            held_up_told_at = case when due.held_up then clock_timestamp() else held_up_told_at end
        from due where brands.slug = due.slug
        returning due.*
        """,  # noqa: S608  (constants of the orchestrator)
        EVERY,
    )
    for row in rows:
        reminder = DraftsWaiting(
            brand_slug=row["slug"],
            drafts=row["drafts"],
            posts=row["posts"],
            since=row["since"],
            held_up=row["held_up"],
        )
        tx.send(reminder)
        log.info(
            "drafts_wait", brand=row["slug"], drafts=row["drafts"], posts=row["posts"], held_up=row["held_up"]
        )
    return len(rows)
