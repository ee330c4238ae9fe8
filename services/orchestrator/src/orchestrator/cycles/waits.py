"""Waits of keywords at research: shown in their cycle, and not counted as a stall.

A wait decides nothing, so it needs no lock. It counts while its keyword is queued; later waits have no effect.
"""

from collections.abc import Sequence

from envelope import DomainMessage
from envelope.brand.payloads import ResearchWaiting
from messaging import Transaction
from orchestrator.cycles.facts import readable


async def note_waits(events: Sequence[DomainMessage[ResearchWaiting]], tx: Transaction) -> None:
    """Stores each keyword's longest wait; ignores unknown keywords and those no longer queued.

    Research tries again when a wait is over. Of two waits the one with the later end holds, in any order of arrival.
    """
    told = [(event.correlation_id, event.payload) for event in events if event.correlation_id is not None]
    await tx.connection.execute(
        """
        insert into research_waits (cycle_id, position, reason, until)
        select distinct on (cycle_id, position) cycle_id, position, told.reason, told.until
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
            as told (correlation_id, brand_slug, keyword, reason, until)
            join cycles using (correlation_id, brand_slug), lateral (
                -- `offset 0`: as in `keyword_rows.load_keywords`.
                select k.position from keywords as k
                where (k.cycle_id, k.keyword) = (cycles.cycle_id, told.keyword) and k.state = 'queued' offset 0
            ) as found
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
