"""Has stale articles rewritten, within the brand's weekly limit."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from envelope import new_event_id
from envelope.brand.payloads import Priority
from messaging import Transaction
from orchestrator.brands import BrandRow
from orchestrator.cycles import BrandLimits, CycleId, NewCycle, begin_cycle_in

WITHIN: Final = timedelta(days=7)


async def refresh_stale(
    tx: Transaction, brand: BrandRow, stale_after: timedelta, limits: BrandLimits
) -> dict[UUID, UUID]:
    """Starts one cycle that rewrites the stalest articles; returns its id by content id. Call `lock_auditing` before.

    Leaves out articles that were rewritten within `stale_after`, and those with a waiting correction: a rejected or refused
    rewrite would otherwise come again every week. A person decides about them.
    """
    if brand.refresh_stale is None:
        return {}
    rows = await tx.connection.fetch(
        """
        with chosen as (
            select content_id from content as c
            where brand_slug = $1 and published_url is not null and taken_down_at is null and offered_version is null
              and written_at(c) < now() - $2::interval and coalesce(refreshed_at < now() - $2::interval, true)
            order by written_at(c), content_id
            limit greatest($3 - (
                select count(*) from content where brand_slug = $1 and refreshed_at > now() - $4::interval), 0)
        )
        update content as c set refreshed_at = clock_timestamp() from chosen where c.content_id = chosen.content_id
        returning c.content_id, c.keyword
        """,
        brand.slug,
        stale_after,
        brand.refresh_stale,
        WITHIN,
    )
    if not rows:
        return {}
    wanted = NewCycle(
        cycle_id=CycleId(new_event_id()),
        correlation_id=str(new_event_id()),
        brand_slug=brand.slug,
        # Keywords that people submit come first.
        priority=Priority.LOW,
        keywords=tuple(dict.fromkeys(row["keyword"] for row in rows)),
        idempotency_key=None,
        request_digest=b"",
        refresh=True,
        submitted_by="audit",
    )
    await begin_cycle_in(tx, wanted, limits, together=False)
    return {row["content_id"]: wanted.cycle_id for row in rows}
