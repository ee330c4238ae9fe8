"""Repeats commands to publisher and social if their results may be lost.

Each service answers from what it still has, and does the rest again. The commands carry the current state, so a page that was
taken down or deleted meanwhile is withdrawn.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from envelope.brand.payloads import ContentDelete
from messaging import Database, Transaction
from orchestrator.article_workflow import ContentId, article_contexts
from orchestrator.cycles.commit_losses import AnswerToConfirm, take_answers_to_confirm
from orchestrator.cycles.domain import confirm_posts
from orchestrator.cycles.keyword_rows import load_keywords
from orchestrator.placements import update_all_targets
from orchestrator.removal import find_deleted

log = structlog.get_logger(__name__)

BATCH: Final = 100
"""Articles confirmed in one transaction."""
PAUSE: Final = timedelta(seconds=1)
"""Between two batches, for other work."""


class AnswerConfirmation:
    """Repeats the commands. Every replica does; row locks share the work."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def confirm(self) -> timedelta | None:
        """Repeats the commands for one batch; returns the pause before the next one, if there may be one."""
        return PAUSE if await self.ask() else None

    async def ask(self) -> int:
        """Repeats the commands for one batch of articles; returns their number."""
        async with self._database.transaction() as tx:
            answers = await take_answers_to_confirm(tx.connection, BATCH)
            await _ask_publisher(tx, [each.content_id for each in answers if each.service == "publisher"])
            await _ask_social(tx, [each for each in answers if each.service == "social"])
        if answers:
            log.info("answers_asked_for_again", articles=len(answers))
        return len(answers)


async def _ask_publisher(tx: Transaction, content_ids: Sequence[UUID]) -> None:
    standing = await update_all_targets(tx, content_ids)
    for content_id in content_ids:
        if content_id in standing:
            continue
        deleted = await find_deleted(tx.connection, content_id)
        if deleted is not None:
            tx.send(ContentDelete(brand_slug=deleted.brand_slug, content_id=content_id))


async def _ask_social(tx: Transaction, answers: Sequence[AnswerToConfirm]) -> None:
    if not answers:
        return
    content_ids = [each.content_id for each in answers]
    loaded = await load_keywords(tx.connection, [], content_ids)
    rows = {row.facts.content_id: row for row in loaded if row.facts.content_id is not None}
    articles = await article_contexts(tx.connection, content_ids)
    for each in answers:
        row, article = rows.get(ContentId(each.content_id)), articles.get(each.content_id)
        if row is None or article is None or row.taken_down is not None:
            continue  # its posts lead nowhere
        command = confirm_posts(row.facts, article, asked_since=each.asked_since)
        if command is not None:
            tx.send(
                command,
                correlation_id=row.correlation_id,
                trace=row.trace or row.trace_of_cycle,
                own_trace=not row.trace,
            )
