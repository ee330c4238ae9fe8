"""Returned drafts that no model rewrote in time: they wait for a person again. Every replica runs the reaper."""

from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from chassis import Connection
from messaging import Database
from orchestrator.review import store
from orchestrator.review.deciding import carry_out, outcome_of
from review.decisions import Decision, DecisionKind
from review.rules import DraftState

log = structlog.get_logger(__name__)

NOTHING_CAME: Final = "it was sent back, and nothing came of it; its dead letter, if there is one, says why"


class StalledRewriteReaper:
    """Ends rewrites that take longer than `after`, known waits not counted."""

    def __init__(self, database: Database, *, after: timedelta) -> None:
        self._database = database
        self._after = after

    async def reset_stalled_rewrites(self) -> int:
        """Ends overdue rewrites; returns the number of drafts that wait again."""
        async with self._database.connection() as connection:
            found = await _stalled(connection, self._after)
        return sum([await self._resume(content_id) for content_id in found])

    async def _resume(self, content_id: UUID) -> bool:
        async with self._database.transaction() as tx:
            draft = await store.lock_draft(tx.connection, content_id)
            # Another replica, a writer or a person may have been faster.
            if draft is None or draft.state is not DraftState.RETURNED:
                return False
            if not await _stalled(tx.connection, self._after, content_id):
                return False
            decision = Decision(DecisionKind.RESUME, comment=NOTHING_CAME)
            await carry_out(tx, draft, decision, await outcome_of(tx, draft, decision))
        log.warning("draft_not_written_again", content_id=str(content_id))
        return True


async def _stalled(connection: Connection, after: timedelta, content_id: UUID | None = None) -> list[UUID]:
    """Returned drafts with an overdue rewrite: all of them, or only this one."""
    rows = await connection.fetch(
        """
        select content_id from content as c
        where decision = 'returned' and ($2::uuid is null or content_id = $2)
          and not exists (select from brand_moves as m where m.brand_slug = c.brand_slug)
          and not exists (
              select from decisions as d
              where d.content_id = c.content_id and d.decision = 'returned' and d.made_at > now() - $1::interval)
          and not exists (
              select from writing_waits as w
              where w.content_id = c.content_id and w.until >= now() - $1::interval)
        """,
        after,
        content_id,
    )
    return [row["content_id"] for row in rows]
