"""What the research of keywords waits for, as research tells it: shown in their cycle, and no standstill.

A wait is no fact that decides anything, so nobody's lock is needed. It counts for as long as its keyword is queued: what comes after
research has ended is without effect.
"""

from collections.abc import Sequence

from envelope import DomainMessage
from envelope.brand.payloads import ResearchWaiting
from messaging import Transaction
from orchestrator.cycles.facts import readable


async def note_waits(events: Sequence[DomainMessage[ResearchWaiting]], tx: Transaction) -> None:
    """Keeps of each keyword the wait that lasts longest; those about nothing of ours, or no longer queued, are let go.

    Research looks again when a wait is over, so the later of two words is the one with the later end, in whatever order they come.
    """
    told = [(event.correlation_id, event.payload) for event in events if event.correlation_id is not None]
    await tx.connection.execute(
        """
        insert into research_waits (cycle_id, position, reason, until)
        select distinct on (cycle_id, position) cycle_id, position, told.reason, told.until
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
            as told (correlation_id, brand_slug, keyword, reason, until)
            join cycles using (correlation_id, brand_slug) join keywords using (cycle_id, keyword)
        where state = 'queued'
        order by cycle_id, position, until desc
        on conflict (cycle_id, position) do update set reason = excluded.reason, until = excluded.until
        where research_waits.until < excluded.until
        """,
        [correlation_id for correlation_id, _ in told],
        [payload.brand_slug for _, payload in told],
        [payload.keyword for _, payload in told],
        [readable(f"waits for {payload.waits_for}: {payload.detail}") for _, payload in told],
        [payload.until for _, payload in told],
    )
