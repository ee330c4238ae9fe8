"""Scheduled publications: made, moved and cancelled by people; published by any replica, by the database's clock.

A publication is an approval in one transaction with its row: a crash leaves all of it or nothing, and a second replica finds it
done.
"""

import asyncio
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from chassis.database.pool import DatabaseUnavailableError
from chassis.http.callers import Caller
from messaging import Database
from orchestrator.article_workflow import find_version
from orchestrator.cycles import BrandLimits
from orchestrator.review import domain, scheduled_publications, store
from orchestrator.review.deciding import get_draft, log_and_reload, note_review_and_dispatch, seen
from orchestrator.review.domain import DraftDecisionKind, ReviewedDraft
from orchestrator.review.publishing import fingerprint_of, put_version_in_force

log = structlog.get_logger(__name__)

AT_ONCE: Final = 100
"""Articles published in one round."""
AS_SCHEDULED: Final = "as scheduled"


class PastTimeError(ValueError):
    """The requested time is past."""

    def __init__(self) -> None:
        super().__init__("publish_at: lies in the past; leave it out to have it published now")


async def schedule(
    database: Database,
    content_id: UUID,
    version: int,
    caller: Caller,
    limits: BrandLimits,
    *,
    publish_at: datetime,
    despite_newer: bool,
) -> ReviewedDraft:
    """Schedules exactly this version, even if newer ones follow; a second call replaces time and version.

    Raises:
        UnknownDraftError, NoSuchVersionError, DraftDecidedError: see domain.py.
        PastTimeError: the time is past.
    """
    await get_draft(database, content_id, caller.brands)
    async with database.transaction() as tx:
        draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        if not domain.schedule(draft, version, publish_at, despite_newer=despite_newer):
            return draft
        if not await scheduled_publications.make(
            tx.connection, content_id, version, publish_at, by=caller.name
        ):
            raise PastTimeError
        await store.expect_nothing(tx.connection, content_id)
        await note_review_and_dispatch(tx, limits, draft)
        return await log_and_reload(tx, draft)


async def unschedule(database: Database, content_id: UUID, caller: Caller) -> ReviewedDraft:
    """Cancels the scheduled publication: the draft waits again.

    Raises:
        UnknownDraftError, DraftDecidedError: see domain.py.
    """
    await get_draft(database, content_id, caller.brands)
    async with database.transaction() as tx:
        draft = seen(await store.lock_draft(tx.connection, content_id), content_id, caller.brands)
        if not domain.unschedule(draft):
            return draft
        await scheduled_publications.end(tx.connection, content_id, "called_off", by=caller.name)
        return await log_and_reload(tx, draft)


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
        async with self._database.connection() as connection:
            chosen = await find_version(connection, content_id, version)
        if chosen is None:
            return False
        own = await asyncio.to_thread(fingerprint_of, chosen.text)
        async with self._database.transaction() as tx:
            draft = await store.lock_draft(tx.connection, content_id)
            appointment = await scheduled_publications.due_of(tx.connection, content_id)
            if draft is None or appointment is None or appointment.version != version:
                return False  # another replica has published it, or a person has made another decision
            # A replica of an older version knows no scheduled publications, so its decisions end none.
            stands = draft.last is not None and draft.last.kind is DraftDecisionKind.SCHEDULED
            if not stands or not domain.approve(draft, version, despite_newer=True):
                await scheduled_publications.end(
                    tx.connection, content_id, "overtaken", by=appointment.made_by
                )
                return False
            await put_version_in_force(tx, draft, chosen, own)
            if draft.newest > version:
                await store.offer(tx.connection, content_id, draft.newest)
            await store.note_decision(
                tx.connection,
                draft,
                DraftDecisionKind.APPROVED,
                version,
                comment=AS_SCHEDULED,
                by=appointment.made_by,
            )
            await scheduled_publications.end(tx.connection, content_id, "kept", by=appointment.made_by)
            await log_and_reload(tx, draft)
        return True
