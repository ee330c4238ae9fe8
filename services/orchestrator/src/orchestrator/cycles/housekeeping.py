"""What has to be done although no message asks for it: give up on stalled keywords, delete old cycles.

Every replica runs this; row locks with `skip locked` share out the work. Only the database's clock counts.
"""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Final

import structlog

from messaging import Database
from orchestrator.cycles import store
from orchestrator.cycles.domain import BRAND_ARTICLES, give_up
from orchestrator.cycles.handlers import give_turns
from orchestrator.writing import delete_old_steps

log = structlog.get_logger(__name__)

BATCH: Final = 500
SHORTEST_SLEEP: Final = timedelta(minutes=1)
"""A brand whose keywords are overdue may be locked just now; there is no hurry to look again."""


class Housekeeping:
    """`longest_sleep` bounds how late an old cycle, or a keyword added during the sleep, is looked at."""

    def __init__(
        self,
        database: Database,
        *,
        stall_after: timedelta,
        keep_cycles: timedelta,
        longest_sleep: timedelta,
        brand_articles: int = BRAND_ARTICLES,
    ) -> None:
        self._database = database
        self._stall_after = stall_after
        self._keep_cycles = keep_cycles
        self._longest_sleep = longest_sleep
        self._brand_articles = brand_articles

    async def run(self) -> None:
        """Goes on until it is cancelled, asleep until the next keyword may have stalled."""
        while True:
            await self.tidy()
            await asyncio.sleep((await self._rest()).total_seconds())

    async def tidy(self) -> None:
        """One round: everything that is due now."""
        while await self.fail_stalled() == BATCH:
            pass
        await self.give_overlooked_turns()
        while await self._delete_old() == BATCH:
            pass

    async def fail_stalled(self) -> int:
        """Fails one batch of keywords nobody answered for, under their brands' locks; returns how many."""
        async with self._database.transaction() as tx:
            slugs, now = await store.lock_stalled_brands(tx.connection, self._stall_after)
            if not slugs:
                return 0
            rows = await store.load_stalled(tx.connection, slugs, self._stall_after, BATCH)
            waited = in_words(self._stall_after)
            failed = [replace(row, facts=give_up(row.facts, waited=waited, now=now)) for row in rows]
            await store.save_keywords(tx.connection, failed)
        for row in failed:
            log.warning(
                "keyword_stalled", brand=row.facts.brand_slug, keyword=row.keyword, stage=row.facts.stage
            )
        return len(failed)

    async def give_overlooked_turns(self) -> None:
        """Sends to be written what waits though its brand has room.

        Keywords that stalled leave such behind, and so do replicas of the version before, which know no turns.
        """
        async with self._database.transaction() as tx:
            slugs, now = await store.lock_brands_with_turns(tx.connection)
            await give_turns(tx, slugs, self._brand_articles, now=now)

    async def _delete_old(self) -> int:
        async with self._database.transaction() as tx:
            cycles = await store.delete_old_cycles(tx.connection, self._keep_cycles, BATCH)
            steps = await delete_old_steps(tx.connection, self._keep_cycles, BATCH)
        if cycles or steps:
            log.info("old_cycles_deleted", cycles=cycles, workflow_steps=steps)
        return max(cycles, steps)

    async def _rest(self) -> timedelta:
        async with self._database.connection() as connection:
            due = await store.next_stall(connection, self._stall_after)
        if due is None:
            return self._longest_sleep
        return min(max(due, SHORTEST_SLEEP), self._longest_sleep)


def in_words(span: timedelta) -> str:
    """`6 hours`, `90 minutes`, `2 seconds`: the largest unit that divides it."""
    seconds = max(round(span.total_seconds()), 1)
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            count = seconds // size
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    raise AssertionError("every whole number of seconds is divided by one")
