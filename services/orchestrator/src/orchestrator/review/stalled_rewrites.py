"""Returned drafts that no model rewrote in time: they wait for a person again. Every replica runs the reaper."""

from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from chassis import Connection
from messaging import Database

log = structlog.get_logger(__name__)

NOTHING_CAME: Final = "it was sent back, and nothing came of it; its dead letter, if there is one, says why"


class StalledRewriteReaper:
    """Ends rewrites that take longer than `after`, known waits not counted."""

    def __init__(self, database: Database, *, after: timedelta) -> None:
        self._database = database
        self._after = after

    async def reset_stalled_rewrites(self) -> int:
        """Ends overdue rewrites; returns the number of drafts that wait again."""
        async with self._database.transaction() as tx:
            given = await _reset_stalled(tx.connection, self._after)
        for content_id in given:
            log.warning("draft_not_written_again", content_id=str(content_id))
        return len(given)


async def _reset_stalled(connection: Connection, after: timedelta) -> list[UUID]:
    rows = await connection.fetch(
        """
        update content set decision = null, waits_since = clock_timestamp(), updated_at = clock_timestamp(),
            held_for = array_prepend($2::text, array_remove(held_for, $2::text))
        where content_id in (
            select content_id from content as c
            where decision = 'returned'
              and not exists (
                  select from decisions as d
                  where d.content_id = c.content_id and d.decision = 'returned' and d.made_at > now() - $1::interval)
              and not exists (
                  select from writing_waits as w
                  where w.content_id = c.content_id and w.until >= now() - $1::interval)
            for update skip locked)
        returning content_id
        """,
        after,
        NOTHING_CAME,
    )
    return [row["content_id"] for row in rows]
