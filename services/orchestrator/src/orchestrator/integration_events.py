"""Integration events: messages for other systems that bind a queue to the exchange.

`cycle.completed` is published once for each cycle, when its last keyword has ended; a cycle with a waiting draft has not ended. A
row per cycle makes the event unique among replicas. A late result may reopen a keyword and its cycle; the second end publishes
nothing.

`drafts.waiting` reminds of drafts and posts that wait for a decision. A brand gets it when the first one waits, then daily, and at
once when drafts pause the brand. A second immediate reminder needs a review of all those drafts first. A row per brand makes it
unique among replicas; only the database's clock counts.
"""

import json
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Final

import structlog

from envelope import DomainMessage, Payload
from envelope.brand.payloads import CycleCompleted, DraftsWaiting
from messaging import Database, Transaction
from orchestrator.article_workflow import HELD_UP_SINCE, UNREVIEWED_SINCE, WAITS

log = structlog.get_logger(__name__)

ENDED_AS: Final = (
    "case when cancelled > 0 then 'cancelled' when completed > 0 then 'completed' else 'failed' end"
)
"""State of an ended cycle, in SQL."""
AT_ONCE: Final = 500

_STATES: Final = ("completed", "refused", "rejected", "failed", "cancelled")
"""End states of keywords; each is a column of `cycles`."""

REMINDED_EVERY: Final = timedelta(days=1)
POSTS_WAIT: Final = (
    """jsonb_path_exists(k.posts, '$[*] ? (@.url == null && @.reason starts with "needs_review")')"""
)
"""SQL: whether keyword k has a post that waits at social; as in the index keywords_with_waiting_posts_since."""


async def announce_due_events(database: Database) -> None:
    """Publishes `drafts.waiting`, and `cycle.completed` for cycles that an older replica ended. Every replica does."""
    async with database.transaction() as tx:
        await announce_waiting_drafts(tx)
    ended = AT_ONCE
    while ended:
        async with database.transaction() as tx:
            ended = await announce_ended_cycles(tx)


async def ignore_events(events: Sequence[DomainMessage[Payload]], tx: Transaction) -> None:
    """Does nothing with events that concern only other services."""


async def announce_ended_cycles(tx: Transaction, brands: Collection[str] | None = None) -> int:
    """Publishes the ends of cycles, of some brands or all; returns their number, `AT_ONCE` at most.

    Called in the transaction that ends keywords, and by the poller for cycles that an older replica ended.
    """
    rows = await tx.connection.fetch(
        f"""
        update cycles set told_at = clock_timestamp()
        where cycle_id in (
            select cycle_id from cycles
            where ended_at is not null and told_at is null and ($1::text[] is null or brand_slug = any ($1))
            order by cycle_id limit {AT_ONCE} for update skip locked
        )
        returning *, {ENDED_AS} as ended_as
        """,  # noqa: S608  (constants of this module)
        None if brands is None else sorted(brands),
    )
    for row in rows:
        states = {state: row[state] for state in _STATES if row[state]}
        ended = CycleCompleted(
            brand_slug=row["brand_slug"],
            cycle_id=row["cycle_id"],
            state=row["ended_as"],
            total=sum(states.values()),
            states=states,
            began_at=row["created_at"],
            ended_at=row["ended_at"],
        )
        # No event of its own ends a cycle whose last keyword was given up.
        chain = row["correlation_id"]
        tx.send(
            ended,
            correlation_id=chain,
            trace=tx.trace_under_way(chain) or json.loads(row["trace"] or "{}"),
        )
        log.info(
            "cycle_ended",
            brand=row["brand_slug"],
            cycle_id=str(row["cycle_id"]),
            correlation_id=chain,
            state=row["ended_as"],
        )
    return len(rows)


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
        REMINDED_EVERY,
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
