"""Results that research, publisher and social may have lost with commits of their databases: SQL and the handler.

Each service stores a page or post and its answer in one transaction. A recorded answer is not requested again, so losses after
it need a new request. Only articles that moved since the lost commits are checked, however long the history is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self
from uuid import UUID

import structlog

from chassis import Connection
from envelope import DomainMessage
from envelope.brand.payloads import DatabaseFellBack, ResearchCompleted
from messaging import CommitLoss, Transaction
from orchestrator.article_workflow import release_holds
from orchestrator.cycles.domain import research_again
from orchestrator.cycles.facts import Stage, StageCommand
from orchestrator.cycles.keyword_rows import KeywordRow, load_rows, save_keywords
from orchestrator.cycles.overdue import UNDER_WAY

log = structlog.get_logger(__name__)

MARGIN: Final = timedelta(minutes=5)
"""Highest difference between the clocks of two services and their databases."""
_KEEP_LOSSES: Final = timedelta(days=30)
"""Longer than any message may be on its way or be recognised as a duplicate."""

_NOTE_POSTS: Final = """
    insert into answers_to_confirm (service, content_id, asked_since)
    select 'social', k.content_id, $1::timestamptz
    from cycles as c join keywords as k using (cycle_id)
    where (c.ended_at is null or c.ended_at >= $2::timestamptz)
      and (k.promoted or k.posts <> '[]') and k.content_id is not null and (k.moved_at >= $2::timestamptz or k.state = 'promoting')
    on conflict (service, content_id) do update set asked_since = least(answers_to_confirm.asked_since, excluded.asked_since)
"""
_NOTE_PAGES: Final = """
    insert into answers_to_confirm (service, content_id, asked_since)
    select 'publisher', content_id, $1::timestamptz
    from (
        select k.content_id from cycles as c join keywords as k using (cycle_id)
        where (c.ended_at is null or c.ended_at >= $2::timestamptz)
          and k.generated and k.content_id is not null and (k.moved_at >= $2::timestamptz or k.state = 'publishing')
        union select content_id from content where published_url is not null and updated_at >= $2::timestamptz
        union select content_id from placements where asked_at >= $2::timestamptz or answered_at >= $2::timestamptz
        union select content_id from deleted_articles where deleted_at >= $2::timestamptz
    ) as changed
    on conflict (service, content_id) do update set asked_since = least(answers_to_confirm.asked_since, excluded.asked_since)
"""
_UNBEGUN: Final = """
    k.state = 'writing' and k.research_id is not null and k.moved_at >= $1
    and not exists (select from workflow_steps as s where s.workflow_id in (k.content_id, k.command_id))
    and not exists (select from content as a where a.content_id = k.content_id)
"""
"""SQL: keywords k researched since the time $1, with research that no writer has read yet."""
_RESEARCH: Final = "research"
_NOTES: Final = {"publisher": _NOTE_PAGES, "social": _NOTE_POSTS}


@dataclass(frozen=True, slots=True)
class AnswerToConfirm:
    """An article that a service has to confirm."""

    service: str
    content_id: UUID
    asked_since: datetime


async def note_commit_losses(events: Sequence[DomainMessage[DatabaseFellBack]], tx: Transaction) -> None:
    """Stores which results may be lost, for `AnswerConfirmation`; a repeated event repeats the requests."""
    for event in events:
        service, kept_until = event.payload.service, event.payload.kept_until
        if service not in {*_NOTES, _RESEARCH} or service != event.source:
            continue
        await tx.connection.execute(
            "insert into commit_losses (service, kept_until, noticed_at, heard_at)"
            " values ($1, $2, $3, clock_timestamp()) on conflict do nothing",
            service,
            kept_until,
            event.timestamp,
        )
        await tx.connection.execute(
            "delete from commit_losses where noticed_at < clock_timestamp() - $1::interval", _KEEP_LOSSES
        )
        if service == _RESEARCH:
            await _research_again(tx, kept_until - MARGIN)
            continue
        status = await tx.connection.execute(_NOTES[service], kept_until, kept_until - MARGIN)
        log.warning(
            "service_lost_commits",
            service=service,
            kept_until=kept_until.isoformat(),
            articles=int(status.split()[-1]),
        )


async def _research_again(tx: Transaction, since: datetime) -> None:
    """Requests the research of unbegun articles again; research answers from its store.

    Locks all brands that an answer of research may concern, not only those with such articles: a concurrent
    decision about a late answer has then committed, or sees the loss afterwards.
    """
    slugs = [
        row["slug"]
        for row in await tx.connection.fetch(
            """
            select slug from brands where slug in (
                select brand_slug from keywords join cycles using (cycle_id) where state in ('queued', 'writing'))
            order by slug for no key update
            """
        )
    ]
    now: datetime = await tx.connection.fetchval("select clock_timestamp()")
    rows = await load_rows(tx.connection, f"{_UNBEGUN} and c.brand_slug = any ($2::text[])", since, slugs)
    # A command that this database has forgotten the end of may still have the article in hand, for minutes.
    await release_holds(
        tx.connection, [row.facts.content_id for row in rows if row.facts.content_id is not None]
    )
    await save_keywords(tx.connection, [send_research_again(tx, row, now=now) for row in rows])
    log.warning("service_lost_commits", service=_RESEARCH, keywords=len(rows))


def send_research_again(tx: Transaction, row: KeywordRow, *, now: datetime) -> KeywordRow:
    """Requests the research of a keyword again; returns the row to save."""
    decision = research_again(row.facts, row.keyword, row.priority, now=now)
    (event_id,) = [
        tx.send(
            payload,
            correlation_id=row.correlation_id,
            trace=row.trace or row.trace_of_cycle,
            own_trace=not row.trace,
            limits=row.limits,
        )
        for payload in decision.messages
    ]
    return replace(row, facts=decision.keyword, command=StageCommand(Stage.RESEARCH, event_id))


@dataclass(frozen=True, slots=True)
class ResearchLoss:
    """A known loss of commits of research's database."""

    kept_until: datetime
    """By the clock of research, as `noticed_at`."""
    noticed_at: datetime
    heard_at: datetime
    """By the clock of this database."""


class ResearchLosses:
    """Tells which answers of research may be lost since."""

    def __init__(self, losses: Sequence[ResearchLoss]) -> None:
        self._losses = losses

    @classmethod
    async def load(cls, connection: Connection, events: Sequence[DomainMessage[Any]]) -> Self:
        """Loads all known losses, if answers of research are among the events. The locks of the events' brands must be held."""
        if not any(isinstance(event.payload, ResearchCompleted) for event in events):
            return cls(())
        rows = await connection.fetch(
            "select kept_until, noticed_at, heard_at from commit_losses where service = $1", _RESEARCH
        )
        return cls([ResearchLoss(**row) for row in rows])

    def may_include(self, event: DomainMessage[Any], asked_at: datetime) -> bool:
        """Whether the event is an answer from before a loss, to a question that this database asked (`asked_at`) before it heard of the loss.

        So each loss has a keyword asked for once more at most once, however far the clocks of the services differ.
        """
        return isinstance(event.payload, ResearchCompleted) and any(
            loss.kept_until - MARGIN < event.timestamp <= loss.noticed_at and asked_at < loss.heard_at
            for loss in self._losses
        )


async def note_own_loss(loss: CommitLoss, tx: Transaction) -> None:
    """Marks keywords under way if this database may have lost their post requests."""
    await tx.connection.execute(
        f"""
        update keywords set may_be_promoted_since = coalesce(may_be_promoted_since, $1)
        where state in {UNDER_WAY} and not awaits_turn and not follows and not promoted
        """,  # noqa: S608  (a constant)
        loss.kept_until,
    )


async def note_late_answers(tx: Transaction, events: Sequence[DomainMessage[Any]]) -> None:
    """Notes articles with answers that arrive now but are older than their service's lost commits."""
    answers = [
        (event.source, event.payload.content_id, event.timestamp)
        for event in events
        if event.source in _NOTES and getattr(event.payload, "content_id", None) is not None
    ]
    if not answers:
        return
    await tx.connection.execute(
        """
        insert into answers_to_confirm (service, content_id, asked_since)
        select service, answer.content_id, min(loss.kept_until)
        from unnest($1::text[], $2::uuid[], $3::timestamptz[]) as answer (service, content_id, sent_at)
            join commit_losses as loss using (service)
        where answer.sent_at > loss.kept_until - $4::interval and answer.sent_at <= loss.noticed_at
        group by service, answer.content_id
        on conflict do nothing
        """,
        *(list(column) for column in zip(*answers, strict=True)),
        MARGIN,
    )


async def take_answers_to_confirm(connection: Connection, limit: int) -> list[AnswerToConfirm]:
    """Takes answers to confirm, skipping rows of other replicas; they are deleted when the transaction commits."""
    rows = await connection.fetch(
        """
        delete from answers_to_confirm where (service, content_id) in (
            select service, content_id from answers_to_confirm order by service, content_id limit $1 for update skip locked)
        returning service, content_id, asked_since
        """,
        limit,
    )
    return [AnswerToConfirm(**row) for row in rows]
