"""Publishes articles at their scheduled times, by the database's clock, on any replica.

A publication is an approval in one transaction with its row: a crash leaves all of it or nothing, and a second replica finds it
done.
"""

from typing import Final
from uuid import UUID

import structlog

from chassis.database.pool import DatabaseUnavailableError
from messaging import Database
from orchestrator.review import scheduled_publications, store
from orchestrator.review.deciding import carry_out, outcome_of, prepare_version
from review.decisions import Decision, DecisionKind
from review.items import Effect

log = structlog.get_logger(__name__)

AT_ONCE: Final = 100
"""Articles published in one round."""


class PublicationScheduler:
    """Publishes scheduled articles when they are due."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self) -> int:
        """Publishes due articles, the longest due first; returns their number. A failure does not delay the others."""
        async with self._database.connection() as connection:
            due = await scheduled_publications.due(connection, AT_ONCE)
        kept = 0
        for content_id, version in due:
            try:
                kept += await self._keep(content_id, version)
            except DatabaseUnavailableError:
                raise
            except Exception:
                log.exception("appointment_failed", content_id=str(content_id), version=version)
        return kept

    async def _keep(self, content_id: UUID, version: int) -> bool:
        prepared = await prepare_version(self._database, content_id, version)
        if prepared is None:
            return False
        async with self._database.transaction() as tx:
            draft = await store.lock_draft(tx.connection, content_id)
            due = await scheduled_publications.due(tx.connection, 1, content_id)
            if draft is None or draft.scheduled is None or due != [(content_id, version)]:
                return False  # another replica has published it, or a person has made another decision
            decision = Decision(DecisionKind.PUBLISH_DUE, draft.scheduled.by)
            outcome = await outcome_of(tx, draft, decision)
            await carry_out(tx, draft, decision, outcome, prepared)
        return Effect.PUBLISH in outcome.effects
