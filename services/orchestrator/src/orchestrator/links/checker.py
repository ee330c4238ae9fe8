"""Checks links one by one, in every replica; rows share out the work, and another replica continues after a crash."""

import asyncio
from datetime import timedelta
from typing import Final

import structlog

from messaging import Database
from orchestrator.links import store
from orchestrator.links.probe import LinkProbe, ProbeLaterError, ProberUnavailableError
from orchestrator.links.store import DueLink

log = structlog.get_logger(__name__)

WITHOUT_ANYBODY: Final = timedelta(minutes=10)
"""The pause after the gateway or the publisher was away."""
APART: Final = timedelta(milliseconds=100)
"""The pause between two links. With all rounds at once, such as after an import, pages must stay quick; a week has six million of them."""


class LinkChecker:
    """Checks links; create one per process."""

    def __init__(self, database: Database, probe: LinkProbe, *, apart: timedelta = APART) -> None:
        self._database = database
        self._probe = probe
        self._apart = apart

    async def check_due(self) -> None:
        """Starts the rounds that are due, and checks all due links."""
        while await self.begin_round():
            pass
        while True:
            if not await self.look_at_next():
                return
            await asyncio.sleep(self._apart.total_seconds())

    async def begin_round(self) -> bool:
        """Starts the weekly round of one brand; returns False if none is due."""
        async with self._database.transaction() as tx:
            slug = await store.begin_round(tx.connection)
        if slug is not None:
            log.info("links_gathered", brand=slug)
        return slug is not None

    async def look_at_next(self) -> bool:
        """Checks the link that has been due longest; returns False if none is due or it cannot be probed now."""
        async with self._database.transaction() as tx:
            link = await store.claim_due(tx.connection)
        if link is None:
            return False
        try:
            answer = await self._probe.look(link.kind, link.address)
        except ProbeLaterError as later:
            async with self._database.transaction() as tx:
                await store.release(tx.connection, link, later.after)
            return True
        except ProberUnavailableError as error:
            await self._wait(link, str(error))
            return False
        async with self._database.transaction() as tx:
            await store.note_answer(tx.connection, link, answer)
        log.info("link_looked_at", brand=link.brand_slug, kind=link.kind.value, outcome=answer.outcome.value)
        return True

    async def _wait(self, link: DueLink, why: str) -> None:
        async with self._database.transaction() as tx:
            await store.release(tx.connection, link, WITHOUT_ANYBODY)
            await store.note_trouble(tx.connection, link.brand_slug, why)
