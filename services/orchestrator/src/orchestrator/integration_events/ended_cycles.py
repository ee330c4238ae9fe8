"""`cycle.completed`: published once for each cycle, when its last keyword has ended.

A cycle with a waiting draft has not ended. A row per cycle makes the event unique among replicas. A late result may reopen a
keyword and its cycle; the second end publishes nothing.
"""

import json
from collections.abc import Collection
from typing import Final

import structlog

from envelope.brand.payloads import CycleCompleted
from messaging import Transaction

log = structlog.get_logger(__name__)

ENDED_AS: Final = (
    "case when cancelled > 0 then 'cancelled' when completed > 0 then 'completed' else 'failed' end"
)
"""State of an ended cycle, in SQL."""
AT_ONCE: Final = 500

_STATES: Final = ("completed", "refused", "rejected", "failed", "cancelled")
"""End states of keywords; each is a column of `cycles`."""


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
