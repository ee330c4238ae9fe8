"""Periodic work: begin keywords that are due, end stalled ones, delete old cycles.

Every replica runs it; row locks with `skip locked` share the work. Only the database's clock counts, and rows say when work is
due: a crash forgets nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from chassis import Connection
from envelope.brand.payloads import ArticleContext, ContentGenerated, ContentRefused
from messaging import Database, Transaction
from orchestrator.article_workflow import article_contexts, delete_old_workflows, stored_outcomes
from orchestrator.cycles import keyword_rows, overdue
from orchestrator.cycles.dispatch import DEFAULT_LIMITS, BrandLimits, dispatch_overlooked
from orchestrator.cycles.domain import ask_again, decide, give_up
from orchestrator.cycles.facts import KeywordState, Stage, StageCommand
from orchestrator.cycles.finished_work import await_repeated, forget_awaited
from orchestrator.cycles.keyword_rows import KeywordRow
from orchestrator.ended_keywords import log_ended_keywords
from orchestrator.integration_events import announce_ended_cycles

log = structlog.get_logger(__name__)

BATCH: Final = 500


class Housekeeping:
    """Ends stalled keywords and deletes old cycles."""

    def __init__(
        self,
        database: Database,
        *,
        stall_after: timedelta,
        keep_cycles: timedelta,
        limits: BrandLimits = DEFAULT_LIMITS,
    ) -> None:
        self._database = database
        self._stall_after = stall_after
        self._keep_cycles = keep_cycles
        self._limits = limits

    async def tidy(self) -> None:
        """One round of all work that is due."""
        while await self.look_after_stalled() == BATCH:
            pass
        await dispatch_overlooked(self._database, self._limits)
        while await self._delete_old() == BATCH:
            pass

    async def look_after_stalled(self) -> int:
        """Handles one batch of stalled keywords under their brands' locks; returns their number.

        A stage is requested a second time; without an answer to that, the keyword fails.
        """
        async with self._database.transaction() as tx:
            slugs, now = await overdue.lock_stalled_brands(tx.connection, self._stall_after)
            if not slugs:
                return 0
            rows = await overdue.load_stalled(tx.connection, slugs, self._stall_after, BATCH)
            stored = await _stored_outcomes(tx, rows)
            articles = await _articles_to_promote(tx, rows)
            looked_after = [
                self._caught_up(tx, row, now, stored)
                or await self._ask_again(tx, row, now, articles)
                or self._given_up(row, now)
                for row in rows
            ]
            await keyword_rows.save_keywords(tx.connection, looked_after)
            await log_ended_keywords(each.as_ended for each in looked_after if each.facts.has_ended)
            await announce_ended_cycles(tx, slugs)
        for row in looked_after:
            log.warning(
                "keyword_stalled",
                brand=row.facts.brand_slug,
                keyword=row.keyword,
                stage=row.facts.stage,
                asked_again=row.facts.state is not KeywordState.FAILED,
            )
        return len(rows)

    def _caught_up(
        self,
        tx: Transaction,
        row: KeywordRow,
        now: datetime,
        stored: Mapping[UUID, ContentGenerated | ContentRefused],
    ) -> KeywordRow | None:
        """The keyword, updated from its stored article if the event about it was lost; None if no article is stored."""
        content_id = row.facts.content_id
        event = stored.get(content_id) if content_id is not None else None
        if content_id is None or event is None:
            return None
        decision = decide(row.facts, event, now=now, fresh_content_id=content_id, article=None)
        for payload in decision.messages:
            tx.send(
                payload,
                correlation_id=row.correlation_id,
                trace=row.trace or row.trace_of_cycle,
                own_trace=not row.trace,
            )
        return None if decision.keyword == row.facts else replace(row, facts=decision.keyword)

    async def _ask_again(
        self, tx: Transaction, row: KeywordRow, now: datetime, articles: Mapping[UUID, ArticleContext]
    ) -> KeywordRow | None:
        article = articles.get(row.facts.content_id) if row.facts.content_id else None
        request = ask_again(row.facts, row.keyword, row.priority, row.command, article)
        if request is None:
            return None
        event_id = tx.send(
            request.payload,
            correlation_id=row.correlation_id,
            event_id=request.event_id,
            trace=row.trace or row.trace_of_cycle,
            own_trace=not row.trace,
            # What has been published or posted must be told, late or not.
            limits=row.limits if request.stage in {Stage.RESEARCH, Stage.WRITING} else None,
        )
        if request.event_id is None:
            await await_repeated(tx.connection, request.payload, row.correlation_id)
        facts = replace(
            row.facts, moved_at=now, promoted=row.facts.promoted or request.stage is Stage.PROMOTING
        )
        return replace(row, facts=facts, command=StageCommand(request.stage, event_id, again=True))

    def _given_up(self, row: KeywordRow, now: datetime) -> KeywordRow:
        twice = row.command is not None and row.command.again and row.command.stage is row.facts.stage
        facts = give_up(row.facts, waited=in_words(self._stall_after), now=now, asked_twice=twice)
        return replace(row, facts=facts)

    async def _delete_old(self) -> int:
        async with self._database.transaction() as tx:
            cycles = await overdue.delete_old_cycles(tx.connection, self._keep_cycles, BATCH)
            steps = await delete_old_workflows(tx.connection, self._keep_cycles, BATCH)
            await forget_awaited(tx.connection, self._keep_cycles)
        if cycles or steps:
            log.info("old_cycles_deleted", cycles=cycles, workflow_steps=steps)
        return max(cycles, steps)

    async def next_stall(self, connection: Connection) -> timedelta | None:
        """Time until the next keyword may be stalled; None while none is under way."""
        return await overdue.next_stall(connection, self._stall_after)


async def _stored_outcomes(
    tx: Transaction, rows: Sequence[KeywordRow]
) -> dict[UUID, ContentGenerated | ContentRefused]:
    content_ids = [
        row.facts.content_id
        for row in rows
        if row.facts.content_id is not None and row.facts.state is KeywordState.WRITING
    ]
    return await stored_outcomes(tx.connection, sorted(content_ids)) if content_ids else {}


async def _articles_to_promote(tx: Transaction, rows: Sequence[KeywordRow]) -> dict[UUID, ArticleContext]:
    """The stored articles of keywords that wait for posts."""
    content_ids = [
        row.facts.content_id
        for row in rows
        if row.facts.content_id is not None and row.facts.state is KeywordState.PROMOTING
    ]
    return await article_contexts(tx.connection, sorted(content_ids)) if content_ids else {}


def in_words(span: timedelta) -> str:
    """`6 hours`, `90 minutes`, `2 seconds`: the largest unit that divides it."""
    seconds = max(round(span.total_seconds()), 1)
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            count = seconds // size
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    raise AssertionError("every whole number of seconds is divided by one")
