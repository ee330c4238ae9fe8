"""`drafts.waiting`: reminds of drafts that a person has to decide about.

A brand is told of when its first draft waits, once a day as long as any does, and at once when so many wait unseen that nothing more is
begun for it. A row per brand makes it once, on any number of replicas; only the database's clock counts.
"""

from datetime import timedelta
from typing import Final

import structlog

from envelope.brand.payloads import DraftsWaiting
from messaging import Transaction
from orchestrator.writing import HELD_UP_SINCE, WAITS

log = structlog.get_logger(__name__)

EVERY: Final = timedelta(days=1)


async def remind(tx: Transaction) -> int:
    """Tells of the brands whose time it is; returns how many. One that is being decided about is left for the next time."""
    rows = await tx.connection.fetch(
        f"""
        with due as (
            select b.slug, waiting.drafts, waiting.since, {HELD_UP_SINCE} is not null as held_up
            from brands as b cross join lateral (
                select count(*)::int as drafts, min(coalesce(d.waits_since, d.created_at)) as since
                from content as d where d.brand_slug = b.slug and {WAITS}
            ) as waiting
            where waiting.drafts > 0
              and (b.reminded_at is null or b.reminded_at <= now() - $1::interval or b.reminded_at < {HELD_UP_SINCE})
            order by b.slug for no key update of b skip locked
        )
        update brands set reminded_at = clock_timestamp() from due where brands.slug = due.slug
        returning due.*
        """,  # noqa: S608  (constants of the orchestrator)
        EVERY,
    )
    for row in rows:
        tx.send(
            DraftsWaiting(
                brand_slug=row["slug"], drafts=row["drafts"], since=row["since"], held_up=row["held_up"]
            )
        )
        log.info("drafts_wait", brand=row["slug"], drafts=row["drafts"], held_up=row["held_up"])
    return len(rows)
